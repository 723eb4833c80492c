package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/sft"
)

// Task is the part of a task that the server uses. Package task has an implementation for each task.
type Task interface {
	requests.Task
	// ResponseNumbers returns an estimate of the memory of a prediction for the given number of tokens, in
	// units of 16 bytes (a number and its JSON text).
	ResponseNumbers(tokens int) int
	// HasPositions reports whether predictions have positions in the text.
	HasPositions() bool
	// Method returns the task's JSON-RPC method. Notification returns the notification that pushes
	// a document's prediction, or "" if the task has none.
	Method() string
	Notification() string
	// Published returns the part of a prediction that a notification contains.
	Published(prediction any) any
	// Shape returns an empty prediction, from whose type the JSON schema is generated.
	Shape() any
	// HasWindows reports whether the predictions of a sequence's windows can be combined.
	HasWindows() bool
	// Labels returns the labels; nil for a task without labels.
	Labels() []any
}

// prediction is the result of a prediction method: the reply, and the document and the windows of
// its sequence.
type prediction struct {
	requests.Reply
	extent
}

// MarshalJSON writes both parts as one object.
func (a prediction) MarshalJSON() ([]byte, error) {
	return jsonlines.Join(append(a.Parts(), a.extent)...)
}

// extent is the origin of a sequence and the windows that the model read.
type extent struct {
	origin
	Window  *windowRead        `json:"window,omitempty"`
	Windows []windowPrediction `json:"windows,omitempty"` // sliding windows
}

// windowPrediction is the prediction for one sliding window.
type windowPrediction struct {
	start, end int
	requests.Reply
}

// MarshalJSON omits the reply's token counts, because start and end determine them.
func (w windowPrediction) MarshalJSON() ([]byte, error) {
	position := struct {
		Start int `json:"start"`
		End   int `json:"end"`
	}{w.start, w.end}
	return jsonlines.Join(position, w.Prediction, w.Explained)
}

var predictFields = fieldsOf([]string{""}, append(listFields, "sequences", "window", "explain", idField)...)

// predictOne is the [planFunc] of sequence/classify, sequence/predict, sequence/labels and sequence/tag.
func (c *call) predictOne(path string, fields map[string]json.RawMessage) *item {
	q, w, err := c.sequenceAndWindow(path, fields)
	if err != nil {
		return &item{err: err}
	}
	work, err := c.parseExplain(path+"explain", fields["explain"])
	if err != nil {
		return &item{err: err}
	}
	return c.predictSequence(work, q, w)
}

// predictSequence returns the item for a sequence or its windows. The prediction of several windows
// uses the mean of their logits; each sliding window also has its own prediction. work is Classify
// or Explain.
func (c *call) predictSequence(work batching.Work, q *sequence, w *window) *item {
	i, parts, err := c.sequenceItem(work, q, w)
	if err != nil {
		return &item{err: err}
	}
	first := q.request(parts[0])
	if q.text != nil {
		if err := c.locate(first, q); err != nil {
			return &item{err: err}
		}
	}
	model := c.model
	i.result = func(outputs []sft.Output) (any, error) {
		if shift(outputs, parts); w == nil {
			first.InRow(model.config, outputs[0])
		}
		ext, whole := extent{origin: q.origin()}, outputs[0]
		if w != nil {
			ext.Window = w.describeParts(parts)
		}
		if w != nil && w.Policy == "sliding" {
			for n, cut := range parts {
				reply, err := model.reply(cut.request(cut.First()), outputs[n])
				if err != nil {
					return nil, err
				}
				ext.Windows = append(ext.Windows, windowPrediction{cut.start, cut.end(), reply})
			}
			whole = sft.Output{Logits: meanLogits(outputs)}
		}
		reply, err := model.reply(first, whole)
		if reply.Used != nil && ext.Window != nil { // the tokens of all windows
			reply.Used = new(ext.Window.End - ext.Window.Start)
		}
		return prediction{reply, ext}, err
	}
	return i
}

// sequenceAndWindow returns a request's sequence and its window: the requested window, or else the
// window of the sequence's document. nil means no window.
func (c *call) sequenceAndWindow(path string, fields map[string]json.RawMessage) (*sequence, *window, error) {
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return nil, nil, err
	}
	q.id = fields[idField]
	if q.graph != nil && fields["window"] != nil {
		return nil, nil, badParam(path+"window", featuresOnly+": expected no window")
	}
	if fields["window"] != nil && !c.model.task.HasWindows() {
		return nil, nil, badParam(path+"window", "%s", c.model.windowRefusal())
	}
	w, err := parseWindow(path+"window", fields["window"])
	if err != nil {
		return nil, nil, err
	}
	if w == nil {
		w = c.documentWindow(q)
	}
	return q, w, nil
}

// documentWindow returns the window that the sequence's document was opened with. It returns nil if the
// sequence is not a document, if the document has no window, or if the model's task does not support
// windows (possible after a reload).
func (c *call) documentWindow(q *sequence) *window {
	if q.document == nil || !c.model.task.HasWindows() {
		return nil
	}
	return q.document.window
}

// sequenceItem returns the item for a sequence or its windows, and the parts of the sequence that the
// item computes. work is Classify or Explain. The caller sets the item's result.
func (c *call) sequenceItem(work batching.Work, q *sequence, w *window) (*item, []windowPart, error) {
	config := c.model.config
	if w == nil {
		if err := c.reserveCut(q.length()); err != nil {
			return nil, nil, err
		}
	}
	parts, err := w.parts(config, q)
	if err != nil {
		return nil, nil, err
	}
	i := &item{work: work, read: []*sequence{q}, numbers: c.model.task.ResponseNumbers(parts[0].First()) +
		idNumbers(q.id)}
	for _, cut := range parts {
		i.examples = append(i.examples, cut.Example)
		if w != nil {
			i.numbers += c.model.task.ResponseNumbers(cut.First()) + windowNumbers
		}
		if work == batching.Explain {
			tokens := cut.First()
			if w == nil {
				tokens = c.explanationTokens(tokens, q.length())
			}
			i.numbers += c.model.Scorer.ExplanationNumbers(tokens)
		}
	}
	return i, parts, nil
}

// windowNumbers is the memory of a window's fields besides its prediction, in units of numberBytes.
const windowNumbers = 64
