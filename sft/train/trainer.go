package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// Options holds a run's options in addition to its [Settings]. Only Redraw affects the weights after a given step.
type Options struct {
	Dir    string // path of the run directory
	Memory int64  // limit in bytes; 0 means no limit except the device's own memory
	// Run stores a checkpoint after a step if the last one is SaveEvery old, and after every evaluation.
	SaveEvery time.Duration
	// StopAt is the step after which Run stores a checkpoint and returns; 0 means the end of the run.
	StopAt  int
	Data    string          // fingerprint of the data set, compared on resume
	Observe func(event any) // receives reports, [State], [EvaluationProgress] and [Warning]; may be nil
	// Redraw draws a training row anew for an epoch if Settings.Fresh is set. The result must have the
	// length of the row in the split and depend only on epoch and row. Redraw is called concurrently.
	Redraw func(epoch, row uint32) seq.Example
	// Communicator connects the ranks of a run of several processes; nil means a single process.
	// All ranks need the same settings and data, and the result is bitwise identical for every
	// number of ranks. Only rank 0 reads and writes the run directory.
	Communicator sft.Communicator
}

// Trainer trains a model. The run directory holds config.json, model.safetensors (the best model on
// the validation split; before the first evaluation, the weights of the checkpoint), last/ (the
// checkpoint) and metrics.jsonl.
type Trainer struct {
	stepper
	options Options
	state   State

	runner     *model.Runner
	train, val *seq.File
	order      *order
	ahead      chan redrawn // the rows of the next step, if the CPU draws them while the device computes
	metrics    *metricsLog
	lock       *flock.Flock
	now        func() time.Time // time.Now, except in tests
	started    time.Time
	saved      time.Time // time of the last checkpoint or, if later, of the call of Run
	throughput throughput
	kernels    string // kernels of the last checkpoint, see Kernels
}

// NewTrainer prepares a new run of m. If from is not nil, it continues the run of this checkpoint, which
// provides the model and the state, and ignores m. s applies in both cases: pass from.Settings to
// continue with the original settings.
func NewTrainer(m *sft.Model, s Settings, device sft.Device, train, val *seq.File, from *Checkpoint,
	o Options) (*Trainer, error) {
	t, err := newTrainer(m, s, device, train, val, from, o)
	if failed := model.Agree(o.Communicator, err); failed != nil {
		if err == nil {
			t.engine.Close()
		}
		return nil, failed
	}
	if o.Communicator != nil {
		err = t.compareRanks()
	}
	if err == nil {
		if model.First(o.Communicator) {
			err = t.openRun(from)
		}
		err = model.Agree(o.Communicator, err)
	}
	if err != nil {
		if t.lock != nil {
			err = errors.Join(err, t.lock.Close())
		}
		t.engine.Close()
		return nil, err
	}
	return t, nil
}

// newTrainer returns a trainer that has not opened the run directory.
func newTrainer(m *sft.Model, s Settings, device sft.Device, train, val *seq.File, from *Checkpoint,
	o Options) (_ *Trainer, err error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	t := &Trainer{options: o, train: train, val: val, now: time.Now, started: time.Now()}
	if from != nil {
		if from.Data != o.Data {
			return nil, errors.New("the checkpoint was trained on other data: resume with the data of the run, or start a " +
				"new run in another directory")
		}
		t.state, t.kernels = from.State, from.Kernels
		m = &sft.Model{Config: from.Config, Parameters: model.NewParameters(from.Config), Weights: from.weights,
			NGrams: from.ngrams}
	}
	if train.Len() == 0 || val.Len() == 0 {
		return nil, errors.New("the training and the validation split need at least one row each")
	}
	if s.Fresh && o.Redraw == nil {
		return nil, errors.New("fresh: expected a function Options.Redraw that draws rows anew, found nil")
	}
	for _, f := range []*seq.File{train, val} {
		if err := cmp.Or(checkLengths(m.Config, f), checkTags(m.Config, f)); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(trainingOf(m.Config).settings(m.Config, &s), checkSelection(&s, val),
		s.checkImages(m.Config, train)); err != nil {
		return nil, err
	}
	e, err := model.OpenEngine(m.Config, m.Weights, m.NGrams, device)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	if t.order, err = newOrder(train.Lengths(), s); err != nil {
		return nil, err
	}
	if from != nil {
		if err := t.state.validate(t.order, m.Config); err != nil {
			return nil, fmt.Errorf("the checkpoint: %w", err)
		}
	}
	t.state.LossScale = t.state.LossScale.forDevice(e.Device)
	lengths := s.lengthsWithNoise(train.Lengths())
	sums := maxSums(o.Communicator, lengths, s.Batch)
	e.Edges = max(train.EdgesPerToken(), val.EdgesPerToken())
	slots, err := planSlots(e, lengths, val.Lengths(), s.Batch, o.Memory, sums)
	if err != nil {
		return nil, err
	}
	if t.stepper, err = newStepper(m, s, e, slots); err != nil {
		return nil, err
	}
	if t.gradients.ranks, err = newExchange(o.Communicator, e, sums); err != nil {
		return nil, err
	}
	t.runner = model.NewRunner(e, min(slots, e.Device.Slots()))
	if from != nil {
		err = t.optimizer.restore(from)
	}
	return t, err
}

// openRun locks the run directory and prepares it.
func (t *Trainer) openRun(from *Checkpoint) (err error) {
	if t.lock, err = openRunDirectory(t.options.Dir); err != nil {
		return err
	}
	if err := checkSameRun(t.options.Dir, from); err != nil {
		return err
	}
	return t.start(from)
}

// checkSameRun returns an error unless the directory's checkpoint is the given one and its best model
// passes checkBest. A nil from means a new run, for which no checkpoint may exist. The caller holds the
// lock: another program may have trained in the directory since the caller read the checkpoint.
func checkSameRun(dir string, from *Checkpoint) error {
	current, err := LoadCheckpoint(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && from == nil:
		return nil
	case err != nil:
		return fmt.Errorf("%s: cannot read the checkpoint of this directory: %w", dir, err)
	case from == nil:
		return fmt.Errorf("%s: expected no run in this directory, found a checkpoint: resume the run, or "+
			"choose another directory", dir)
	case current.State.Step != from.State.Step || !slices.Equal(current.weights, from.weights):
		return fmt.Errorf("%s: the checkpoint of step %d has since been replaced by one of step %d: resume from "+
			"the new one", dir, from.State.Step, current.State.Step)
	}
	return checkBest(dir, from)
}

// start creates the run's files. A new run first stores a checkpoint: a run killed at any later
// time can then be resumed.
func (t *Trainer) start(from *Checkpoint) error {
	if from == nil {
		if err := t.saveState(); err != nil {
			return err
		}
	} else if kernels := t.engine.Device.Kernels(); from.Kernels != kernels && !t.Finished() {
		t.observe(Warning(fmt.Sprintf("the run used %q kernels so far and continues with %q kernels: the last bits of results may differ from an uninterrupted run", from.Kernels, kernels)))
	}
	if from != nil {
		t.warnMovedEnd(&from.Settings)
	}
	var warning string
	var err error
	if t.metrics, warning, err = openMetrics(t.options.Dir, &t.state); err != nil {
		return err
	}
	if warning != "" {
		t.observe(Warning(warning))
	}
	if warning != "" && !t.Finished() { // a finished run keeps its checkpoint
		t.state.MetricsBytes = t.metrics.bytes
		if err := t.saveState(); err != nil {
			return err
		}
	}
	if err := t.saveUnevaluated(); err != nil { // weights precede config.json, which marks a complete model
		return err
	}
	return t.configToWrite().Write(filepath.Join(t.options.Dir, model.ConfigFile))
}

// warnMovedEnd warns if the learning-rate schedule changes because the length of the run has changed.
func (t *Trainer) warnMovedEnd(before *Settings) {
	oldEnd, newEnd := t.order.steps(before), t.Steps()
	if !t.settings.FollowsEnd() || oldEnd == newEnd || t.Finished() {
		return
	}
	t.observe(Warning(fmt.Sprintf("the run now ends at step %d instead of %d, which changes the learning-rate schedule: "+
		"after step %d the learning rate is %.4g instead of %.4g",
		newEnd, oldEnd, t.state.Step, t.settings.learningRate(&t.state, newEnd), before.learningRate(&t.state,
			oldEnd))))
}

// Warning is sent to the observer if a run can continue but the user should know about a problem.
type Warning string

// LengthError reports a file with a sequence that is longer than the model accepts.
type LengthError struct {
	File                 string
	Row, Tokens, Longest int    // the row, the tokens in its longest sequence, and the maximum
	Key                  string // configuration key with the limit
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("%s: row %d has %d tokens in one sequence, but the model accepts at most %d (%s)", e.File, e.Row,
		e.Tokens, e.Longest, e.Key)
}

// checkLengths returns a [LengthError] if f has a sequence that is longer than the model accepts.
func checkLengths(c *config.Config, f *seq.File) error {
	longest, key := c.MaxLength, "max_position_embeddings"
	if w := c.InputWindow; w != nil && w.Length < longest {
		longest, key = w.Length, "input_window"
	}
	if row, n := f.Longest(); n > longest {
		return &LengthError{f.Name(), row, n, longest, key}
	}
	return nil
}

// Steps returns the total number of steps of the run.
func (t *Trainer) Steps() int { return t.order.steps(&t.settings) }

// Settings returns the settings of the run.
func (t *Trainer) Settings() Settings { return t.settings }

// Kernels returns the name of the kernels that computed the last checkpoint; only rank 0 updates it. A run is
// bitwise reproducible only with the same kernels.
func (t *Trainer) Kernels() string { return t.kernels }

// State returns the progress of the run.
func (t *Trainer) State() State { return t.state }

// Close closes the run's files and frees the device's memory.
func (t *Trainer) Close() error {
	t.awaitRedrawn()
	t.engine.Close()
	if !model.First(t.options.Communicator) {
		return nil
	}
	return errors.Join(t.metrics.file.Close(), t.lock.Close())
}

// Run trains until the last step, until patience is exhausted, until the step Options.StopAt, or
// until ctx is cancelled. On cancellation it stores a checkpoint and returns the error of ctx.
// Several ranks return together: with the error of a failed rank, or with a cancellation if any
// rank was cancelled.
func (t *Trainer) Run(ctx context.Context) error {
	err := t.run(ctx)
	c := t.options.Communicator
	switch {
	case c == nil:
		return err
	// All ranks know of the cancellation, but not whether rank 0 has stored the checkpoint.
	case errors.Is(err, context.Canceled):
		return cmp.Or(model.Agree(c, nil), err)
	case model.Agreed(err):
		return err
	}
	return model.Agree(c, err)
}

func (t *Trainer) run(ctx context.Context) error {
	if t.Finished() {
		return nil // the checkpoint keeps the name of its kernels
	}
	t.saved = t.now()
	for !t.done() {
		if t.options.StopAt > 0 && t.state.Step >= t.options.StopAt {
			return t.save()
		}
		err := t.step(ctx)
		if err == nil && t.evaluationDue() {
			err = t.evaluate(ctx)
		}
		if err == nil && t.now().Sub(t.saved) >= t.options.SaveEvery {
			err = t.save()
		}
		if err == nil && t.options.Communicator == nil {
			err = ctx.Err() // all ranks stop in the same exchange
		}
		if err != nil {
			if !t.stopped(ctx, err) {
				return err
			}
			// The caller stopped the run. A cancellation error promises that the run is stored.
			if failed := t.save(); failed != nil {
				return failed
			}
			return cmp.Or(ctx.Err(), context.Canceled)
		}
	}
	if t.state.Evaluated != t.state.Step { // resumed from a checkpoint between the last step and its evaluation
		if err := t.evaluate(ctx); err != nil {
			return err
		}
	}
	return t.save()
}

// stopped reports whether err means that the caller of any rank stopped the run.
func (t *Trainer) stopped(ctx context.Context, err error) bool {
	if t.options.Communicator != nil {
		return model.Agreed(err) && errors.Is(err, context.Canceled)
	}
	return ctx.Err() != nil && model.Stopped(ctx, err) == context.Canceled
}

func (t *Trainer) done() bool {
	return t.state.Step >= t.Steps() || t.settings.Patience > 0 && t.state.SinceBest >= t.settings.Patience &&
		t.state.Evaluated == t.state.Step
}

// Finished reports whether the run is complete.
func (t *Trainer) Finished() bool { return t.done() && t.state.Evaluated == t.state.Step }

// evaluationDue reports whether the step ends with an evaluation: after every EvalEvery steps or, if
// EvalEvery is 0, after each epoch of all rows; and at the end of the run.
func (t *Trainer) evaluationDue() bool {
	s := t.state
	if s.Evaluated == s.Step {
		return false
	}
	if s.Step >= t.Steps() {
		return true
	}
	if t.settings.EvalEvery > 0 {
		return s.Step%t.settings.EvalEvery == 0
	}
	return s.Next.Batch == 0 && s.Step > t.settings.StageSteps()
}

// step trains on one batch. The state changes only after the update.
func (t *Trainer) step(ctx context.Context) error {
	if t.state.Step > 0 && t.evaluationDue() {
		return nil // the run was interrupted before this evaluation
	}
	// The clock runs only during steps: tokens per second exclude evaluations and checkpoints.
	start := t.now()
	examples, err := t.nextExamples()
	if err != nil {
		return err
	}
	examples = t.settings.addNoise(t.model.Config, examples, t.state.Step, t.engine.Threads(1))
	rate := t.settings.learningRate(&t.state, t.Steps())
	b, err := t.update(ctx, examples, t.state.Step, t.state.Update+1, rate, t.state.LossScale)
	if err != nil {
		return err
	}
	before := t.state.Interval.Tokens
	t.state.Interval.add(b, examples, t.model.Config, &t.settings)
	t.throughput.addStep(t.state.Interval.Tokens-before, t.now().Sub(start))
	t.state.Next = t.order.next(t.state)
	t.state.Step++
	t.state.LossScale = t.state.LossScale.after(b.skipped)
	if !b.skipped {
		t.state.Update++
	} else if err := t.skipped(); err != nil {
		return err
	}
	if t.state.Step%t.settings.LogEvery == 0 || t.state.Step == t.Steps() {
		return t.log(rate)
	}
	t.observe(t.state)
	return nil
}

// skipped reports that the update of the last step was skipped.
func (t *Trainer) skipped() error {
	return t.report(SkipReport{Kind: "skipped", Step: t.state.Step, LossScale: t.state.LossScale.Factor})
}

// report writes a report to metrics.jsonl and passes it to the observer.
func (t *Trainer) report(report any) error {
	if err := t.metrics.write(report); err != nil {
		return err
	}
	t.observe(report)
	return nil
}

func (t *Trainer) examples(f *seq.File, rows []uint32) ([]seq.Example, error) {
	out := make([]seq.Example, len(rows))
	err := model.TryInParallel(t.engine.Threads(1), len(rows), func(i int) (err error) {
		if out[i], err = f.Example(int(rows[i])); err != nil {
			return err
		}
		if err := t.model.Config.CheckLabelled(out[i]); err != nil {
			return fmt.Errorf("row %d: %w", rows[i], err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// add adds a step to the interval. Loss is the training loss, with the class weights if there are any.
func (w *interval) add(b *batchGradient, examples []seq.Example, c *config.Config, s *Settings) {
	o, n := trainingOf(c), model.RowLogits(c)
	a, hasLabels := o.(labelling)
	for i, e := range examples {
		w.Loss += o.weight(s, e) * float64(b.loss[i])
		w.Tokens += e.Length()
		if hasLabels && a.isCorrect(c.Logits(b.logits[i*n:(i+1)*n]), e) {
			w.Correct++
		}
	}
	w.Examples += len(examples)
	w.Divisor += b.divisor
	w.Steps++
	if b.skipped {
		w.Skipped++
	} else {
		w.GradNorm += b.norm
	}
	if w.DeadRows == nil {
		w.DeadRows = make([]int64, len(b.deadRows))
	}
	for l, n := range b.deadRows {
		w.DeadRows[l] += n
	}
}

// log writes the metrics line of the interval and begins the next interval.
func (t *Trainer) log(rate float64) error {
	w := t.state.Interval
	r := StepReport{Kind: "train", Step: t.state.Step, Epoch: t.epochs(),
		Loss: w.Loss / float64(w.Divisor), LearningRate: rate,
		GradNorm: w.GradNorm / float64(max(1, w.Steps-w.Skipped)), Skipped: w.Skipped,
		LossScale: t.state.LossScale.Factor,
		Tokens:    w.Tokens, Ranks: t.gradients.ranks.report(t.throughput.interval.time),
		Seconds: t.now().Sub(t.started).Seconds(), TokensPerS: t.throughput.interval.perSecond()}
	if _, ok := trainingOf(t.model.Config).(labelling); ok {
		r.Accuracy = new(float64(w.Correct) / float64(w.Examples))
	}
	for _, n := range w.DeadRows {
		r.DeadRows = append(r.DeadRows, float64(n)/float64(w.Tokens*t.model.Config.NumHeads))
	}
	t.throughput.interval = tokenRate{}
	t.state.Interval = interval{}
	return t.report(r)
}

// epochs returns the number of completed epochs after the stages, plus the completed fraction of the current
// epoch.
func (t *Trainer) epochs() float64 {
	return float64(t.state.Next.Epoch) + float64(t.state.Next.Batch)/float64(t.order.epochs.PerEpoch())
}

func (t *Trainer) observe(event any) {
	if t.options.Observe != nil {
		t.options.Observe(event)
	}
}
