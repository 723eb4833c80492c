package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"sftseq/sft"
)

// plainInterval is the time between two lines where no terminal shows a bar.
const plainInterval = 10 * time.Second

// trainProgress tells a person where a run stands: a bar on a terminal, plain
// lines elsewhere.
type trainProgress struct {
	out   io.Writer
	bar   *progressbar.ProgressBar // nil: plain lines
	steps int
	first int // step that this program started at
	start time.Time
	last  time.Time
	state sft.StepReport
}

func newTrainProgress(out io.Writer) *trainProgress { return &trainProgress{out: out} }

// begin announces the run.
func (p *trainProgress) begin(t *sft.Trainer, device string) {
	p.steps, p.first, p.start, p.last = t.Steps(), t.State().Step, time.Now(), time.Now()
	fmt.Fprintf(p.out, "%s, %d steps", device, p.steps)
	if p.first > 0 {
		fmt.Fprintf(p.out, ", resumed at step %d", p.first)
	}
	fmt.Fprintln(p.out)
	if isTerminal(p.out) {
		p.bar = progressbar.NewOptions(p.steps, progressbar.OptionSetWriter(p.out), progressbar.OptionSetWidth(20),
			progressbar.OptionSetPredictTime(true), progressbar.OptionShowCount(), progressbar.OptionThrottle(200*time.Millisecond),
			progressbar.OptionUseANSICodes(true))
	}
}

// observe takes the trainer's events.
func (p *trainProgress) observe(event any) {
	switch e := event.(type) {
	case sft.State:
		p.step(e.Step)
	case sft.StepReport:
		p.state = e
		p.step(e.Step)
	case sft.EvaluationReport:
		p.line(fmt.Sprintf("step %d: validation accuracy %.2f%%, loss %.4f over %d rows%s", e.Step, 100*e.Accuracy, e.Loss, e.Rows, map[bool]string{true: ", the best so far"}[e.Best]))
	case sft.SkipReport:
		p.line(fmt.Sprintf("step %d: no update, its gradient overflows float16; the loss is scaled by %g from now on", e.Step, e.LossScale))
	case sft.Warning:
		p.line("warning: " + string(e))
	case sft.EvaluationProgress:
		if p.bar != nil {
			p.bar.Describe(fmt.Sprintf("validation %d/%d", e.Done, e.Rows))
		} else if time.Since(p.last) >= plainInterval {
			p.line(fmt.Sprintf("validation %d/%d rows", e.Done, e.Rows))
		}
	}
}

func (p *trainProgress) step(n int) {
	s := p.state
	text := fmt.Sprintf("loss %.4f  accuracy %.1f%%  %s tokens/s", s.Loss, 100*s.Accuracy, thousands(s.TokensPerS))
	if s.Step == 0 {
		text = "training"
	}
	if p.bar != nil {
		p.bar.Describe(text)
		// The bar shows progress; that it cannot is no reason to stop training.
		_ = p.bar.Set(n)
		return
	}
	if time.Since(p.last) < plainInterval && n < p.steps {
		return
	}
	left := "unknown"
	if done := n - p.first; done > 0 {
		left = (time.Since(p.start) / time.Duration(done) * time.Duration(p.steps-n)).Round(time.Second).String()
	}
	p.line(fmt.Sprintf("step %d/%d  %s  %s left", n, p.steps, text, left))
}

// line prints a line above the bar.
func (p *trainProgress) line(text string) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.out, text)
	p.last = time.Now()
}

func (p *trainProgress) finish() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

func thousands(v float64) string {
	if v < 10000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1fk", v/1000)
}
