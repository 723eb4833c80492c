package train

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// narrow is a device whose gradients overflow if the loss scale exceeds a limit, as products in
// float16 do.
type narrow struct {
	tensor.Device
	limit float32
}

func (narrow) LossScaling() bool { return true }

func (d narrow) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x, err := d.Device.Prepare(p)
	for _, k := range p.Launches {
		if k, ok := k.(tensor.CrossEntropy); ok {
			return narrowRun{x, k.Scale, d.limit}, err
		}
	}
	return x, err
}

type narrowRun struct {
	tensor.Executable
	scale *tensor.Tensor
	limit float32
}

func (x narrowRun) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	if err := x.Executable.Run(ctx, mem, from, to); err != nil {
		return err
	}
	scale := make([]float32, x.scale.Words())
	if err := tensor.Download(mem[tensor.Inputs], x.scale, scale); err != nil || scale[0] <= x.limit {
		return err
	}
	return mem[tensor.Gradients].Write(7, tensor.Bits([]float32{float32(math.Inf(1))}))
}

// TestLossScale checks that the factor doubles after goodSteps steps, halves after each overflow,
// down to 1, and is 0 on devices without loss scaling.
func TestLossScale(t *testing.T) {
	s := lossScale{}.forDevice(narrow{})
	for range goodSteps - 1 {
		s = s.after(false)
	}
	if s.Factor != 1<<15 {
		t.Errorf("after %d good steps %+v, want the factor unchanged", goodSteps-1, s)
	}
	if s = s.after(false); s != (lossScale{Factor: 1 << 16}) {
		t.Errorf("after %d good steps %+v, want the factor doubled", goodSteps, s)
	}
	s = s.after(false).after(true)
	if s != (lossScale{Factor: 1 << 15}) {
		t.Errorf("after a bad step %+v, want the factor halved", s)
	}
	for range 15 {
		if !s.mayHalve() {
			t.Errorf("mayHalve of %+v is false", s)
		}
		s = s.after(true)
	}
	if s.Factor != 1 || s.mayHalve() || s.value() != 1 {
		t.Errorf("after all halvings %+v, want the factor 1", s)
	}
	if s = s.forDevice(cpu.New(1)); s != (lossScale{}) || s.after(false) != s || s.value() != 1 || s.mayHalve() {
		t.Errorf("on a device without loss scaling: %+v, want zero", s)
	}
	for _, s := range []lossScale{{}, {1, 0}, {1 << 40, goodSteps - 1}} {
		if !s.valid() {
			t.Errorf("valid of %+v is false, want true", s)
		}
	}
	for _, s := range []lossScale{{0, 1}, {3, 0}, {0.5, 0}, {-2, 0}, {2, -1}, {2, goodSteps},
		{math.Inf(1), 0}, {math.NaN(), 0}} {
		if s.valid() {
			t.Errorf("valid of %+v is true, want false", s)
		}
	}
}

// TestLossScaleChangesNoBit checks that a loss scale changes no bit of the weights: the scale is a power of
// two, and the update divides by it.
func TestLossScaleChangesNoBit(t *testing.T) {
	for _, task := range []string{config.Classification, config.Retrieval} {
		train, val := tinySplits(t, task)
		c := configtest.TrainingConfig()
		c.Task = task
		dirs := []string{t.TempDir(), t.TempDir()}
		for i, d := range []tensor.Device{cpu.New(2), narrow{cpu.New(2), 1 << 15}} {
			must.Succeed(t, trainNew(t, modeltest.RandomModel(c, 1), runSettings(),
				options(dirs[i], nil), d, train, val))
		}
		plain, scaled := outcomeOf(t, dirs[0]), outcomeOf(t, dirs[1])
		if !slices.Equal(scaled.weights, plain.weights) || !slices.Equal(scaled.moment1, plain.moment1) ||
			!slices.Equal(scaled.moment2, plain.moment2) {
			t.Errorf("%s: weights or moments differ from those without a scale", task)
		}
		if strings.Contains(plain.state+plain.metrics, "loss_scale") ||
			!strings.Contains(scaled.state, `"loss_scale":{"factor":32768,"good":8}`) ||
			!strings.Contains(scaled.metrics, `"loss_scale":32768`) {
			t.Errorf("%s: states %s without a scale, %s with one", task, plain.state, scaled.state)
		}
	}
	m := modeltest.RandomModel(configtest.TrainingConfig(), 1)
	examples := configtest.RandomExamples(m.Config, rand.New(rand.NewPCG(1, 2)), 5, 9)
	want, _ := must.Get2(Gradient(t.Context(), m, cpu.New(1), examples))(t)
	got, _, err := Gradient(t.Context(), m, narrow{cpu.New(1), 1 << 12}, examples)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Gradient differs from its result without a scale; error %v", err)
	}
}

// TestSkippedSteps checks that a step whose gradient overflows counts for the random numbers and
// the batches, but not for AdamW and the warm-up.
func TestSkippedSteps(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s, dir := runSettings(), t.TempDir()
	m := modeltest.RandomModel(configtest.TrainingConfig(), 1)
	fresh := slices.Clone(m.Weights)
	var skipped []SkipReport
	var lines []StepReport
	must.Succeed(t, trainNew(t, m, s, options(dir, func(event any) {
		switch e := event.(type) {
		case SkipReport:
			skipped = append(skipped, e)
		case StepReport:
			lines = append(lines, e)
		}
	}), narrow{cpu.New(2), 1 << 13}, train, val))
	if !slices.Equal(skipped, []SkipReport{{"skipped", 1, 1 << 14}, {"skipped", 2, 1 << 13}}) {
		t.Errorf("skipped steps %+v, want steps 1 and 2 with scales 1<<14 and 1<<13", skipped)
	}
	if l := lines[0]; l.Skipped != 2 || l.LossScale != 1<<13 || !(l.GradNorm > 0) || lines[1].Skipped != 0 {
		t.Errorf("metrics %+v, want 2 skipped steps and scale 1<<13 in the first line, none in the second", lines)
	}
	if log := modeltest.ReadFiles(t, filepath.Join(dir, metricsFile)); strings.Count(log, `"kind":"skipped"`) != 2 {
		t.Errorf("metrics\n%swant 2 lines of skipped steps", log)
	}
	c := must.Get(LoadCheckpoint(dir))(t)
	if c.State.Step != 8 || c.State.Update != 6 || c.State.LossScale != (lossScale{1 << 13, 6}) {
		t.Errorf("state %+v, want step 8, update 6, scale 1<<13 after 6 good steps", c.State)
	}

	// An equivalent run without a scale.
	other, err := NewTrainer(&sft.Model{Config: m.Config, Parameters: m.Parameters, Weights: fresh}, s, cpu.New(1),
		train,
		val, nil, options(t.TempDir(), nil))
	must.Succeed(t, err)
	defer other.Close()
	for step := range 8 {
		if step >= 2 {
			rows, _ := other.order.batch(other.state)
			examples := must.Get(other.examples(train, rows))(t)
			at := other.state
			at.Update = step - 2
			rate := s.learningRate(&at, 8)
			must.Get(other.update(t.Context(), examples, step, step-1, rate, lossScale{}))(t)
		}
		other.state.Next = other.order.next(other.state)
		other.state.Step++
	}
	must.Succeed(t, other.download())
	if !slices.Equal(c.weights, other.model.Weights) {
		t.Error("the weights differ from a run that performs only the updates of steps 3 to 8")
	}
}

// TestLossScaleEnds checks that a gradient that overflows with a factor of 1 is an error.
func TestLossScaleEnds(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s, dir, skipped := runSettings(), t.TempDir(), 0
	s.Epochs, s.EvalEvery = 10, 100
	err := trainNew(t, modeltest.RandomModel(configtest.TrainingConfig(), 1), s, options(dir, func(event any) {
		if _, ok := event.(SkipReport); ok {
			skipped++
		}
	}), narrow{cpu.New(1), 0}, train, val)
	var e *NonFiniteError
	if !errors.As(err, &e) || e.Step != 16 || skipped != 15 || !strings.Contains(e.Tensor, ".grad") {
		t.Errorf("error %v after %d skipped steps, want 15 skipped steps and an error at step 16", err, skipped)
	}
	// A Stepper returns the error at the same step.
	st := must.Get(NewStepper(modeltest.RandomModel(configtest.TrainingConfig(), 1), s,
		narrow{cpu.New(1), 0}, 20, 0))(t)
	examples := configtest.RandomExamples(st.model.Config, rand.New(rand.NewPCG(1, 2)), 5, 9)
	for step := 0; ; step++ {
		if loss, err := st.Step(t.Context(), examples); err != nil {
			if step != 15 || !errors.As(err, &e) {
				t.Errorf("stepper: step %d has error %v, want the error at step 15", step, err)
			}
			break
		} else if step == 15 || !(loss > 0) || st.updates != 0 || st.steps != step+1 {
			t.Fatalf("stepper: step %d: loss %v, %d updates, %d steps; want no update, and an error at step 15",
				step, loss, st.updates, st.steps)
		}
	}
}

// TestResumeLossScale interrupts a run at random launches. The scale of the run doubles, and halves
// after an overflow. The resumed run must have the same results as an uninterrupted run.
func TestResumeLossScale(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s := runSettings()
	// begin creates a run at step 0 whose scale doubles after three steps.
	begin := func() (string, *Checkpoint) {
		dir := t.TempDir()
		tr, err := NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), s,
			narrow{cpu.New(1), 1 << 13}, train,
			val, nil, options(dir, nil))
		must.Succeed(t, err)
		tr.Close()
		from := must.Get(LoadCheckpoint(dir))(t)
		if from.State.LossScale != (lossScale{Factor: 1 << 15}) {
			t.Errorf("the run begins with %+v, want the factor 32768", from.State.LossScale)
		}
		from.State.LossScale = lossScale{1 << 13, goodSteps - 3}
		return dir, from
	}
	resume := func(ctx context.Context, dir string, from *Checkpoint, d tensor.Device) error {
		tr := must.Get(NewTrainer(nil, s, narrow{d, 1 << 13}, train, val, from, options(dir, nil)))(t)
		defer tr.Close()
		return tr.Run(ctx)
	}
	uninterrupted, from := begin()
	must.Succeed(t, resume(t.Context(), uninterrupted, from, cpu.New(2)))
	want := outcomeOf(t, uninterrupted)
	var state State
	must.Succeed(t, json.Unmarshal([]byte(want.state), &state))
	if state.Step != 8 || state.Update != 7 || state.LossScale != (lossScale{1 << 13, 4}) ||
		!strings.Contains(want.metrics, `"kind":"skipped","loss_scale":8192,"step":4`) {
		t.Errorf("the uninterrupted run did not double and halve its scale: state %s, metrics\n%s", want.state,
			want.metrics)
	}

	dir, from := begin()
	random := rand.New(rand.NewPCG(3, 4))
	interruptions := 0
	for {
		ctx, cancel := context.WithCancel(t.Context())
		d := interrupting{cpu.New(1 + random.IntN(3)), new(atomic.Int64), cancel}
		d.remaining.Store(1 + random.Int64N(130))
		err := resume(ctx, dir, from, d)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		interruptions++
		from = must.Get(LoadCheckpoint(dir))(t)
	}
	if interruptions < 6 {
		t.Errorf("%d interruptions, want at least 6", interruptions)
	}
	compareOutcomes(t, outcomeOf(t, dir), want)

	// On a device without loss scaling the run continues unscaled. Back on a device with loss
	// scaling, the scale starts again at its first value.
	c := must.Get(LoadCheckpoint(dir))(t)
	for _, d := range []tensor.Device{cpu.New(1), narrow{cpu.New(1), 0}} {
		tr := must.Get(NewTrainer(nil, s, d, train, val, c, options(dir, nil)))(t)
		must.Check(t, tr.save())
		tr.Close()
		c = must.Get(LoadCheckpoint(dir))(t)
		if want := (lossScale{}).forDevice(d); c.State.LossScale != want {
			t.Errorf("with loss scaling %t: scale %+v, expected %+v", scalesLoss(d), c.State.LossScale, want)
		}
	}
	c.State.LossScale.Factor = 3
	must.Fail(t, "loss scale 3", "a scale of 3")(NewTrainer(nil, s, cpu.New(1), train, val, c, options(dir, nil)))
}
