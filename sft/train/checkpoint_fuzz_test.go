package train

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// FuzzCheckpoint checks that errors about the run in a checkpoint name the file, and that an accepted
// checkpoint is the same after writing and reading it again. If its state is valid, the next batches
// must have rows, and the learning rate must be within its bounds.
func FuzzCheckpoint(f *testing.F) {
	config := must.Get(config.Parse(configtest.ConfigText(f, nil)))(f)
	c := &Checkpoint{Settings: Settings{Epochs: 2, Batch: 3, LearningRate: 0.001, StepSize: 1, DecayRate: 0.5,
		Warmup: "untuned", LogEvery: 1, Seed: 7},
		Config: config, State: State{Step: 3, Update: 2, MetricsBytes: 100,
			Interval: interval{DeadRows: make([]int64, config.NumLayers)}}, Data: "d", Kernels: "k"}
	c.State.Next.Batch = 1
	params := model.NewParameters(config)
	weights := make([]float32, params.Words)
	tensors := model.TensorsOf(params, weights, "weights/")
	tensors = append(tensors, model.TensorsOf(params, weights, "moment1/")...)
	tensors = append(tensors, model.TensorsOf(params, weights, "moment2/")...)
	add := func(change func(*Checkpoint)) {
		d := *c
		change(&d)
		text := must.Get(json.Marshal(&d))(f)
		f.Add(string(text))
	}
	add(func(*Checkpoint) {})
	add(func(d *Checkpoint) { d.Settings.Stages = []Stage{{Steps: 5, Length: 4}, {Steps: 1 << 40, Rows: 8}} })
	add(func(d *Checkpoint) { d.Settings.Warmup, d.State.LossScale = "10", lossScale{Factor: 1024, Good: 3} })
	add(func(d *Checkpoint) { d.Config = nil })
	f.Add("{")
	text := must.Get(json.Marshal(c))(f)
	f.Add(string(text) + "}")
	dir := f.TempDir()
	path := filepath.Join(dir, model.CheckpointFile)
	must.Succeed(f, os.MkdirAll(filepath.Dir(path), 0o777))
	load := func(t *testing.T, text string) (*Checkpoint, error) {
		if err := safetensors.Write(path, tensors, map[string]string{runKey: text}); err != nil {
			return nil, err // invalid UTF-8
		}
		c, err := LoadCheckpoint(dir)
		if err != nil && !strings.HasPrefix(err.Error(), path+": ") {
			t.Fatalf("the error does not begin with the file: %v", err)
		}
		return c, err
	}
	lengths := []int32{1, 5, 3, 8, 2, 2, 7}
	f.Fuzz(func(t *testing.T, text string) {
		defer testenv.FuzzLimits(t, 16<<20+1000*len(text))()
		c, err := load(t, text)
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("malformed JSON is accepted: %q", text)
		}
		written := must.Get(json.Marshal(c))(t)
		again, err := load(t, string(written))
		if err != nil {
			t.Fatalf("reading a written checkpoint: error %v: %s", err, written)
		}
		if twice, _ := json.Marshal(again); !bytes.Equal(written, twice) {
			t.Fatalf("%s was read back as %s", written, twice)
		}
		order, err := newOrder(lengths, c.Settings)
		if err != nil || c.State.validate(order, c.Config) != nil {
			return
		}
		for range 3 {
			rows, _ := order.batch(c.State)
			if len(rows) == 0 || len(rows) > c.Settings.Batch {
				t.Fatalf("the batch has %d rows, want 1 to %d", len(rows), c.Settings.Batch)
			}
			c.State.Next = order.next(c.State)
			c.State.Step++
		}
		if rate := c.Settings.learningRate(&c.State, order.steps(&c.Settings)); !(rate >= 0 &&
			rate <= c.Settings.LearningRate) {
			t.Fatalf("learning rate %v, want 0 to %v", rate, c.Settings.LearningRate)
		}
	})
}
