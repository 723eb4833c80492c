package train

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// stored returns a checkpoint's JSON, and its weights and moments in one slice, for comparison.
func stored(c *Checkpoint) (text string, words []float32) {
	state, _ := json.Marshal(c)
	return string(state), slices.Concat(c.weights, c.moment1, c.moment2)
}

// tinyRun trains for an epoch, or up to the step o.StopAt, and returns the splits.
func tinyRun(t *testing.T, o Options) (train, val *seq.File) {
	t.Helper()
	train, val = tinySplits(t, config.Classification)
	settings := runSettings()
	settings.Epochs = 1
	must.Succeed(t, trainNew(t, modeltest.RandomModel(configtest.TrainingConfig(), 1), settings, o, cpu.New(1), train, val))
	return train, val
}

// TestDamagedRun changes single bytes of a run's model and checkpoint. Reading must return the
// stored values or an error that names the file.
func TestDamagedRun(t *testing.T) {
	dir := t.TempDir()
	tinyRun(t, options(dir, nil))
	c := must.Get(LoadCheckpoint(dir))(t)
	m := must.Get(sft.Load(dir))(t)
	text, words := stored(c)
	damages := 1200
	if testing.Short() {
		damages = 200
	}
	for _, file := range []struct {
		name string
		same func() (bool, error) // reads the file and compares it with the stored values
	}{
		{model.WeightsFile, func() (bool, error) {
			got, err := sft.Load(dir)
			return err == nil && slices.Equal(got.Weights, m.Weights), err
		}},
		{model.CheckpointFile, func() (bool, error) {
			got, err := LoadCheckpoint(dir)
			if err != nil {
				return false, err
			}
			gotText, gotWords := stored(got)
			return gotText == text && slices.Equal(gotWords, words), nil
		}},
	} {
		path := filepath.Join(dir, file.name)
		original := must.Get(os.ReadFile(path))(t)
		read := func(name string, damaged []byte) error {
			must.Succeed(t, os.WriteFile(path, damaged, 0o666))
			same, err := file.same()
			if err == nil && !same {
				t.Errorf("%s: %s: different values and no error", path, name)
			}
			if err != nil && !strings.Contains(err.Error(), file.name) {
				t.Errorf("%s: %s: the error does not name the file: %v", path, name, err)
			}
			return err
		}
		random := rand.New(rand.NewPCG(16, uint64(len(file.name))))
		for range damages {
			at := random.IntN(len(original))
			damaged := bytes.Clone(original)
			damaged[at] ^= byte(1 + random.IntN(255))
			read("damaged", damaged)
		}
		// Old files have no checksum.
		before := regexp.MustCompile(`"sftseq.checksum":"xxh128:[0-9a-f]{32}",?`).ReplaceAllFunc(original,
			func(b []byte) []byte { return bytes.Repeat([]byte(" "), len(b)) })
		if bytes.Equal(before, original) {
			t.Errorf("%s: the file has no checksum", path)
		}
		must.Check(t, read("without a checksum", before))
		must.Succeed(t, os.WriteFile(path, original, 0o666))
	}
}

// TestResumeWithoutModel checks that a run whose best weights are missing or truncated is not resumed.
func TestResumeWithoutModel(t *testing.T) {
	dir := t.TempDir()
	train, val := tinyRun(t, options(dir, nil))
	path := filepath.Join(dir, model.WeightsFile)
	refused := func(name string) {
		from := must.Get(LoadCheckpoint(dir))(t)
		must.Fail(t, "only this file has the weights of step", name)(NewTrainer(nil, from.Settings, cpu.New(1), train,
			val, from, options(dir, nil)))
	}
	must.Succeed(t, os.Truncate(path, 900))
	refused("truncated")
	must.Succeed(t, os.Remove(path))
	refused("missing")

	// Before the first evaluation, the checkpoint has the same weights.
	o := options(t.TempDir(), nil)
	o.StopAt = 1
	tinyRun(t, o)
	path = filepath.Join(o.Dir, model.WeightsFile)
	must.Succeed(t, os.Remove(path))
	from := must.Get(LoadCheckpoint(o.Dir))(t)
	tr := must.Get(NewTrainer(nil, from.Settings, cpu.New(1), train, val, from, o))(t)
	must.Succeed(t, tr.Close())
	must.Get(os.Stat(path))(t)
}
