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

// Options are what a training run may change without changing its result.
type Options struct {
	Dir       string // the run directory
	Memory    int64  // bytes; 0: no limit
	SaveEvery time.Duration
	// Run returns after that step, with all stored, as if it were interrupted; 0: at the end of the run
	StopAt  int
	Data    string // fingerprint of the data set, compared on resume
	Observe func(event any)
	// Communicator connects the ranks of a run of several processes; nil for one. All have
	// the same settings and data and come to the same bits, whatever their number. Rank 0
	// alone reads and writes the run directory.
	Communicator sft.Communicator
}

// Trainer trains a model. The run directory holds config.json, model.safetensors
// (best on the validation split; that of the checkpoint before the first evaluation),
// last/ (the checkpoint) and metrics.jsonl.
type Trainer struct {
	stepper
	options Options
	state   State

	runner     *model.Runner
	train, val *seq.File
	order      *order
	metrics    *metricsLog
	lock       *flock.Flock
	now        func() time.Time // time.Now
	started    time.Time
	saved      time.Time
	pace       pace
	kernels    string // instruction set that computed the checkpoint
}

// NewTrainer prepares a run, or the rest of one. With a checkpoint the model and the place
// are its own, and m may be nil. The settings are those given: whoever wants what the run
// began with passes the checkpoint's, perhaps with another end.
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

// newTrainer is a trainer that has no files yet.
func newTrainer(m *sft.Model, s Settings, device sft.Device, train, val *seq.File, from *Checkpoint,
	o Options) (_ *Trainer, err error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	t := &Trainer{options: o, train: train, val: val, now: time.Now, started: time.Now()}
	if from != nil {
		if from.Data != o.Data {
			return nil, fmt.Errorf("the checkpoint was trained on other data: %s, here is %s", from.Data, o.Data)
		}
		t.state, t.kernels = from.State, from.Kernels
		m = &sft.Model{Config: from.Config, Parameters: model.NewParameters(from.Config), Weights: from.weights,
			NGrams: from.ngrams}
	}
	if train.Len() == 0 || val.Len() == 0 {
		return nil, errors.New("the training and the validation split need at least one row each")
	}
	for _, f := range []*seq.File{train, val} {
		if err := cmp.Or(checkLengths(m.Config, f), checkTags(m.Config, f)); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(trainingOf(m.Config).settings(m.Config, &s), checkSelection(&s, val)); err != nil {
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
	t.state.LossScale = t.state.LossScale.on(e.Device)
	lengths := s.readLengths(train.Lengths())
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

// openRun takes the run directory over.
func (t *Trainer) openRun(from *Checkpoint) (err error) {
	if t.lock, err = openRunDirectory(t.options.Dir); err != nil {
		return err
	}
	if err := sameRun(t.options.Dir, from); err != nil {
		return err
	}
	return t.start(from)
}

// sameRun looks, now that nobody else trains there, whether the directory still holds what
// a run begins or goes on with: another program may have trained there until a moment ago.
func sameRun(dir string, from *Checkpoint) error {
	now, err := LoadCheckpoint(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && from == nil:
		return nil
	case err != nil:
		return fmt.Errorf("%s: the checkpoint has changed: %w", dir, err)
	case from == nil:
		return fmt.Errorf("%s holds a run already, which another program has just begun: go on with it, or choose another directory", dir)
	case now.State.Step != from.State.Step || !slices.Equal(now.weights, from.weights):
		return fmt.Errorf("%s: another program has trained there, from step %d to %d: go on with that", dir,
			from.State.Step, now.State.Step)
	}
	return nil
}

// start puts the run's files in place. A fresh run stores a checkpoint before
// anything else: whatever kills it later, the directory can be resumed.
func (t *Trainer) start(from *Checkpoint) error {
	if from == nil {
		if err := t.saveState(); err != nil {
			return err
		}
	} else if kernels := t.engine.Device.Kernels(); from.Kernels != kernels && !t.Finished() {
		t.observe(Warning(fmt.Sprintf("the run was computed with %q kernels so far and goes on with %q: its bits may differ from those of an uninterrupted run", from.Kernels, kernels)))
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
	if warning != "" && !t.Finished() { // whose checkpoint goes on saying what computed it
		t.state.MetricsBytes = t.metrics.bytes
		if err := t.saveState(); err != nil {
			return err
		}
	}
	if err := t.saveUnjudged(); err != nil { // before the configuration, which stands for a whole model
		return err
	}
	return t.configToWrite().Write(filepath.Join(t.options.Dir, model.ConfigFile))
}

// warnMovedEnd warns if the learning rate jumps because the end of the run has moved: it becomes that of a run of the
// new length at this step.
func (t *Trainer) warnMovedEnd(before *Settings) {
	was, is := t.order.steps(before), t.Steps()
	if !t.settings.FollowsEnd() || was == is || t.Finished() {
		return
	}
	t.observe(Warning(fmt.Sprintf("the run ends at step %d and not at %d any more, and its learning rate falls to that end: after step %d it goes on with %.4g, where it would have been %.4g",
		is, was, t.state.Step, t.settings.learningRate(&t.state, is), before.learningRate(&t.state, was))))
}

// Warning is observed where a run can go on but a person should know.
type Warning string

// LengthError is of a file with a sequence that is longer than the model accepts.
type LengthError struct {
	File                 string
	Row, Tokens, Longest int
	Key                  string // configuration key that bounds the length
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("%s: row %d has %d tokens in one sequence, the model accepts at most %d (%s)", e.File, e.Row,
		e.Tokens, e.Longest, e.Key)
}

// checkLengths compares the data with the longest sequence that the model
// accepts, before training comes to the row.
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

// Steps is the number of steps that the run will have made at its end.
func (t *Trainer) Steps() int { return t.order.steps(&t.settings) }

// Settings are those of the run.
func (t *Trainer) Settings() Settings { return t.settings }

// Kernels names what computed the last checkpoint: the bits of a run are promised for one
// kind of kernels.
func (t *Trainer) Kernels() string { return t.kernels }

// State is where the run stands.
func (t *Trainer) State() State { return t.state }

// Close closes the run's files and frees the device's memory.
func (t *Trainer) Close() error {
	t.engine.Close()
	if !model.First(t.options.Communicator) {
		return nil
	}
	return errors.Join(t.metrics.file.Close(), t.lock.Close())
}

// Run trains until the last step, until patience ends, until the step of
// Options.StopAt, or until ctx ends: then it stores a checkpoint and returns the error of ctx.
// Of several ranks all end together: with the error of one that fails, and with that of a
// cancelled context where one was asked to stop.
func (t *Trainer) Run(ctx context.Context) error {
	err := t.run(ctx)
	c := t.options.Communicator
	switch {
	case c == nil:
		return err
	case errors.Is(err, context.Canceled): // all ranks know of it, but not yet whether each has stored its part
		return cmp.Or(model.Agree(c, nil), err)
	case model.Agreed(err):
		return err
	}
	return model.Agree(c, err)
}

func (t *Trainer) run(ctx context.Context) error {
	if t.Finished() {
		return nil // and the checkpoint goes on saying what computed it
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
			err = ctx.Err() // several ranks stop in an exchange, all in the same
		}
		if err != nil {
			if !t.stopped(ctx, err) {
				return err
			}
			// Stopped by the caller. The error says so only if all is stored.
			if failed := t.save(); failed != nil {
				return failed
			}
			return cmp.Or(ctx.Err(), context.Canceled)
		}
	}
	if t.state.Evaluated != t.state.Step { // a checkpoint taken between the last step and its evaluation
		if err := t.evaluate(ctx); err != nil {
			return err
		}
	}
	return t.save()
}

// stopped reports whether an error says that a caller has stopped the run: of several ranks
// that of any.
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

// Finished reports whether nothing is left to do.
func (t *Trainer) Finished() bool { return t.done() && t.state.Evaluated == t.state.Step }

// evaluationDue reports whether the step ends with an evaluation: at every EvalEvery-th step or the end of an epoch,
// and at the end of the run.
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

// step trains on one batch. The state changes only when the update is made.
func (t *Trainer) step(ctx context.Context) error {
	if t.state.Step > 0 && t.evaluationDue() {
		return nil // interrupted before an evaluation that was due
	}
	// Time is counted for steps alone. Evaluations and checkpoints come between them,
	// and are no part of the rate at which a run trains.
	began := t.now()
	examples, err := t.examples(t.train, t.order.batch(t.state))
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
	t.pace.trained(t.state.Interval.Tokens-before, t.now().Sub(began))
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

// skipped says that the last step made no update.
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

// add counts a step in. The loss is the one that training makes small, with the weights of
// classes if there are any.
func (w *interval) add(b *batchGradient, examples []seq.Example, c *config.Config, s *Settings) {
	o, n := trainingOf(c), model.RowLogits(c)
	a, labels := o.(labelling)
	for i, e := range examples {
		w.Loss += o.weight(s, e) * float64(b.loss[i])
		w.Tokens += e.Length()
		if labels && a.answered(c.Logits(b.logits[i*n:(i+1)*n]), e) {
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

// log writes the line of an interval.
func (t *Trainer) log(rate float64) error {
	w := t.state.Interval
	r := StepReport{Kind: "train", Step: t.state.Step, Epoch: t.epochs(),
		Loss: w.Loss / float64(w.Divisor), LearningRate: rate,
		GradNorm: w.GradNorm / float64(max(1, w.Steps-w.Skipped)), Skipped: w.Skipped,
		LossScale: t.state.LossScale.Factor,
		Tokens:    w.Tokens, Ranks: t.gradients.ranks.report(t.pace.interval.time),
		Seconds: t.now().Sub(t.started).Seconds(), TokensPerS: t.pace.interval.perSecond()}
	if _, ok := trainingOf(t.model.Config).(labelling); ok {
		r.Accuracy = new(float64(w.Correct) / float64(w.Examples))
	}
	for _, n := range w.DeadRows {
		r.DeadRows = append(r.DeadRows, float64(n)/float64(w.Tokens*t.model.Config.NumHeads))
	}
	t.pace.interval = spent{}
	t.state.Interval = interval{}
	return t.report(r)
}

// epochs is how often the data has been seen.
func (t *Trainer) epochs() float64 {
	return float64(t.state.Next.Epoch) + float64(t.state.Next.Batch)/float64(t.order.all.PerEpoch())
}

func (t *Trainer) observe(event any) {
	if t.options.Observe != nil {
		t.options.Observe(event)
	}
}
