package baseline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/seq"
)

// FileName is the name of the baselines file in a data set directory.
const FileName = "baselines.json"

// stored is the JSON content of the baselines file.
type stored struct {
	Data    string   `json:"data_sha256"` // fingerprint of the measured data set
	Results []Result `json:"results"`
}

// Store writes results to [FileName] in the data set's directory. It refuses to replace another
// program's JSON file.
func Store(set *seq.Dataset, results []Result) error {
	path := filepath.Join(set.Dir, FileName)
	if there, err := atomicfile.ReadRegular(path, maxFile); err == nil {
		var s stored
		if err := json.Unmarshal(there, &s); json.Valid(there) && (err != nil || s.Data == "") {
			return fmt.Errorf("%s: refusing to replace a file that sftseq data baselines did not write: move it away", path)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := json.MarshalIndent(stored{set.Fingerprint(), results}, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, append(text, '\n'))
}

// maxFile is the maximum size of a baselines file in bytes.
const maxFile = 256 << 20

// Stored returns the stored result of a split. It returns nil if no result is stored or the data
// set has changed since.
func Stored(set *seq.Dataset, split string) (*Result, error) {
	path := filepath.Join(set.Dir, FileName)
	text, err := atomicfile.ReadRegular(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: expected the JSON of sftseq data baselines: %w", path, err)
	}
	at := slices.IndexFunc(s.Results, func(r Result) bool { return r.Split == split })
	if s.Data != set.Fingerprint() || at < 0 {
		return nil, nil
	}
	r := &s.Results[at]
	if r.Only != nil {
		r.Models, r.Only = []Model{*r.Only}, nil
	}
	return r, nil
}

// Splits returns the names of the splits to pass to Measure: all non-empty splits except train. It
// returns nil if the training split is empty or the task does not have a single label per row.
func Splits(m *seq.Manifest) (names []string) {
	if m.Splits["train"].Rows == 0 || len(m.LabelNames) == 0 || m.Task == seq.MultiLabel || m.Task == seq.Tagging {
		return nil
	}
	for _, name := range m.SplitNames() {
		if name != "train" && m.Splits[name].Rows > 0 {
			names = append(names, name)
		}
	}
	return names
}
