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
	call                        *call
	workToken, partialToken     json.RawMessage // tokens; nil if not requested
	doneElements, totalElements int             // number of finished elements and of all elements
	doneTokens, totalTokens     int             // finished tokens, and tokens of the elements planned so far
	last                        time.Time
}

func (c *call) newProgress(fields map[string]json.RawMessage) (*progress, error) {
	for _, name := range listFields {
		if _, web := c.session.frames.(noFrames); web && fields[name] != nil {
			return nil, badParam(name, "HTTP returns a single response: progress and partial results require JSON-RPC")
		}
		if t := fields[name]; t != nil && t[0] != '"' && t[0] != '-' && (t[0] < '0' || t[0] > '9') {
			return nil, badParam(name, "expected a string or a number, found %s", jsonlines.Kind(t))
		}
	}
	return &progress{call: c, workToken: fields["workDoneToken"], partialToken: fields["partialResultToken"]}, nil
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

// begin starts the reports for a request with the given number of elements. total is the number of
// tokens, or 0 if addTotal will count them.
func (p *progress) begin(elements, total int) {
	p.totalElements, p.totalTokens, p.last = elements, total, time.Now()
	if p.workToken != nil {
		yes, none := true, 0
		value := workDone{Kind: "begin", Title: p.call.method, Cancellable: &yes, Percentage: &none, Done: &none}
		if total > 0 {
			value.Total = &total
		}
		p.send(p.workToken, value)
	}
}

// addTotal adds the tokens of a planned element to the total. The total is not known from the
// beginning, because planning all elements first would delay the first result.
func (p *progress) addTotal(tokens int) { p.totalTokens += tokens }

// add counts a finished element and its tokens. If the client requested reports, it sends one after the
// last element and at most one per reportEvery before.
func (p *progress) add(tokens int) {
	p.doneTokens += tokens
	p.doneElements++
	if p.workToken == nil || p.doneElements < p.totalElements && time.Since(p.last) < reportEvery {
		return
	}
	p.last = time.Now()
	// The percentage counts elements, so that it does not fall when more tokens are found.
	done, total, percentage := p.doneTokens, p.totalTokens, 100*p.doneElements/p.totalElements
	p.send(p.workToken, workDone{Kind: "report", Message: fmt.Sprintf("%d of %d tokens", done, total),
		Percentage: &percentage, Done: &done, Total: &total})
}

func (p *progress) end() {
	if p.workToken != nil {
		p.send(p.workToken, workDone{Kind: "end"})
	}
}

func (p *progress) send(token json.RawMessage, value any) {
	p.call.session.notify("$/progress", struct {
		Token json.RawMessage `json:"token"`
		Value any             `json:"value"`
	}{token, value})
}
