package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft/train"
)

// plainInterval is the minimum time between a progress line and the line before it if the output is not a
// terminal. The progress line of the last step is always printed.
const plainInterval = 10 * time.Second

// trainProgress shows the progress of a run: a bar on a terminal, otherwise lines.
type trainProgress struct {
	out      io.Writer
	bar      *progressbar.ProgressBar // nil if plain lines are written
	steps    int
	timeLeft func() (time.Duration, bool) // the trainer's estimate
	lastLine time.Time
	state    train.StepReport
	paper    bool // the preset is the published preset, which is meant for a GPU
	warned   bool // warnLong has checked the first known estimate
	// frequencies is the cross-entropy of the token frequencies on masked tokens in bits, or 0
	// without masked tokens.
	frequencies float64
}

func newTrainProgress(out io.Writer) *trainProgress { return &trainProgress{out: out} }

// begin prints the device, the number of ranks and the length of the run.
func (p *trainProgress) begin(t *train.Trainer, hardware string) {
	p.steps, p.timeLeft, p.lastLine = t.Steps(), t.Left, time.Now()
	fmt.Fprintf(p.out, "%s, %s", hardware, countOf(p.steps, "step"))
	if first := t.State().Step; first > 0 {
		fmt.Fprintf(p.out, ", resumed at step %d", first)
	}
	fmt.Fprintln(p.out)
	if isTerminal(p.out) {
		p.bar = newTrainBar(unwrapWriter(p.out), p.steps)
	}
}

// newTrainBar returns a bar without the library's estimate of the time left, which assumes steps of
// equal duration.
func newTrainBar(out io.Writer, steps int) *progressbar.ProgressBar {
	return progressbar.NewOptions(steps, progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(20),
		progressbar.OptionSetPredictTime(false), progressbar.OptionShowCount(),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionUseANSICodes(true))
}

// observe handles an event of the trainer.
func (p *trainProgress) observe(event any) {
	switch e := event.(type) {
	case train.State:
		p.step(e.Step)
	case train.StepReport:
		p.state = e
		p.step(e.Step)
	case train.EvaluationReport:
		scores := ""
		switch {
		case e.Accuracy != nil:
			scores = fmt.Sprintf("accuracy %.2f%%, ", 100**e.Accuracy)
			if e.SpanF1 != nil || e.InstanceIoU != nil {
				scores = "token " + scores
			}
		case e.Thresholds != nil:
			scores = fmt.Sprintf("macro F1 %s, mean average precision %s, ",
				task.OrNone(e.MacroF1), task.OrNone(e.MAP))
		case e.R2 != nil:
			scores = fmt.Sprintf("R² %.4f, ", *e.R2)
		case e.BitsPerToken != nil:
			scores = fmt.Sprintf("bits per token %.4f (token frequencies %.4f), ", *e.BitsPerToken, p.frequencies)
		}
		best := ""
		if e.Best {
			best = ", the best so far"
		}
		p.line(fmt.Sprintf("step %d: validation %sloss %.4f%s over %s%s", e.Step, scores, e.Loss,
			selectionScores(e), countRows(e.Rows), best))
	case train.SkipReport:
		p.line(fmt.Sprintf("step %d: skipped the update, because its gradient overflowed float16; the loss scale is "+
			"now %g",
			e.Step, e.LossScale))
	case train.Warning:
		p.line("warning: " + string(e))
	case train.EvaluationProgress:
		if p.bar != nil {
			p.bar.Describe(fmt.Sprintf("validation %d/%d", e.Done, e.Rows))
		} else if time.Since(p.lastLine) >= plainInterval {
			p.line(fmt.Sprintf("validation %d/%d rows", e.Done, e.Rows))
		}
	}
}

// selectionScores formats the validation scores that follow the loss: IoU or span F1 of tags, or the
// score by which --select macro-f1, mae, auc or scaled-loss selects a model. It returns "" if there are none.
func selectionScores(e train.EvaluationReport) string {
	switch {
	case e.InstanceIoU != nil:
		return fmt.Sprintf(", instance IoU %.4f, class IoU %.4f", *e.InstanceIoU, *e.ClassIoU)
	case e.SpanF1 != nil:
		return fmt.Sprintf(", macro F1 %.4f, span F1 %.4f (IoU≥0.5: %.4f)", *e.MacroF1, *e.SpanF1, *e.SpanF1AtIoU50)
	case e.SelectedBy == "macro-f1" && e.Thresholds == nil:
		return fmt.Sprintf(", macro F1 %.4f", *e.MacroF1)
	case e.SelectedBy == "mae" && e.MAE != nil:
		return fmt.Sprintf(", MAE %.4f", *e.MAE)
	case e.ScaledLoss != nil:
		return fmt.Sprintf(", after temperature scaling %.4f,", *e.ScaledLoss)
	case e.SelectedBy == "auc" && e.AUC != nil:
		return fmt.Sprintf(", AUC %.4f", *e.AUC)
	}
	return ""
}

// longRun is the minimum estimated duration for which a run causes a warning.
const longRun = 24 * time.Hour

// warnLong checks the first known estimate of the remaining time, and prints a warning if it is at
// least longRun.
func (p *trainProgress) warnLong() {
	left, known := p.timeLeft()
	if p.warned || !known {
		return
	}
	if p.warned = true; left < longRun {
		return
	}
	text := fmt.Sprintf("warning: at this speed the run takes about %s", roundTime(left))
	if p.paper {
		text += ": the preset paper needs a GPU (use quick or hour on two cores)"
	}
	p.line(text)
}

func (p *trainProgress) step(n int) {
	p.warnLong()
	s := p.state
	text := fmt.Sprintf("loss %.4f  ", s.Loss)
	if s.Accuracy != nil {
		text += fmt.Sprintf("accuracy %.1f%%  ", 100**s.Accuracy)
	}
	text += thousands(s.TokensPerS) + " tokens/s"
	if s.Step == 0 {
		text = "training"
	}
	if r := s.Ranks; r != nil {
		text += fmt.Sprintf("  %.1f of %d ranks busy, %.0f%% exchange", r.Busy, r.Ranks, 100*r.Exchange)
	}
	text += "  " + p.remaining()
	if p.bar != nil {
		p.bar.Describe(text)
		// A drawing error must not stop training.
		_ = p.bar.Set(n)
		return
	}
	if time.Since(p.lastLine) < plainInterval && n < p.steps {
		return
	}
	p.line(fmt.Sprintf("step %d/%d  %s", n, p.steps, text))
}

// remaining formats the remaining time, such as "8m20s left".
func (p *trainProgress) remaining() string {
	left, known := p.timeLeft()
	if !known {
		return "time left unknown"
	}
	return roundTime(left) + " left"
}

// line prints a line, above the bar if there is one.
func (p *trainProgress) line(text string) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.out, text)
	p.lastLine = time.Now()
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

// minAfterBest is the minimum number of evaluations after the best for which describeBest describes the
// best model of a run that was not stopped early.
const minAfterBest = 3

// describeBest describes a run that --patience stopped early, or a run whose best model is from its
// first half, because the model then overfitted or stopped learning. Otherwise it returns "".
func describeBest(s train.State, patience, steps int) string {
	if patience > 0 && s.SinceBest >= patience && s.Step < steps {
		return fmt.Sprintf("stopped early at step %d of %d: none of the last %d evaluations was better (--patience 0 trains to the end)", s.Step, steps, s.SinceBest)
	}
	if s.SinceBest < minAfterBest || 2*s.BestStep > s.Step {
		return ""
	}
	text := fmt.Sprintf("the saved model is from step %d: none of the %d later evaluations was better", s.BestStep,
		s.SinceBest)
	if patience == 0 {
		text += " (end such runs earlier with --patience N)"
	}
	return text
}

// fewValidationRows is the number of validation rows below which an accuracy is coarse.
const fewValidationRows = 100

// describeResolution describes the resolution of an accuracy on few validation rows, or returns "" for
// many rows.
func describeResolution(rows int) string {
	if rows >= fewValidationRows {
		return ""
	}
	return fmt.Sprintf("validation has only %s, so one row changes the accuracy by "+
		"%.1f percentage points", countRows(rows), 100/float64(rows))
}
