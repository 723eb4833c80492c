package serve

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// windowPolicies are the policies by which a client may select parts of a long sequence.
var windowPolicies = []string{"head", "tail", "sliding"}

// window selects parts of a sequence that is longer than Length. Without a window, only the model's
// input window shortens sequences.
type window struct {
	Policy string `json:"policy"`
	Length int    `json:"length"` // tokens per part; 0 means the model's maximum
	Stride int    `json:"stride"` // tokens between the starts of sliding windows; 0 means half the length
}

// windowParams is a window as the client writes it, with nil for absent fields.
type windowParams struct {
	Policy *string `json:"policy"`
	Length *int    `json:"length"`
	Stride *int    `json:"stride"`
}

// windowRefusal returns the error text for a window if the model's task does not support windows.
func (m *served) windowRefusal() string {
	return fmt.Sprintf("the task %s does not support windows: expected no window", m.config.Task)
}

// maxWindows is the maximum number of windows per sequence.
const maxWindows = 1 << 12

func parseWindow(path string, value json.RawMessage) (*window, error) {
	if value == nil {
		return nil, nil
	}
	var p windowParams
	if err := unmarshalKnown(path, value, &p, "policy", "length", "stride"); err != nil {
		return nil, err
	}
	var w window
	for _, n := range []struct {
		name          string
		value, target *int
	}{{"length", p.Length, &w.Length}, {"stride", p.Stride, &w.Stride}} {
		if n.value == nil {
			continue
		}
		if *n.value < 1 {
			return nil, badParam(path+"."+n.name, "expected at least 1 token, found %d", *n.value)
		}
		*n.target = *n.value
	}
	switch {
	case p.Policy == nil:
		return nil, badParam(path+".policy", "expected one of %s, found none", jsonlines.QuoteNames(windowPolicies))
	case !slices.Contains(windowPolicies, *p.Policy):
		return nil, badParam(path+".policy", "expected one of %s, found %.40q",
			jsonlines.QuoteNames(windowPolicies), *p.Policy)
	}
	if w.Policy = *p.Policy; w.Stride > 0 && w.Policy != "sliding" {
		return nil, badParam(path+".stride", "expected only with the policy sliding, found with %q", w.Policy)
	}
	return &w, nil
}

// windowPart is a part of a sequence. With a window, the part is contiguous, and start is the index of its
// first token. Without a window, start is 0, and the part has the tokens that the model's input window
// selects, or the whole graph.
type windowPart struct {
	start int
	seq.Example
}

// tokensPart returns a part of a token sequence.
func tokensPart(start int, tokens []int32) windowPart {
	return windowPart{start, seq.Example{A: tokens, Label: seq.NoLabel}}
}

// end returns the index after the last token.
func (x windowPart) end() int { return x.start + x.First() }

// request returns the request for this part. length is the number of tokens of the whole sequence.
func (x windowPart) request(length int) *requests.Request {
	return &requests.Request{Sequences: [][]int32{x.A}, Features: x.Features, Edges: x.Edges, Lengths: []int{length}}
}

// request returns the request for the first part of the sequence, with the sequence's id.
func (q *sequence) request(first windowPart) *requests.Request {
	r := first.request(q.length())
	r.ID = q.id
	return r
}

// longest returns the maximum number of tokens that a model reads of a sequence.
func longest(c *sft.Config) int {
	if w := c.InputWindow; w != nil {
		return min(w.Length, c.MaxLength)
	}
	return c.MaxLength
}

// parts returns the parts of a sequence that the model reads. For a nil window it returns one part
// with the tokens that the command predict would read.
func (w *window) parts(c *sft.Config, q *sequence) ([]windowPart, error) {
	switch {
	case q.graph != nil:
		return []windowPart{{0, q.graph.Example()}}, nil
	case w == nil:
		used, err := q.tokensRead(c)
		return []windowPart{tokensPart(0, used)}, err
	}
	tokens := q.tokens
	length := w.Length
	if length == 0 {
		length = longest(c)
	}
	if length > longest(c) {
		return nil, badParam("window.length", "expected at most the %d tokens that the model accepts, found %d",
			longest(c), length)
	}
	stride := w.Stride
	if stride == 0 {
		stride = max(1, length/2)
	}
	if stride > length {
		return nil, badParam("window.stride",
			"expected at most %d tokens, the length of a window, so that no token is skipped; found %d", length, stride)
	}
	n := len(tokens)
	var cuts []windowPart
	switch {
	case n <= length:
		cuts = []windowPart{tokensPart(0, tokens)}
	case w.Policy == "head":
		cuts = []windowPart{tokensPart(0, tokens[:length])}
	case w.Policy == "tail":
		cuts = []windowPart{tokensPart(n-length, tokens[n-length:])}
	default:
		if count := (n-length-1)/stride + 2; count > maxWindows {
			return nil, badParam("window.stride", "expected at most %d windows, found %d for %d tokens", maxWindows,
				count, n)
		}
		for start := 0; start+length < n; start += stride {
			cuts = append(cuts, tokensPart(start, tokens[start:start+length]))
		}
		cuts = append(cuts, tokensPart(n-length, tokens[n-length:])) // the last window ends at the last token
	}
	for _, x := range cuts {
		if err := c.CheckTokens(x.A); err != nil {
			return nil, badParam(q.field, "%v", err)
		}
	}
	return cuts, nil
}

// windowRead describes the parts of a sequence that a window selected.
type windowRead struct {
	Policy string `json:"policy"`
	Start  int    `json:"start"` // index of the first token read
	End    int    `json:"end"`   // index after the last token read
	Count  int    `json:"count"` // number of parts
}

// describeParts returns the description of the parts that the model read.
func (w *window) describeParts(cuts []windowPart) *windowRead {
	last := cuts[len(cuts)-1]
	return &windowRead{Policy: w.Policy, Start: cuts[0].start, End: last.end(), Count: len(cuts)}
}

// meanLogits returns the mean logits of the outputs.
func meanLogits(outputs []sft.Output) []float32 {
	if len(outputs) == 1 {
		return outputs[0].Logits
	}
	mean := make([]float64, len(outputs[0].Logits))
	for _, o := range outputs {
		for k, v := range o.Logits {
			mean[k] += float64(v) / float64(len(outputs))
		}
	}
	logits := make([]float32, len(mean))
	for k, v := range mean {
		logits[k] = float32(v)
	}
	return logits
}
