package train

import (
	"fmt"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// redrawn holds the rows that were drawn anew for a step, or an error.
type redrawn struct {
	step     int
	examples []seq.Example
	err      error
}

// nextExamples returns the rows of the next step. If the rows are drawn anew and the device leaves the CPU idle,
// nextExamples also starts to draw the rows of the following step on the CPU.
func (t *Trainer) nextExamples() ([]seq.Example, error) {
	if !t.settings.Fresh {
		rows, _ := t.order.batch(t.state)
		return t.examples(t.train, rows)
	}
	now := redrawn{step: -1}
	if t.ahead != nil {
		now = <-t.ahead
		t.ahead = nil
	}
	if now.step != t.state.Step {
		now = t.redraw(t.state)
	}
	if after := t.state; now.err == nil && t.engine.IdleCPU() && after.Step+1 < t.Steps() {
		after.Step, after.Next = after.Step+1, t.order.next(after)
		ahead := make(chan redrawn, 1)
		t.ahead = ahead
		go func() { ahead <- t.redraw(after) }()
	}
	return now.examples, now.err
}

// redraw draws the rows of the step after state s.
func (t *Trainer) redraw(s State) redrawn {
	rows, epoch := t.order.batch(s)
	out := redrawn{step: s.Step, examples: make([]seq.Example, len(rows))}
	lengths, window := t.train.Lengths(), t.model.Config.ReadWindow()
	out.err = model.TryInParallel(t.engine.Threads(1), len(rows), func(i int) error {
		e := t.options.Redraw(epoch, rows[i])
		e.Index, e.A = rows[i], seq.Cut(window, e.A)
		if want := int(lengths[rows[i]]); e.Length() != want {
			return fmt.Errorf("row %d drawn anew: expected %d tokens, found %d", rows[i], want, e.Length())
		}
		out.examples[i] = e
		if err := t.model.Config.CheckLabelled(e); err != nil {
			return fmt.Errorf("row %d drawn anew: %w", rows[i], err)
		}
		return nil
	})
	return out
}

// awaitRedrawn waits until no rows are being drawn.
func (t *Trainer) awaitRedrawn() {
	if t.ahead != nil {
		<-t.ahead
		t.ahead = nil
	}
}
