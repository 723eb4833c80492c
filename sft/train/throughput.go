package train

import (
	"math"
	"time"
)

// throughput measures the training speed of this process. It excludes the steps before a resume,
// because they may have run on another machine.
type throughput struct {
	interval    tokenRate     // training since the last line of metrics
	recent      tokenRate     // all training of this process, weighted towards recent steps
	fastest     float64       // time per token of the fastest step, in nanoseconds; 0 before the first step
	evaluations int           // number of timed evaluations
	evaluating  time.Duration // time of all evaluations; outliers are replaced
}

// tokenRate is a number of tokens and the time that training on them took.
type tokenRate struct {
	tokens float64
	time   time.Duration
}

func (s *tokenRate) add(tokens int, d time.Duration) {
	s.tokens += float64(tokens)
	s.time += d
}

// perSecond returns tokens per second, always finite because JSON has no infinity.
func (s *tokenRate) perSecond() float64 { return s.tokens / max(s.time, 1).Seconds() }

// averagingTime is the time constant of the moving average of the speed. The average follows
// the changes of speed that stages of short rows and the machine's load cause.
const averagingTime = 30 * time.Second

// outlierFactor limits the time of a step or an evaluation, as a multiple of the expected time: a longer
// time means that the machine slept or the process was stopped.
const outlierFactor = 20

// addStep adds a training step with its tokens and its duration. The moving average limits the duration
// to outlierFactor times the expected duration.
func (p *throughput) addStep(tokens int, d time.Duration) {
	p.interval.add(tokens, d)
	if perToken := float64(d) / float64(max(1, tokens)); perToken > 0 && (p.fastest == 0 || perToken < p.fastest) {
		p.fastest = perToken
	}
	if p.recent.time > 0 && p.recent.tokens > 0 {
		expected := float64(tokens) / p.recent.tokens * float64(p.recent.time)
		d = time.Duration(min(float64(d), outlierFactor*expected))
	}
	keep := math.Exp(-float64(max(d, 0)) / float64(averagingTime))
	p.recent = tokenRate{keep * p.recent.tokens, time.Duration(keep * float64(p.recent.time))}
	p.recent.add(tokens, d)
}

// addEvaluation adds the duration of an evaluation. If the duration is an outlier, addEvaluation adds
// the mean of the earlier evaluations instead.
func (p *throughput) addEvaluation(d time.Duration) {
	if n := p.evaluations; n > 0 && d > outlierFactor*p.evaluating/time.Duration(n) {
		d = p.evaluating / time.Duration(n)
	}
	p.evaluations++
	p.evaluating += d
}

// forwardCost is the approximate cost of scoring a token relative to training on it: a backward
// pass costs twice a forward pass.
const forwardCost = 1. / 3

// evaluation estimates the duration of an evaluation of the given number of tokens. Before the first
// evaluation, the estimate is forwardCost times the speed of the fastest step. The average speed would
// include the warm-up of the first steps and the fixed cost of steps of short rows, and overestimate the
// duration several times.
func (p *throughput) evaluation(tokens int64) time.Duration {
	if n := p.evaluations; n > 0 {
		return p.evaluating / time.Duration(n)
	}
	return time.Duration(forwardCost * p.fastest * float64(tokens))
}

// Left estimates the time to the end of the run, evaluations included. It returns false before the
// first step of this process, because no speed is known. The estimate weights steps by their tokens:
// steps of a stage of short rows take less time. Early stopping by patience is not included.
func (t *Trainer) Left() (time.Duration, bool) {
	if t.throughput.recent.time <= 0 || t.throughput.recent.tokens == 0 {
		return 0, false
	}
	perToken := float64(t.throughput.recent.time) / t.throughput.recent.tokens
	evaluation := t.throughput.evaluation(total(t.val.Lengths()))
	return time.Duration(perToken*t.order.tokens(t.state.Step, t.Steps())) +
		evaluation*time.Duration(t.remainingEvaluations()), true
}

// remainingEvaluations returns the number of evaluations until the end of the run, without early stopping.
func (t *Trainer) remainingEvaluations() int {
	first, every := 0, t.settings.EvalEvery
	if every == 0 {
		first, every = t.settings.StageSteps(), t.order.epochs.PerEpoch()
	}
	upTo := func(step int) int { return max(0, step-first) / every }
	n := upTo(t.Steps()) - upTo(t.state.Evaluated)
	if end := t.Steps(); end > t.state.Evaluated && (end <= first || (end-first)%every != 0) {
		n++ // evaluation at the end of the run
	}
	return n
}
