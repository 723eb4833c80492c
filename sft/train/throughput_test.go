package train

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestRateWithoutEvaluations checks that tokens per second exclude the time of evaluations and
// checkpoints. Each call advances the clock by a second, so a step, measured with two calls, takes one.
func TestRateWithoutEvaluations(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s := runSettings()
	s.EvalEvery = 2
	now := time.Now()
	var steps, evaluations int
	o := options(t.TempDir(), func(event any) {
		switch e := event.(type) {
		case EvaluationProgress:
			now = now.Add(time.Hour)
		case EvaluationReport:
			evaluations++
		case StepReport:
			if want := float64(e.Tokens) / float64(e.Step-steps); e.TokensPerS != want {
				t.Errorf("step %d: %v tokens per second, expected %v", e.Step, e.TokensPerS, want)
			}
			steps = e.Step
		}
	})
	o.SaveEvery = 1
	tr := must.Get(NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), s,
		cpu.New(1), train, val, nil, o))(t)
	tr.now = func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	must.Succeed(t, errors.Join(tr.Run(t.Context()), tr.Close()))
	if steps != 8 || evaluations != 4 {
		t.Errorf("%d steps and %d evaluations, want 8 and 4", steps, evaluations)
	}
}

// TestRateIsFinite checks that tokens per second are finite, as JSON requires, if the clock does
// not advance.
func TestRateIsFinite(t *testing.T) {
	s := tokenRate{tokens: 10}
	if v := s.perSecond(); math.IsInf(v, 0) || math.IsNaN(v) {
		t.Errorf("%v tokens per second, want a finite number", v)
	}
}

// TestTimeLeft simulates a millisecond per token and two hours per evaluation. At the ends of the stage
// and of the first two epochs the estimate must be exact to a millisecond, although the steps of the stage
// are shorter than later steps.
func TestTimeLeft(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s := runSettings()
	s.Stages, s.Epochs, s.EvalEvery, s.LogEvery = []Stage{{Steps: 4, Length: 12}}, 3, 0, 1000
	perEpoch := time.Duration(total(train.Lengths())) * time.Millisecond
	estimate := time.Duration(float64(total(val.Lengths())) * forwardCost * float64(time.Millisecond))
	const evaluation = 2 * time.Hour
	want := map[int]time.Duration{ // by step: the end of the stage, then the ends of epochs before their evaluations
		4:  3*perEpoch + 3*estimate,
		8:  2*perEpoch + 3*estimate,
		12: 1*perEpoch + 2*evaluation,
	}
	var tr *Trainer
	var evaluating time.Duration
	checked := 0
	tr, err := NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), s, cpu.New(1), train, val, nil,
		options(t.TempDir(), func(event any) {
			switch e := event.(type) {
			case EvaluationProgress:
				evaluating += evaluation / 2 // 70 rows are scored in batches of at most 64
			case State:
				remaining, known := tr.Left()
				if !known {
					t.Errorf("step %d: Left has no estimate", e.Step)
				}
				if w, ok := want[e.Step]; ok {
					checked++
					if (remaining - w).Abs() > time.Millisecond {
						t.Errorf("step %d: %v left, expected %v", e.Step, remaining, w)
					}
				}
				if e.Step < 4 && remaining < 2*perEpoch {
					t.Errorf("step %d: %v left, want at least two epochs of %v", e.Step, remaining, perEpoch)
				}
			}
		}))
	must.Succeed(t, err)
	start := time.Now()
	tr.now = func() time.Time { // LogEvery is so large that Interval.Tokens counts from the beginning
		return start.Add(time.Duration(tr.state.Interval.Tokens)*time.Millisecond + evaluating)
	}
	if _, known := tr.Left(); known {
		t.Error("Left has an estimate before the first step")
	}
	must.Succeed(t, errors.Join(tr.Run(t.Context()), tr.Close()))
	if checked != len(want) {
		t.Errorf("checked %d steps, want %d", checked, len(want))
	}
}

// TestRemainingEvaluations compares remainingEvaluations with the number of evaluations that a run
// performs.
func TestRemainingEvaluations(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	for name, change := range map[string]func(s *Settings){
		"by steps":            func(s *Settings) {},
		"by steps, evenly":    func(s *Settings) { s.EvalEvery = 4 },
		"by epochs":           func(s *Settings) { s.EvalEvery = 0 },
		"within a stage":      func(s *Settings) { s.Stages, s.EvalEvery = []Stage{{Steps: 3, Length: 8}}, 2 },
		"epochs after stages": func(s *Settings) { s.Stages, s.EvalEvery = []Stage{{Steps: 3, Length: 8}}, 0 },
		"only a stage": func(s *Settings) {
			s.Stages, s.EvalEvery,
				s.Steps = []Stage{{Steps: 3, Length: 8}}, 0, 2
		},
	} {
		s := runSettings()
		change(&s)
		var remaining []int
		var tr *Trainer
		tr, err := NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), s, cpu.New(2), train, val, nil,
			options(t.TempDir(), func(event any) {
				if _, ok := event.(EvaluationReport); ok {
					remaining = append(remaining, tr.remainingEvaluations())
				}
			}))
		must.Succeed(t, err)
		first := tr.remainingEvaluations()
		must.Succeed(t, errors.Join(tr.Run(t.Context()), tr.Close()))
		for i, n := range remaining {
			if n != len(remaining)-1-i {
				t.Errorf("%s: %d left after evaluation %d of %d", name, n, i+1, len(remaining))
			}
		}
		if first != len(remaining) {
			t.Errorf("%s: %d evaluations left at the beginning, but the run performed %d", name, first, len(remaining))
		}
	}
}

// TestEvaluationEstimate checks that the estimate of the first evaluation ignores slow steps, and that later
// estimates are the mean of the evaluations.
func TestEvaluationEstimate(t *testing.T) {
	p := throughput{}
	p.addStep(120, 10*time.Second) // allocates memory
	p.addStep(256, 3*time.Second)
	p.addStep(10, time.Second) // short rows
	if got := p.evaluation(512); got != 2*time.Second {
		t.Errorf("got %v for 512 tokens, want 2s, a third of the time of the fastest step", got)
	}
	p.addEvaluation(time.Second)
	p.addEvaluation(3 * time.Second)
	if got := p.evaluation(600); got != 2*time.Second {
		t.Errorf("got %v after evaluations of 1 s and 3 s, want 2s", got)
	}
}

// TestTimeLeftAfterSleep checks that a step during which the machine slept for hours hardly changes
// the estimate, and that the estimate follows a permanent change of speed within minutes.
func TestTimeLeftAfterSleep(t *testing.T) {
	p := throughput{}
	perStep := func() time.Duration { return time.Duration(100 * float64(p.recent.time) / p.recent.tokens) }
	for range 1000 {
		p.addStep(100, 50*time.Millisecond)
	}
	p.addStep(100, 8*time.Hour)
	if got := perStep(); got > 60*time.Millisecond {
		t.Errorf("after eight hours of sleep the estimate for a step of 50 ms is %v, want at most 60 ms", got)
	}
	if got := p.interval.time; got < 8*time.Hour {
		t.Errorf("the interval of the metrics took %v, want at least 8 h", got)
	}
	for _, d := range []time.Duration{4, 6, 8 * 3600, 5} {
		p.addEvaluation(d * time.Second)
	}
	if p.evaluations != 4 || p.evaluating != 20*time.Second {
		t.Errorf("%d evaluations took %v, want 4 with a mean of 5 s", p.evaluations, p.evaluating)
	}
	for range 180 {
		p.addStep(100, time.Second)
	}
	if got := perStep(); got < 800*time.Millisecond {
		t.Errorf("after three minutes of steps of 1 s the estimate is %v, want at least 800 ms", got)
	}
}
