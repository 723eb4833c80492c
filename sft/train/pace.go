package train

import (
	"math"
	"time"
)

// pace is how fast this process gets on. Of a run that was resumed, what went before
// is not in it: another machine may have done that.
type pace struct {
	interval    spent // since the last line of metrics
	recent      spent // all training, weighted towards recent steps
	evaluations int
	evaluating  time.Duration
}

// spent is what some tokens have taken.
type spent struct {
	tokens float64
	time   time.Duration
}

func (s *spent) add(tokens int, d time.Duration) {
	s.tokens += float64(tokens)
	s.time += d
}

// perSecond is a finite number whatever a clock says: JSON has no other.
func (s *spent) perSecond() float64 { return s.tokens / max(s.time, 1).Seconds() }

// paceMemory is how long training is remembered for the estimate of the time left: stages
// of short rows run at another rate than the rest, and a machine gets other work.
const paceMemory = 30 * time.Second

// paceOutlier is how many times as long as expected a step takes at most before the rest
// of it says nothing of those to come: the machine slept, or the process was stopped.
const paceOutlier = 20

// trained counts a step in.
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

// evaluated counts an evaluation in, of which one during which the machine slept is taken
// to have been as long as those before.
func (p *pace) evaluated(d time.Duration) {
	if n := p.evaluations; n > 0 && d > paceOutlier*p.evaluating/time.Duration(n) {
		d = p.evaluating / time.Duration(n)
	}
	p.evaluations++
	p.evaluating += d
}

// forwardShare is about what scoring a token takes of training on it: of forward and
// backward, where the latter is twice the work. It stands in for an evaluation before one
// was measured.
const forwardShare = 1. / 3

// Left estimates the time to the end of the run, evaluations included, and says whether
// it can: before the first step there is nothing to estimate from. Steps are counted by
// their tokens, because those of a stage of short rows take a fraction of the others'.
// Patience may end a run earlier.
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

// evaluationsLeft is how many there will be.
func (t *Trainer) evaluationsLeft() int {
	first, every := 0, t.settings.EvalEvery
	if every == 0 {
		first, every = t.settings.StageSteps(), t.order.all.PerEpoch()
	}
	upTo := func(step int) int { return max(0, step-first) / every }
	n := upTo(t.Steps()) - upTo(t.state.Evaluated)
	if end := t.Steps(); end > t.state.Evaluated && (end <= first || (end-first)%every != 0) {
		n++ // at the end of the run
	}
	return n
}
