package provenance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// StartsFile is the name of a file with a line per start or resumption of a run (see [Start]).
// metrics.jsonl does not record starts: a resumed and an uninterrupted run write the same lines to it, except
// for measured times.
const StartsFile = "starts.jsonl"

// Start is a start or resumption of a run.
type Start struct {
	Time           time.Time `json:"time"`
	Step           int       `json:"step"` // number of steps before the start
	Device         string    `json:"device"`
	Ranks          int       `json:"ranks,omitempty"` // number of processes; absent for one
	MPI            string    `json:"mpi,omitempty"`   // MPI library that connects the processes
	TrainRows      int       `json:"train_rows"`
	ValidationRows int       `json:"validation_rows"`
	Version        string    `json:"sftseq"`
}

// maxStarts is the maximum size of a StartsFile in bytes.
const maxStarts = 256 << 20

// AddStart adds a line to the StartsFile of the run in dir. A start at step 0 replaces the file.
func AddStart(dir string, s Start) error {
	var text []byte
	if s.Step > 0 {
		var err error
		if text, err = atomicfile.ReadRegular(filepath.Join(dir, StartsFile), maxStarts); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	text = append(append(text, line...), '\n')
	path := filepath.Join(dir, StartsFile)
	if err := atomicfile.Clean(path); err != nil { // removes incomplete files of killed programs
		return err
	}
	return atomicfile.WriteBytes(path, text)
}

// ReadStarts returns all starts in the StartsFile of the run in dir. It returns nil without a file, as in
// runs of earlier versions.
func ReadStarts(dir string) (out []Start, err error) {
	path := filepath.Join(dir, StartsFile)
	text, err := atomicfile.ReadRegular(path, maxStarts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var s Start
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("%s:%d: expected a JSON object with the time, step and device of a start: %w", path,
				n, err)
		}
		out = append(out, s)
	}
	return out, nil
}
