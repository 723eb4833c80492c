package provenance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// Found returns the checkpoint of the run to resume in a directory, or nil if a new run may begin
// there. from and err are the results of loading the checkpoint. A directory with a run is an error
// unless the run is resumed, because runs are not overwritten. A directory with files that a new run
// would replace is an error. A directory without a run is an error if resume and required are set.
// required is false if several runs are resumed, because some of them may not have started.
func Found(dir string, from *train.Checkpoint, err error, resume, required bool) (*train.Checkpoint, error) {
	switch {
	case err == nil && !resume:
		return nil, fmt.Errorf("%s already contains a run: resume it with --resume, or choose another --out", dir)
	case errors.Is(err, os.ErrNotExist) && resume && required:
		return nil, NothingToResume(dir, "the file "+train.CheckpointFile, hasCheckpoint)
	case errors.Is(err, os.ErrNotExist):
		for _, name := range []string{"config.json", "model.safetensors", "metrics.jsonl"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return nil, fmt.Errorf("%s already contains a %s, which a new run would replace: choose another --out",
					dir, name)
			}
		}
		if _, err := ReadStarts(dir); err != nil {
			return nil, fmt.Errorf("%w: the file does not belong to a run: choose another --out", err)
		}
		return nil, nil
	case err != nil && !resume:
		return nil, fmt.Errorf("%s is not the directory of a run: %w", dir, atomicfile.Cause(err))
	case err != nil && !errors.As(err, new(*os.PathError)):
		return nil, fmt.Errorf("%w: %s", err, damagedAdvice(dir))
	}
	return from, err
}

// damagedAdvice returns the next step for a damaged checkpoint of the run in dir.
func damagedAdvice(dir string) string {
	advice := "restore the checkpoint from a copy, or start another run with another --out"
	if _, err := os.Stat(filepath.Join(dir, "model.safetensors")); err == nil {
		advice += ", from the best weights so far with --init-from " + dir
	}
	return advice
}

// NothingToResume returns the error for --resume in a directory without a run. The parameter expected
// describes the files of a run, and isRun reports whether a directory has them. The error names up to
// maxOtherRuns runs in the directory and next to it.
func NothingToResume(dir, expected string, isRun func(dir string) bool) error {
	existing := otherRuns(dir, isRun)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--resume: %s does not exist: expected the directory of a run%s; omit --resume to start "+
			"a new run in %s", dir, existing, dir)
	}
	found, advice := "none", "omit --resume to start a new run there"
	if c, err := config.Read(filepath.Join(dir, "config.json")); err == nil {
		found, advice = "a model without a checkpoint", "choose another --out for a new run"
		if !c.IsLinear() && c.NGrams == nil {
			advice = "start another run from this model with --init-from and another --out"
		}
	} else if hasCheckpoint(dir) {
		found, advice = "a run of one model", "resume it with the command that started it"
	} else if HasRuns(dir, "") {
		found, advice = "a run of several models", "resume it with the command that started it"
	}
	return fmt.Errorf("--resume: %s contains no run of this command: expected %s, found %s%s; %s", dir, expected,
		found, existing, advice)
}

// maxOtherRuns is the maximum number of other runs that an error names.
const maxOtherRuns = 5

// hasCheckpoint reports whether a directory has the checkpoint of a run.
func hasCheckpoint(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(train.CheckpointFile)))
	return err == nil
}

// HasRuns reports whether a folder in a directory has the checkpoint of a run and a name with one of the
// prefixes. A run of several models has a folder for each model.
func HasRuns(dir string, prefixes ...string) bool {
	models, _ := os.ReadDir(dir) // the directory may not exist
	return slices.ContainsFunc(models, func(model os.DirEntry) bool {
		hasPrefix := func(prefix string) bool { return strings.HasPrefix(model.Name(), prefix) }
		return slices.ContainsFunc(prefixes, hasPrefix) && hasCheckpoint(filepath.Join(dir, model.Name()))
	})
}

// otherRuns returns a hint with the runs in the directory and next to it, or "".
func otherRuns(dir string, isRun func(dir string) bool) string {
	var found []string
	for _, folder := range []string{dir, filepath.Dir(filepath.Clean(dir))} {
		entries, err := os.ReadDir(folder)
		if err != nil { // the directory may not exist
			continue
		}
		for _, entry := range entries {
			if run := filepath.Join(folder, entry.Name()); run != filepath.Clean(dir) && isRun(run) {
				found = append(found, run)
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	more := ""
	if n := len(found) - maxOtherRuns; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf(" (existing runs: %s%s)", strings.Join(found[:min(len(found), maxOtherRuns)], ", "), more)
}

// Changed compares two objects, such as the settings of a run and the requested settings. It lists the
// entries that differ, with their values in the first object, such as "learning_rate was 0.001". It returns
// "" if no entry differs.
func Changed(was, is any) string {
	out, mine, other := []string(nil), fields(was), fields(is)
	for _, key := range slices.Sorted(maps.Keys(union(mine, other))) {
		if x := mine[key]; !bytes.Equal(x, other[key]) {
			out = append(out, fmt.Sprintf("%s was %s", key, cmp.Or(string(x), "not set")))
		}
	}
	return strings.Join(out, ", ")
}

// Ended reports whether a run has made its last step, or was stopped by --patience, and was
// evaluated at this step.
func Ended(checkpoint *train.Checkpoint) bool {
	at, settings := &checkpoint.State, &checkpoint.Settings
	patient := settings.Patience > 0 && at.SinceBest >= settings.Patience
	return at.Evaluated == at.Step && (patient || madeAllSteps(at, settings))
}

// madeAllSteps reports whether a run has reached its end, in steps or epochs.
func madeAllSteps(at *train.State, settings *train.Settings) bool {
	if settings.Steps > 0 {
		return at.Step >= settings.Steps
	}
	return int(at.Next.Epoch) >= settings.Epochs
}

// Differences lists the settings of a new run that differ from the settings at the start of an
// existing run, except for the seed. It also compares the model's configuration, the data and the
// initial model. An entry has the form "num_hidden_layers 2, not 3", where 2 is the value of the existing
// run, or is "other data".
func Differences(begun *train.Checkpoint, was, settings train.Settings, config sft.Config,
	data, initFrom string) []string {
	begunConfig := *begun.Config
	begunConfig.Extra, config.Extra = nil, nil
	// These entries are fitted to the weights, not chosen by the user.
	begunConfig.Thresholds, begunConfig.Temperature, begunConfig.SpanDecoding = config.Thresholds, config.Temperature,
		config.SpanDecoding
	was.Seed = settings.Seed
	out := append(Compare(&was, &settings), Compare(&begunConfig, &config)...)
	if data != begun.Data {
		out = append(out, "other data")
	}
	if p, _ := Of(begun.Config); initFrom != string(p.InitFrom) {
		out = append(out, fmt.Sprintf("--init-from %q, not %q", p.InitFrom, initFrom))
	}
	return out
}

// Compare lists the entries that differ between two objects or are missing in one. An entry has the
// form "num_hidden_layers 2, not 3", where 2 is the value in a.
func Compare(a, b any) (out []string) {
	mine, other := fields(a), fields(b)
	for _, key := range slices.Sorted(maps.Keys(union(mine, other))) {
		if x, y := mine[key], other[key]; !bytes.Equal(x, y) {
			out = append(out, fmt.Sprintf("%s %s, not %s", key, cmp.Or(string(x), "nothing"),
				cmp.Or(string(y), "nothing")))
		}
	}
	return out
}

// fields returns the entries of settings or of a configuration in their stored form.
func fields(x any) (m map[string]json.RawMessage) {
	text, err := json.Marshal(x)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		panic(err) // x was read from JSON or will be written to JSON
	}
	return m
}

// union returns a map with the keys of both maps.
func union(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	return keys
}

// Same reports whether two values have the same stored form.
func Same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
