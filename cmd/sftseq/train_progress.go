package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sftseq/sftseq/sft"
)

// plainInterval is the time between two lines where no terminal shows a bar.
const plainInterval = 10 * time.Second

// trainProgress tells a person where a run stands: a bar on a terminal, plain
// lines elsewhere.
type trainProgress struct {
	out   io.Writer
	bar   *progressbar.ProgressBar // nil: plain lines
	steps int
	left  func() (time.Duration, bool) // the trainer's estimate
	last  time.Time
	state sft.StepReport
}

func newTrainProgress(out io.Writer) *trainProgress { return &trainProgress{out: out} }

// begin announces the run.
func (p *trainProgress) begin(t *sft.Trainer, device string) {
	p.steps, p.left, p.last = t.Steps(), t.Left, time.Now()
	fmt.Fprintf(p.out, "%s, %d steps", device, p.steps)
	if first := t.State().Step; first > 0 {
		fmt.Fprintf(p.out, ", resumed at step %d", first)
	}
	fmt.Fprintln(p.out)
	if isTerminal(p.out) {
		p.bar = newTrainBar(beneath(p.out), p.steps)
	}
}

// newTrainBar is a bar that does not predict the time itself: it would do so by steps,
// which are not alike.
func newTrainBar(out io.Writer, steps int) *progressbar.ProgressBar {
	return progressbar.NewOptions(steps, progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(20),
		progressbar.OptionSetPredictTime(false), progressbar.OptionShowCount(), progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionUseANSICodes(true))
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
		p.line(fmt.Sprintf("step %d: validation accuracy %.2f%%, loss %.4f%s over %d rows%s", e.Step, 100*e.Accuracy, e.Loss, judged(e), e.Rows, map[bool]string{true: ", the best so far"}[e.Best]))
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

// judged is what a model is selected by beside accuracy and loss.
func judged(e sft.EvaluationReport) string {
	switch {
	case e.SelectedBy == "macro-f1":
		return fmt.Sprintf(", macro F1 %.4f", e.MacroF1)
	case e.SelectedBy == "auc" && e.AUC != nil:
		return fmt.Sprintf(", AUC %.4f", *e.AUC)
	}
	return ""
}

func (p *trainProgress) step(n int) {
	s := p.state
	text := fmt.Sprintf("loss %.4f  accuracy %.1f%%  %s tokens/s", s.Loss, 100*s.Accuracy, thousands(s.TokensPerS))
	if s.Step == 0 {
		text = "training"
	}
	text += "  " + p.remaining()
	if p.bar != nil {
		p.bar.Describe(text)
		// The bar shows progress; that it cannot is no reason to stop training.
		_ = p.bar.Set(n)
		return
	}
	if time.Since(p.last) < plainInterval && n < p.steps {
		return
	}
	p.line(fmt.Sprintf("step %d/%d  %s", n, p.steps, text))
}

// remaining is the time left, "8m20s left".
func (p *trainProgress) remaining() string {
	left, known := p.left()
	if !known {
		return "time left unknown"
	}
	return left.Round(time.Second).String() + " left"
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
