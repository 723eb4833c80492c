package train

import (
	"math"
	"time"
)

// pace measures the speed of this process. It excludes the steps before a resume: they may have run
// on another machine.
type pace struct {
	interval    spent // training since the last line of metrics
	recent      spent // all training, weighted towards recent steps
	evaluations int
	evaluating  time.Duration
}

// spent is a number of tokens and the time that they took.
type spent struct {
	tokens float64
	time   time.Duration
}

func (s *spent) add(tokens int, d time.Duration) {
	s.tokens += float64(tokens)
	s.time += d
}

// perSecond returns tokens per second, always finite because JSON has no infinity.
func (s *spent) perSecond() float64 { return s.tokens / max(s.time, 1).Seconds() }

// paceMemory is the time constant of the moving average for the estimate of the time left. The
// speed changes with stages of short rows and with the machine's load.
const paceMemory = 30 * time.Second

// paceOutlier limits the time of a step, as a multiple of the expected time: a longer step means
// that the machine slept or the process was stopped.
const paceOutlier = 20

// trained adds a training step with its tokens and its duration.
func (p *pace) trained(tokens int, d time.Duration) {
	p.interval.add(tokens, d)
	if p.recent.time > 0 && p.recent.tokens > 0 {
		expected := float64(tokens) / p.recent.tokens * float64(p.recent.time)
		d = time.Duration(min(float64(d), paceOutlier*expected))
	}
	keep := math.Exp(-float64(max(d, 0)) / float64(paceMemory))
	p.recent = spent{keep * p.recent.tokens, time.Duration(keep * float64(p.recent.time))}
	p.recent.add(tokens, d)
}

// evaluated adds the duration of an evaluation. If it is an outlier, because the machine slept,
// evaluated adds the mean of the earlier evaluations instead.
func (p *pace) evaluated(d time.Duration) {
	if n := p.evaluations; n > 0 && d > paceOutlier*p.evaluating/time.Duration(n) {
		d = p.evaluating / time.Duration(n)
	}
	p.evaluations++
	p.evaluating += d
}

// forwardShare is the approximate cost of scoring a token relative to training on it: a backward
// pass costs twice a forward pass. The estimate uses it until the first evaluation was measured.
const forwardShare = 1. / 3

// Left estimates the time to the end of the run, evaluations included. It returns false before the
// first step, because no speed is known. The estimate weights steps by their tokens: steps of a
// stage of short rows take less time. Early stopping by patience is not included.
func (t *Trainer) Left() (time.Duration, bool) {
	if t.pace.recent.time <= 0 || t.pace.recent.tokens == 0 {
		return 0, false
	}
	perToken := float64(t.pace.recent.time) / t.pace.recent.tokens
	evaluation := forwardShare * perToken * float64(total(t.val.Lengths()))
	if n := t.pace.evaluations; n > 0 {
		evaluation = float64(t.pace.evaluating) / float64(n)
	}
	return time.Duration(perToken*t.order.tokens(t.state.Step,
		t.Steps()) + evaluation*float64(t.evaluationsLeft())), true
}

// evaluationsLeft returns the number of remaining evaluations.
func (t *Trainer) evaluationsLeft() int {
	first, every := 0, t.settings.EvalEvery
	if every == 0 {
		first, every = t.settings.StageSteps(), t.order.all.PerEpoch()
	}
	upTo := func(step int) int { return max(0, step-first) / every }
	n := upTo(t.Steps()) - upTo(t.state.Evaluated)
	if end := t.Steps(); end > t.state.Evaluated && (end <= first || (end-first)%every != 0) {
		n++ // evaluation at the end of the run
	}
	return n
}
