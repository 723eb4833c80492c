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

// StartsFile has a line for each time that a run was started or resumed: when, on what,
// with how many rows. metrics.jsonl cannot say it, as a resumed run's is that of one
// which was never interrupted.
const StartsFile = "starts.jsonl"

// Start is when a run was started or resumed, and on what.
type Start struct {
	Time           time.Time `json:"time"`
	Step           int       `json:"step"` // steps that were done
	Device         string    `json:"device"`
	Ranks          int       `json:"ranks,omitempty"` // processes; absent where one ran alone
	MPI            string    `json:"mpi,omitempty"`   // the library that connected them
	TrainRows      int       `json:"train_rows"`
	ValidationRows int       `json:"validation_rows"`
	Version        string    `json:"sftseq"`
}

// maxStarts bounds the file of the starts of a run.
const maxStarts = 256 << 20

// AddStart adds a line to the file of a run. That of a fresh run is the first.
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
	if err := atomicfile.Clean(path); err != nil { // what a killed program left half-written
		return err
	}
	return atomicfile.WriteBytes(path, text)
}

// ReadStarts reads them; a run of an earlier version has none.
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
