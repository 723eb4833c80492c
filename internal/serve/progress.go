package serve

import (
	"encoding/json"
	"fmt"
	"time"

	"sftseq/internal/requests"
)

// progress tells the client how far a request is, by tokens. A client asks for it
// by a token of its own, which each message has.
type progress struct {
	call          *call
	work, partial json.RawMessage // nil if not asked for
	total, done   int
	last          time.Time
}

func (c *call) newProgress(fields map[string]json.RawMessage) (*progress, error) {
	for _, name := range manyFields {
		if t := fields[name]; t != nil && t[0] != '"' && t[0] != '-' && (t[0] < '0' || t[0] > '9') {
			return nil, badParam(name, "expected a string or a number, found %s", requests.Kind(t))
		}
	}
	return &progress{call: c, work: fields["workDoneToken"], partial: fields["partialResultToken"]}, nil
}

// workDone is a value of LSP's work done progress; done and total are ours.
type workDone struct {
	Kind        string `json:"kind"`
	Title       string `json:"title,omitempty"`
	Cancellable *bool  `json:"cancellable,omitempty"`
	Message     string `json:"message,omitempty"`
	Percentage  *int   `json:"percentage,omitempty"`
	Done        *int   `json:"done,omitempty"`
	Total       *int   `json:"total,omitempty"`
}

func (p *progress) begin(total int) {
	p.total, p.last = total, time.Now()
	if p.work != nil {
		yes, none := true, 0
		p.send(p.work, workDone{Kind: "begin", Title: p.call.method, Cancellable: &yes, Percentage: &none, Done: &none, Total: &total})
	}
}

// add counts tokens that are done.
func (p *progress) add(tokens int) {
	p.done += tokens
	if p.work == nil || p.done < p.total && time.Since(p.last) < reportEvery {
		return
	}
	p.last = time.Now()
	done, total := p.done, p.total
	percentage := 100 * done / max(1, total)
	p.send(p.work, workDone{Kind: "report", Message: fmt.Sprintf("%d of %d tokens", done, total), Percentage: &percentage, Done: &done, Total: &total})
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
