package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// CheckpointFile is the checkpoint of a run directory.
const CheckpointFile = model.CheckpointFile

// State is where a training run stands, beside its weights and moments.
type State struct {
	Step   int `json:"step"`   // batches done: the step of the random numbers
	Update int `json:"update"` // updates made: AdamW's t

	Next seq.Position `json:"next"` // the batch that comes next

	Best float64 `json:"best"` // accuracy on the validation split of the model that is kept
	// what it was selected by, if not by that; by [OneStandardError] the best accuracy so far
	Selected     float64  `json:"selected,omitempty"`
	BestLoss     float64  `json:"best_loss,omitempty"` // its loss; runs of before have none
	BestStep     int      `json:"best_step"`           // 0 before the first evaluation
	SinceBest    int      `json:"since_best"`
	Evaluated    int      `json:"evaluated"`     // step of the last evaluation
	MetricsBytes int64    `json:"metrics_bytes"` // length of metrics.jsonl
	Interval     interval `json:"window"`

	LossScale lossScale `json:"loss_scale,omitzero"` // where the device needs one
}

// validate reports a place that the run cannot be at.
func (s *State) validate(o *order, c *config.Config) error {
	switch {
	case s.Step < 0 || s.Update < 0 || s.Update > s.Step || s.BestStep < 0 || s.SinceBest < 0 || s.Evaluated < 0 ||
		s.Evaluated > s.Step || s.MetricsBytes < 0:
		return fmt.Errorf("a state of step %d, update %d, best step %d, evaluated %d: these cannot be", s.Step,
			s.Update, s.BestStep, s.Evaluated)
	case !s.LossScale.valid():
		return fmt.Errorf("a loss scale of %v, good for %d steps: expected a power of two from 1, and 0 to %d steps",
			s.LossScale.Factor, s.LossScale.Good, goodSteps-1)
	case s.Next.Batch < 0 || s.Next.Batch >= o.all.PerEpoch():
		return fmt.Errorf("batch %d, expected 0 to %d", s.Next.Batch, o.all.PerEpoch()-1)
	case len(s.Interval.DeadRows) != 0 && len(s.Interval.DeadRows) != c.NumLayers:
		return fmt.Errorf("counts of %d layers, expected %d", len(s.Interval.DeadRows), c.NumLayers)
	}
	return nil
}

// interval sums what a line of metrics averages. The keys of the interval and of its dead
// rows are the names that both had first: checkpoints that exist have them.
type interval struct {
	Loss     float64 `json:"loss"`
	Divisor  int     `json:"divisor,omitempty"` // divisor of the loss: see objective
	GradNorm float64 `json:"grad_norm"`
	Correct  int     `json:"correct"`
	Examples int     `json:"examples"`
	Tokens   int     `json:"tokens"`
	Steps    int     `json:"steps"`
	Skipped  int     `json:"skipped,omitempty"` // skipped steps
	DeadRows []int64 `json:"silent"`
}

// Checkpoint is a stored run.
type Checkpoint struct {
	Settings Settings       `json:"settings"`
	Config   *config.Config `json:"config"`
	State    State          `json:"state"`
	Data     string         `json:"data"`    // fingerprint of the data set
	Kernels  string         `json:"kernels"` // instruction set that computed it: bits are equal for one kind

	weights, moment1, moment2 []float32
	ngrams                    *config.NGramTable
}

const runKey = "sftseq.run"

func (c *Checkpoint) save(dir string, params *config.Parameters) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	ts := model.TensorsOf(params, c.weights, "weights/")
	ts = append(ts, model.TensorsOf(params, c.moment1, "moment1/")...)
	ts = append(ts, model.TensorsOf(params, c.moment2, "moment2/")...)
	ts = append(ts, model.NGramStateTensors(c.Config, c.ngrams)...)
	return safetensors.Write(filepath.Join(dir, model.CheckpointFile), ts, map[string]string{runKey: string(text)})
}

// saveModel stores the weights as the run's model.
func (t *Trainer) saveModel() error {
	if err := t.download(); err != nil {
		return err
	}
	return t.model.SaveWeights(t.options.Dir, nil)
}

func (t *Trainer) download() error {
	return t.engine.Weights.Read(0, tensor.Bits(t.model.Weights))
}

// save stores a checkpoint. The metrics reach the disk before the checkpoint
// that counts on them.
func (t *Trainer) save() error {
	if !model.First(t.options.Communicator) {
		return nil
	}
	if err := t.metrics.file.Sync(); err != nil {
		return err
	}
	t.state.MetricsBytes = t.metrics.bytes
	if err := t.saveState(); err != nil {
		return err
	}
	return t.saveUnjudged()
}

// saveUnjudged stores the weights of a checkpoint as the run's model, too, until one was
// judged: a run that is under way has a model from its first checkpoint on. The first
// evaluation replaces it whatever it finds, so that nothing of it stays.
func (t *Trainer) saveUnjudged() error {
	if t.state.BestStep > 0 {
		return nil
	}
	return t.saveModel()
}

// saveState replaces the checkpoint. Weights that are not finite never replace
// good ones.
func (t *Trainer) saveState() error {
	if err := t.download(); err != nil {
		return err
	}
	if name, found := t.model.Parameters.NonFinite(t.model.Weights); found {
		return &NonFiniteError{Step: t.state.Step, Tensor: name, Loss: float32(math.NaN())}
	}
	c := &Checkpoint{Settings: t.settings, Config: t.model.Config, State: t.state, Data: t.options.Data,
		Kernels: t.engine.Device.Kernels(),
		weights: t.model.Weights, ngrams: t.model.NGrams}
	if err := t.optimizer.store(c); err != nil {
		return err
	}
	if err := c.save(t.options.Dir, t.model.Parameters); err != nil {
		return err
	}
	t.saved, t.kernels = t.now(), c.Kernels
	return nil
}

// LoadCheckpoint reads the last checkpoint of a run directory.
func LoadCheckpoint(dir string) (*Checkpoint, error) {
	path := filepath.Join(dir, model.CheckpointFile)
	ts, meta, err := safetensors.ReadMixed(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return newCheckpoint(path, info.Size(), ts, meta)
}

// LoadSharedCheckpoint has rank 0 read the last checkpoint of a run directory and hand it
// to the others, which need not see the directory.
func LoadSharedCheckpoint(c sft.Communicator, dir string) (*Checkpoint, error) {
	path := filepath.Join(dir, model.CheckpointFile)
	var text []byte
	var found uint64
	var err error
	if c.Rank() == 0 {
		if _, err = safetensors.ReadMixedShapes(path); err == nil { // before memory is taken for its size
			text, err = atomicfile.ReadRegular(path, math.MaxInt64-1)
		}
		switch {
		case err == nil:
			found = 1
		case errors.Is(err, fs.ErrNotExist):
			err = nil // found stays 0, and every rank reports the missing file
		}
	}
	all, err := distributed.Agree(c, err, found)
	if err != nil {
		return nil, err
	}
	if all[0] == 0 {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if text, err = distributed.Broadcast(c, text, nil); err != nil {
		return nil, err
	}
	ts, meta, err := safetensors.ReadMixedFrom(bytes.NewReader(text), int64(len(text)), path)
	if err != nil {
		return nil, err
	}
	return newCheckpoint(path, int64(len(text)), ts, meta)
}

// newCheckpoint checks what is in a checkpoint's file of that many bytes, which only the
// rank that has read it sees.
func newCheckpoint(path string, size int64, ts []safetensors.Tensor,
	meta map[string]string) (_ *Checkpoint, err error) {
	text, ok := meta[runKey]
	if !ok {
		return nil, fmt.Errorf("%s: not a checkpoint: metadata %q is missing", path, runKey)
	}
	c := &Checkpoint{}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%s: metadata %q: %w", path, runKey, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: metadata %q: expected one JSON object, found more after it", path, runKey)
	}
	if c.Config == nil {
		return nil, fmt.Errorf("%s: metadata %q has no config", path, runKey)
	}
	if w := &c.State.Interval; w.Divisor == 0 { // stored before the two were counted apart
		w.Divisor = w.Examples
	}
	for _, check := range []func() error{c.Config.Validate, c.Settings.Validate,
		func() error { return model.CheckSize(size, c.Config) }} {
		if err := check(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	params := model.NewParameters(c.Config)
	for prefix, words := range map[string]*[]float32{"weights/": &c.weights, "moment1/": &c.moment1,
		"moment2/": &c.moment2} {
		if *words, err = model.Gather(params, ts, prefix); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if c.ngrams, err = model.ReadNGrams(c.Config, ts, true); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}
