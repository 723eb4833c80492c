package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/seq"
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

// answerWhole answers a sequence, or the windows that are asked for, with what answer makes of
// the output: of several windows the mean of their logits. Sliding windows are told of one by one,
// as part has them.
func (c *call) answerWhole(path string, fields map[string]json.RawMessage, answer func(*requests.Request, sft.Output, extent) (any, error), part func(start, end int, r *requests.Request, o sft.Output) (any, error)) *item {
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return &item{err: err}
	}
	w, err := parseWindow(path+"window", fields["window"])
	if err != nil {
		return &item{err: err}
	}
	if w == nil && q.document != nil {
		w = q.document.window
	}
	config := c.model.config
	cuts, err := w.cut(config, q)
	if err != nil {
		return &item{err: err}
	}
	i := &item{work: batching.Classify, read: []*sequence{q}, numbers: predictionNumbers(config)}
	for _, cut := range cuts {
		i.examples = append(i.examples, seq.Example{A: cut.tokens, Label: seq.NoLabel})
		i.numbers += predictionNumbers(config) + windowNumbers
	}
	i.result = func(outputs []sft.Output) (any, error) {
		of := extent{origin: q.origin()}
		if w != nil {
			of.Window = w.read(cuts)
		}
		if w != nil && w.Policy == "sliding" {
			for n, cut := range cuts {
				r := &requests.Request{Sequences: [][]int32{cut.tokens}, Lengths: []int{len(cut.tokens)}}
				x, err := part(cut.start, cut.start+len(cut.tokens), r, outputs[n])
				if err != nil {
					return nil, err
				}
				of.Windows = append(of.Windows, x)
			}
		}
		whole := &requests.Request{Sequences: [][]int32{cuts[0].tokens}, Lengths: []int{len(q.tokens)}}
		return answer(whole, sft.Output{Logits: meanLogits(outputs)}, of)
	}
	return i
}
