package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestStepRate compares rates of the schedule "step" with values computed by hand: the warm-up depends
// on the update, and the decay on the epoch.
func TestStepRate(t *testing.T) {
	for _, c := range []struct {
		warmup   string
		epoch, t int
		want     float64
	}{
		{"untuned", 0, 1, 1e-3 * 0.0005}, {"untuned", 0, 1000, 1e-3 * 0.5}, {"untuned", 0, 2000, 1e-3},
		{"untuned", 0, 9000, 1e-3},
		{"10", 0, 1, 1e-4}, {"10", 0, 10, 1e-3}, {"10", 0, 11, 1e-3}, {"0", 0, 1, 1e-3}, {"1", 0, 1, 1e-3},
		{"0", 19, 5, 1e-3}, {"0", 20, 5, 0.9e-3}, {"0", 39, 5, 0.9e-3}, {"0", 40, 5, 0.81e-3}, {"10", 20, 5, 0.45e-3},
	} {
		for _, schedule := range []string{"", "step"} {
			s := validSettings()
			s.Warmup, s.Schedule = c.warmup, schedule
			at := State{Step: c.t - 1, Update: c.t - 1, Next: seq.Position{Epoch: uint32(c.epoch)}}
			if got := s.learningRate(&at, 10000); math.Abs(got-c.want) > 1e-15 {
				t.Errorf("warmup %s, epoch %d, update %d: %v, expected %v", c.warmup, c.epoch, c.t, got, c.want)
			}
		}
	}
}

// fallingSettings returns settings of a schedule that depends on the length of the run.
func fallingSettings(schedule string, final float64, warmup string) Settings {
	s := runSettings()
	s.Schedule, s.StepSize, s.DecayRate, s.FinalRate, s.Warmup = schedule, 0, 0, final, warmup
	return s
}

// TestFallingRates compares some rates with values computed by hand. For cosine and linear it also
// compares each rate of a whole run with another form of the definition, and checks that the rates fall.
func TestFallingRates(t *testing.T) {
	for _, c := range []struct {
		schedule    string
		final       float64
		warmup      string
		step, steps int
		want        float64 // factor of the learning rate
	}{
		{cosine, 0, "0", 0, 8, 1}, {cosine, 0, "0", 4, 8, 0.5}, {cosine, 0, "0", 2, 8, (2 + math.Sqrt2) / 4},
		{cosine, 0, "0", 8, 8, 0},
		{cosine, 0.1, "0", 0, 8, 1}, {cosine, 0.1, "0", 4, 8, 0.55}, {cosine, 0.1, "0", 8, 8, 0.1},
		{cosine, 1, "0", 5, 8, 1},
		{linear, 0, "0", 0, 8, 1}, {linear, 0, "0", 7, 8, 0.125}, {linear, 0.2, "0", 4, 8, 0.6},
		{linear, 0.2, "0", 8, 8, 0.2},
		{exponential, 0.01, "0", 0, 8, 1}, {exponential, 0.01, "0", 4, 8, 0.1}, {exponential, 0.01, "0", 8, 8, 0.01},
		{exponential, 0.01, "0", 9, 8, 0.01},
		// Product of warm-up and decay.
		{linear, 0, "4", 0, 8, 0.25}, {linear, 0, "4", 3, 8, 0.625}, {linear, 0, "4", 4, 8, 0.5},
		{linear, 0, "16", 7, 8, 8. / 16 / 8}, {cosine, 0, "untuned", 999, 1998, 0.25}, // a warm-up longer than the run
		{cosine, 0, "0", 0, 1, 1}, {linear, 0.3, "0", 0, 1, 1}, // a single step has the rate of the beginning
		{cosine, 0.25, "0", 9, 8, 0.25}, {linear, 0.25, "0", 100, 8, 0.25}, // the end was moved before the current step
	} {
		s := fallingSettings(c.schedule, c.final, c.warmup)
		s.LearningRate = 1
		if got := s.learningRate(&State{Step: c.step, Update: c.step}, c.steps); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%s to %g, warmup %s, step %d of %d: %v, expected %v", c.schedule, c.final, c.warmup,
				c.step, c.steps, got, c.want)
		}
	}
	const steps = 1000
	for _, final := range []float64{0, 0.01, 0.5} {
		before := [2]float64{2, 2}
		for step := range steps {
			fraction := float64(step) / steps
			half := math.Cos(math.Pi * fraction / 2)
			// cos²(x/2) = (1 + cos x)/2
			for i, want := range []float64{final + (1-final)*half*half, final*fraction + 1*(1-fraction)} {
				s := fallingSettings([]string{cosine, linear}[i], final, "0")
				got := s.learningRate(&State{Step: step, Update: step / 2}, steps) / s.LearningRate
				if math.Abs(got-want) > 1e-14 || !(got < before[i]) {
					t.Fatalf("%s to %g, step %d: %v after %v, expected %v", s.Schedule, final,
						step, got, before[i], want)
				}
				before[i] = got
			}
		}
	}
}

// rates trains and returns the reported learning rates and the run's warnings.
func rates(t *testing.T, dir string, s Settings, from *Checkpoint, stopAt int, train,
	val *seq.File) (rates []float64, warnings []Warning) {
	t.Helper()
	o := options(dir, func(event any) {
		switch e := event.(type) {
		case StepReport:
			rates = append(rates, e.LearningRate)
		case Warning:
			warnings = append(warnings, e)
		}
	})
	o.StopAt = stopAt
	tr := must.Get(NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), s,
		cpu.New(2), train, val, from, o))(t)
	must.Succeed(t, errors.Join(tr.Run(context.Background()), tr.Close()))
	return rates, warnings
}

// TestRatesOfRun checks the reported learning rates of runs with stages and epochs, and of runs with a
// number of steps.
func TestRatesOfRun(t *testing.T) {
	train, val := tinySplits(t, config.Classification) // 4 batches per epoch
	for _, c := range []struct {
		name   string
		change func(s *Settings)
		steps  int
	}{
		{"epochs", func(s *Settings) {}, 8},
		{"stages before the epochs", func(s *Settings) {
			s.Stages = []Stage{{Steps: 2, Length: 4},
				{Steps: 3, Length: 8}}
		}, 13},
		{"steps", func(s *Settings) { s.Steps = 5 }, 5},
		{"steps with stages", func(s *Settings) { s.Steps, s.Stages = 7, []Stage{{Steps: 6, Length: 8}} }, 7},
	} {
		s := fallingSettings(linear, 0.2, "0")
		s.LogEvery = 1
		c.change(&s)
		got, warnings := rates(t, t.TempDir(), s, nil, 0, train, val)
		var want []float64
		for step := range c.steps {
			want = append(want, s.LearningRate*(1-0.8*float64(step)/float64(c.steps)))
		}
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-15 }
		if !slices.EqualFunc(got, want, near) || len(warnings) > 0 {
			t.Errorf("%s: rates %v, expected %v; warnings %q", c.name, got, want, warnings)
		}
	}
}

// TestMovedEnd checks that a resumed run with a new length continues with the schedule for this
// length, after a warning. There is no warning if the schedule does not depend on the length, or if
// the run has already reached the new end.
func TestMovedEnd(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	for _, c := range []struct {
		name         string
		schedule     string
		stop         int
		change       func(s *Settings)
		want         string
		steps, first int // end of the run, and first step after the resume
	}{
		{"a later end, before the old end", linear, 4, func(s *Settings) { s.Epochs = 4 },
			"the run now ends at step 16 instead of 8, which changes the learning-rate schedule: after step 4 the learning rate is 0.0075 instead of 0.005", 16, 4},
		{"a later end, at the old end", linear, 8, func(s *Settings) { s.Steps = 10 },
			"after step 8 the learning rate is 0.002 instead of 0", 10, 8},
		{"sooner", cosine, 3, func(s *Settings) { s.Steps = 4 },
			"after step 3 the learning rate is 0.001464 instead of 0.006913", 4, 3},
		{"the same end as a number of steps", cosine, 3, func(s *Settings) { s.Steps = 8 }, "", 8, 3},
		{"not moved", cosine, 3, func(s *Settings) {}, "", 8, 3},
		{"another schedule", "", 3, func(s *Settings) { s.Epochs = 3 }, "", 12, 3},
		{"before the current step", cosine, 8, func(s *Settings) { s.Epochs = 1 }, "", 8, 8},
	} {
		dir, s := t.TempDir(), fallingSettings(c.schedule, 0, "0")
		if c.schedule == "" {
			s.FinalRate, s.StepSize, s.DecayRate = 0, 1, 0.5
		}
		s.LogEvery = 1
		if before, _ := rates(t, dir, s, nil, c.stop, train, val); len(before) != c.stop {
			t.Fatalf("%s: %d steps before the stop, expected %d", c.name, len(before), c.stop)
		}
		from := must.Get(LoadCheckpoint(dir))(t)
		c.change(&s)
		got, warnings := rates(t, dir, s, from, 0, train, val)
		if text := fmt.Sprint(warnings); len(got) != c.steps-c.first || (c.want == "") != (len(warnings) == 0) ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s: %d steps, expected %d; warnings %s, expected %q", c.name, len(got),
				c.steps-c.first, text, c.want)
		}
		for i, rate := range got {
			at := State{Step: c.first + i, Update: c.first + i, Next: seq.Position{Epoch: uint32((c.first + i) / 4)}}
			if want := s.learningRate(&at, c.steps); rate != want {
				t.Errorf("%s: step %d has the rate %v, expected %v", c.name, at.Step+1, rate, want)
			}
		}
	}
}

// TestStopAt checks that a run stopped at several steps and resumed has the same results as an
// uninterrupted run.
func TestStopAt(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s, whole, parts := fallingSettings(cosine, 0.1, "3"), t.TempDir(), t.TempDir()
	rates(t, whole, s, nil, 100, train, val)
	var from *Checkpoint
	for _, step := range []int{2, 2, 3, 7, 8} { // the run evaluates after step 3
		rates(t, parts, s, from, step, train, val)
		var err error
		if from, err = LoadCheckpoint(parts); err != nil || from.State.Step != step {
			t.Fatalf("step %d, expected %d; error %v", from.State.Step, step, err)
		}
	}
	compareOutcomes(t, outcomeOf(t, parts), outcomeOf(t, whole))
}

// TestStepIsStoredAsBefore checks that stored settings without a schedule are valid, and that an empty
// schedule, which means "step", is stored without newer keys, so that earlier versions can read the
// settings.
func TestStepIsStoredAsBefore(t *testing.T) {
	const before = `{"epochs":3,"batch":4,"learning_rate":0.001,"weight_decay":0.01,"step_size":20,"decay_rate":0.9,"max_grad_norm":1,"warmup":"untuned","seed":1,"log_every":4}`
	var s Settings
	if err := json.Unmarshal([]byte(before), &s); err != nil || s.Validate() != nil || s.FollowsEnd() {
		t.Errorf("settings %+v: error %v, Validate returns %v, FollowsEnd returns %t; want <nil>, <nil>, false", s, err,
			s.Validate(), s.FollowsEnd())
	}
	if text, err := json.Marshal(validSettings()); err != nil || string(text) != before {
		t.Errorf("stored %s, want %s; error %v", text, before, err)
	}
}
