package provenance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// Found is the checkpoint of the run in a directory, nil where there is none, of what
// loading it has returned. A directory that holds one is an error unless it is resumed, as
// nothing is overwritten; one that holds none is where it must be resumed, which one of
// several need not.
func Found(dir string, from *train.Checkpoint, err error, resume, must bool) (*train.Checkpoint, error) {
	switch {
	case err == nil && !resume:
		return nil, fmt.Errorf("%s holds a run already: go on with --resume, or choose another --out", dir)
	case errors.Is(err, os.ErrNotExist) && resume && must:
		return nil, fmt.Errorf("%s holds no run to resume: expected its %s, found none (--out is the directory of the run%s; without --resume one begins there)", dir, train.CheckpointFile, besides(dir))
	case errors.Is(err, os.ErrNotExist):
		for _, name := range []string{"config.json", "model.safetensors", "metrics.jsonl"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return nil, fmt.Errorf("%s holds a %s that is not of a run: choose another --out", dir, name)
			}
		}
		if _, err := ReadStarts(dir); err != nil {
			return nil, fmt.Errorf("%w: not of a run: choose another --out", err)
		}
		return nil, nil
	case err != nil && !resume:
		return nil, fmt.Errorf("%s holds something else: %w", dir, atomicfile.Cause(err))
	}
	return from, err
}

// mostBesides is how many other runs an error names.
const mostBesides = 5

// besides are the runs that are in the directory, or next to it.
func besides(dir string) string {
	var found []string
	for _, folder := range []string{dir, filepath.Dir(filepath.Clean(dir))} {
		entries, err := os.ReadDir(folder)
		if err != nil { // there may be no such directory
			continue
		}
		for _, entry := range entries {
			run := filepath.Join(folder, entry.Name())
			if _, err := os.Stat(filepath.Join(run, filepath.FromSlash(train.CheckpointFile))); err == nil {
				found = append(found, run)
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	more := ""
	if n := len(found) - mostBesides; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf(", such as %s%s", strings.Join(found[:min(len(found), mostBesides)], ", "), more)
}

// Changed are the entries that a run began with and that settings or a configuration have otherwise, such
// as "learning_rate was 0.001".
func Changed(was, is any) string {
	out, mine, other := []string(nil), fields(was), fields(is)
	for _, key := range slices.Sorted(maps.Keys(union(mine, other))) {
		if x := mine[key]; !bytes.Equal(x, other[key]) {
			out = append(out, fmt.Sprintf("%s was %s", key, cmp.Or(string(x), "not set")))
		}
	}
	return strings.Join(out, ", ")
}

// Ended reports whether a run has made its last step, or ended before by --patience, and
// was judged there.
func Ended(of *train.Checkpoint) bool {
	at, settings := &of.State, &of.Settings
	patient := settings.Patience > 0 && at.SinceBest >= settings.Patience
	return at.Evaluated == at.Step && (patient || madeAllSteps(at, settings))
}

// madeAllSteps reports whether a run is at its end, in steps or in epochs.
func madeAllSteps(at *train.State, settings *train.Settings) bool {
	if settings.Steps > 0 {
		return at.Step >= settings.Steps
	}
	return int(at.Next.Epoch) >= settings.Epochs
}

// Differences are what a run of these settings would have otherwise than one of the
// settings was that has begun, but for the seed and for where both were started from, such
// as "num_hidden_layers 2, not 3".
func Differences(begun *train.Checkpoint, was, settings train.Settings, config sft.Config,
	data, initFrom string) []string {
	its := *begun.Config
	its.Extra, config.Extra = nil, nil
	// fitted to the weights
	its.Thresholds, its.Temperature, its.SpanDecoding = config.Thresholds, config.Temperature, config.SpanDecoding
	was.Seed = settings.Seed
	out := append(differences(&was, &settings), differences(&its, &config)...)
	if data != begun.Data {
		out = append(out, "other data")
	}
	if p, _ := Of(begun.Config); initFrom != string(p.InitFrom) {
		out = append(out, fmt.Sprintf("--init-from %q, not %q", p.InitFrom, initFrom))
	}
	return out
}

// differences are the entries of an object that another has otherwise or lacks.
func differences(a, b any) (out []string) {
	mine, other := fields(a), fields(b)
	for _, key := range slices.Sorted(maps.Keys(union(mine, other))) {
		if x, y := mine[key], other[key]; !bytes.Equal(x, y) {
			out = append(out, fmt.Sprintf("%s %s, not %s", key, cmp.Or(string(x), "nothing"),
				cmp.Or(string(y), "nothing")))
		}
	}
	return out
}

// fields are those of settings or of a configuration, as they are stored.
func fields(x any) (m map[string]json.RawMessage) {
	text, err := json.Marshal(x)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		panic(err) // it has been read or will be written
	}
	return m
}

// union has the keys of both.
func union(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	return keys
}

// Same compares values as they are stored.
func Same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
