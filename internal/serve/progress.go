package serve

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// progress reports the progress of a request. The client requests it with a token, which each
// message repeats.
type progress struct {
	call          *call
	work, partial json.RawMessage // tokens; nil if not requested
	elements, of  int             // number of finished elements and of all elements
	done, total   int             // finished tokens, and tokens of the elements planned so far
	last          time.Time
}

func (c *call) newProgress(fields map[string]json.RawMessage) (*progress, error) {
	for _, name := range manyFields {
		if _, web := c.session.frames.(silence); web && fields[name] != nil {
			return nil, badParam(name, "HTTP returns a single response: progress and partial results require JSON-RPC")
		}
		if t := fields[name]; t != nil && t[0] != '"' && t[0] != '-' && (t[0] < '0' || t[0] > '9') {
			return nil, badParam(name, "expected a string or a number, found %s", jsonlines.Kind(t))
		}
	}
	return &progress{call: c, work: fields["workDoneToken"], partial: fields["partialResultToken"]}, nil
}

// workDone is a value of LSP's work done progress; the fields done and total are extensions.
type workDone struct {
	Kind        string `json:"kind"`
	Title       string `json:"title,omitempty"`
	Cancellable *bool  `json:"cancellable,omitempty"`
	Message     string `json:"message,omitempty"`
	Percentage  *int   `json:"percentage,omitempty"`
	Done        *int   `json:"done,omitempty"`
	Total       *int   `json:"total,omitempty"`
}

// begin reports the number of elements of a request. total is the number of tokens, or 0 if it is
// found later.
func (p *progress) begin(elements, total int) {
	p.of, p.total, p.last = elements, total, time.Now()
	if p.work != nil {
		yes, none := true, 0
		value := workDone{Kind: "begin", Title: p.call.method, Cancellable: &yes, Percentage: &none, Done: &none}
		if total > 0 {
			value.Total = &total
		}
		p.send(p.work, value)
	}
}

// found adds the tokens of a planned element to the total. Planning all elements first would delay
// the first result.
func (p *progress) found(tokens int) { p.total += tokens }

// add counts a finished element and its tokens, and reports progress.
func (p *progress) add(tokens int) {
	p.done += tokens
	p.elements++
	if p.work == nil || p.elements < p.of && time.Since(p.last) < reportEvery {
		return
	}
	p.last = time.Now()
	// The percentage counts elements, so that it does not fall when more tokens are found.
	done, total, percentage := p.done, p.total, 100*p.elements/p.of
	p.send(p.work, workDone{Kind: "report", Message: fmt.Sprintf("%d of %d tokens", done, total),
		Percentage: &percentage, Done: &done, Total: &total})
}

func (p *progress) end() {
	if p.work != nil {
		p.send(p.work, workDone{Kind: "end"})
	}
}

func (p *progress) send(token json.RawMessage, value any) {
	p.call.session.notify("$/progress", struct {
		Token json.RawMessage `json:"token"`
		Value any             `json:"value"`
	}{token, value})
}
