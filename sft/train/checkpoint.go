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

	"github.com/gofrs/flock"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// CheckpointFile is the path of the checkpoint in a run directory.
const CheckpointFile = model.CheckpointFile

// State is the progress of a training run, without its weights and moments.
type State struct {
	Step   int `json:"step"`   // completed batches; also the step in the counters of random numbers
	Update int `json:"update"` // completed updates: AdamW's t

	Next seq.Position `json:"next"` // next batch

	Best float64 `json:"best"` // validation accuracy of the saved model; 0 if the task has none
	// Selected is the saved model's value of the metric Settings.Select. If Select is "", Selected is 0
	// and Best has the value. With [OneStandardError], Selected is the best accuracy so far.
	Selected float64 `json:"selected,omitempty"`
	// BestLoss is the validation loss of the saved model; absent in old checkpoints.
	BestLoss     float64  `json:"best_loss,omitempty"`
	BestStep     int      `json:"best_step"`     // 0 before the first evaluation
	SinceBest    int      `json:"since_best"`    // evaluations since BestStep
	Evaluated    int      `json:"evaluated"`     // step of the last evaluation
	MetricsBytes int64    `json:"metrics_bytes"` // length of metrics.jsonl
	Interval     interval `json:"window"`

	LossScale lossScale `json:"loss_scale,omitzero"` // zero if the device does not scale the loss
}

// validate returns an error if s is inconsistent or does not match the order of rows or the
// configuration.
func (s *State) validate(o *order, c *config.Config) error {
	switch {
	case s.Step < 0 || s.Update < 0 || s.Update > s.Step || s.BestStep < 0 || s.SinceBest < 0 || s.Evaluated < 0 ||
		s.Evaluated > s.Step || s.MetricsBytes < 0:
		return fmt.Errorf("inconsistent state: step %d, update %d, best step %d, evaluations since best %d, "+
			"last evaluation at step %d, metrics bytes %d", s.Step, s.Update, s.BestStep, s.SinceBest, s.Evaluated, s.MetricsBytes)
	case !s.LossScale.valid():
		return fmt.Errorf("loss scale %v after %d good steps: expected a power of two ≥ 1, and 0 to %d steps",
			s.LossScale.Factor, s.LossScale.Good, goodSteps-1)
	case s.Next.Batch < 0 || s.Next.Batch >= o.epochs.PerEpoch():
		return fmt.Errorf("batch %d, expected 0 to %d", s.Next.Batch, o.epochs.PerEpoch()-1)
	case len(s.Interval.DeadRows) != 0 && len(s.Interval.DeadRows) != c.NumLayers:
		return fmt.Errorf("counts of dead rows for %d layers, expected %d", len(s.Interval.DeadRows), c.NumLayers)
	}
	return nil
}

// interval accumulates the values for the next line of metrics. The JSON keys "window" of the interval
// and "silent" of DeadRows are old names, kept for existing checkpoints.
type interval struct {
	Loss     float64 `json:"loss"`
	Divisor  int     `json:"divisor,omitempty"` // divisor of the loss: see [model.LossDivisor]
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
	Data     string         `json:"data"` // fingerprint of the data set
	// Kernels is the name of the kernels that computed the weights. Results of kernels with equal
	// names are bitwise identical.
	Kernels string `json:"kernels"`

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

// checkBest returns an error if the run has evaluated a model and the weights of the best step are missing
// or incomplete. The checkpoint cannot replace them: it has the weights of the last step.
func checkBest(dir string, c *Checkpoint) error {
	if c.State.BestStep == 0 {
		return nil // see saveUnevaluated
	}
	if err := model.CheckFile(c.Config, filepath.Join(dir, model.WeightsFile)); err != nil {
		return fmt.Errorf("%w: only this file has the weights of step %d, the best so far: restore the file, or train "+
			"again in another directory", err, c.State.BestStep)
	}
	return nil
}

// saveModel writes the current weights as the run's model.
func (t *Trainer) saveModel() error {
	if err := t.download(); err != nil {
		return err
	}
	return t.model.SaveWeights(t.options.Dir, nil)
}

func (t *Trainer) download() error {
	return t.engine.Weights.Read(0, tensor.Bits(t.model.Weights))
}

// save stores a checkpoint on rank 0. It syncs the metrics first, because the checkpoint records their
// length.
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
	return t.saveUnevaluated()
}

// saveUnevaluated also writes the checkpoint's weights as the run's model until the first
// evaluation. The run then has a model from its first checkpoint on. The first evaluation always
// replaces this model.
func (t *Trainer) saveUnevaluated() error {
	if t.state.BestStep > 0 {
		return nil
	}
	return t.saveModel()
}

// saveState replaces the checkpoint. It returns an error instead if a weight is not finite.
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

// LoadCheckpoint reads the latest checkpoint of a run directory.
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

// LoadSharedCheckpoint reads the latest checkpoint of a run directory on rank 0 and broadcasts it.
// Other ranks do not need access to the directory.
func LoadSharedCheckpoint(c sft.Communicator, dir string) (*Checkpoint, error) {
	path := filepath.Join(dir, model.CheckpointFile)
	var text []byte
	var found uint64
	var err error
	if c.Rank() == 0 {
		if _, err = safetensors.ReadMixedShapes(path); err == nil { // validates the size before the buffer is allocated
			text, err = atomicfile.ReadRegular(path, math.MaxInt64-1)
		}
		switch {
		case err == nil:
			found = 1
		case errors.Is(err, fs.ErrNotExist):
			err = nil // found stays 0: every rank reports the missing file
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

// newCheckpoint checks the tensors and the metadata of a checkpoint file and returns the checkpoint. The
// parameter size is the length of the file in bytes. Errors name path.
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
		return nil, fmt.Errorf("%s: metadata %q: %w", path, runKey, jsonlines.TypeError(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: metadata %q: expected one JSON object, found more after it", path, runKey)
	}
	if c.Config == nil {
		return nil, fmt.Errorf("%s: metadata %q has no config", path, runKey)
	}
	if w := &c.State.Interval; w.Divisor == 0 { // old checkpoints have no divisor
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

// openRunDirectory creates a run directory if it is missing and locks it, so that no other program can
// train in it. It removes the incomplete files of a killed run.
func openRunDirectory(dir string) (*flock.Flock, error) {
	last := filepath.Dir(filepath.Join(dir, model.CheckpointFile))
	if err := os.MkdirAll(last, 0o777); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, ".lock"))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: another program is training in this directory: wait for it, or choose "+
			"another --out", dir)
	}
	for _, name := range []string{model.ConfigFile, model.WeightsFile, model.CheckpointFile, metricsFile} {
		if err := atomicfile.Clean(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return lock, nil
}
