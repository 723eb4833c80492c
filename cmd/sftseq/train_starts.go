package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/report"
)

// startsFile has a line for each time that a run was started or resumed: when, on what,
// with how many rows. metrics.jsonl cannot say it, as a resumed run's is that of one
// which was never interrupted.
const startsFile = "starts.jsonl"

// addStart adds a line for now. That of a fresh run is the first.
func addStart(dir string, s report.Start) error {
	var text []byte
	if s.Step > 0 {
		var err error
		if text, err = os.ReadFile(filepath.Join(dir, startsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	text = append(append(text, line...), '\n')
	path := filepath.Join(dir, startsFile)
	if err := atomicfile.Clean(path); err != nil { // what a killed program left half-written
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// readStarts reads them; a run of an earlier version has none.
func readStarts(dir string) (out []report.Start, err error) {
	path := filepath.Join(dir, startsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var s report.Start
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("%s:%d: expected a JSON object with the time, step and device of a start: %w", path, n, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// recordStart says in the run directory that training starts now.
func (r *trainRun) recordStart(train, val int) error {
	if r.trainer.Finished() {
		return nil
	}
	return addStart(r.dir, report.Start{Time: time.Now().UTC().Truncate(time.Second), Step: r.trainer.State().Step, Device: r.device.Name(),
		TrainRows: train, ValidationRows: val, Version: version()})
}
