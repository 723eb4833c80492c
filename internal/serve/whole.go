package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/sft"
)

// extent says where the sequence of an answer comes from, and what was read of it.
type extent struct {
	origin
	Window  *windowed `json:"window,omitempty"`
	Windows []any     `json:"windows,omitempty"`
}

// used is how many tokens were read, where an answer says so: of all windows.
func (x *extent) used(of *int) *int {
	if of == nil || x.Window == nil {
		return of
	}
	return new(x.Window.End - x.Window.Start)
}

// wholeSequence is the sequence of a request, and the window of it that is asked for, or that its
// document has; nil is none.
func (c *call) wholeSequence(path string, fields map[string]json.RawMessage) (*sequence, *window, error) {
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return nil, nil, err
	}
	q.id = fields[idField]
	if q.graph != nil && fields["window"] != nil {
		return nil, nil, badParam(path+"window", featured+": expected no window")
	}
	w, err := parseWindow(path+"window", fields["window"])
	if err != nil {
		return nil, nil, err
	}
	if w == nil && q.document != nil {
		w = q.document.window
	}
	return q, w, nil
}

// wholeItem has the model read a sequence, or the windows of it that are the cuts. What is classify
// or explain. Its result is still to be made.
func (c *call) wholeItem(what batching.Work, q *sequence, w *window) (*item, []cut, error) {
	config := c.model.config
	cuts, err := w.cut(config, q)
	if err != nil {
		return nil, nil, err
	}
	i := &item{work: what, read: []*sequence{q}, numbers: predictionNumbers(config) + idNumbers(q.id)}
	for _, cut := range cuts {
		i.examples = append(i.examples, cut.Example)
		i.numbers += predictionNumbers(config) + windowNumbers
		if what == batching.Explain {
			i.numbers += explanationNumbers(config, cut.First())
		}
	}
	return i, cuts, nil
}

// windowNumbers stand for what a window takes beside its numbers.
const windowNumbers = 64

// predictionNumbers is how many numbers a prediction has: logits, probabilities.
func predictionNumbers(config *sft.Config) int { return 2 * config.NumLabels }

// answerWhole answers a sequence, or the windows that are asked for, with what answer makes of
// the output: of several windows the mean of their logits. Sliding windows are told of one by one,
// as part has them.
func (c *call) answerWhole(q *sequence, w *window, answer func(*requests.Request, sft.Output, extent) (any, error), part func(start, end int, r *requests.Request, o sft.Output) (any, error)) *item {
	i, cuts, err := c.wholeItem(batching.Classify, q, w)
	if err != nil {
		return &item{err: err}
	}
	i.result = func(outputs []sft.Output) (any, error) {
		of := extent{origin: q.origin()}
		if w != nil {
			of.Window = w.read(cuts)
		}
		if w != nil && w.Policy == "sliding" {
			for n, cut := range cuts {
				x, err := part(cut.start, cut.end(), cut.request(cut.First()), outputs[n])
				if err != nil {
					return nil, err
				}
				of.Windows = append(of.Windows, x)
			}
		}
		return answer(q.request(cuts[0]), sft.Output{Logits: meanLogits(outputs)}, of)
	}
	return i
}
