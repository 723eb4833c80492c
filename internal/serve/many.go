package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Limits of a request with a list. A list above maxElements is refused. Above the other limits the next
// elements wait until earlier elements complete, so that a single request takes a bounded part of the
// server's memory and queue.
const (
	maxElements    = 1 << 14 // elements in a list
	maxAheadJobs   = 1 << 12 // pending jobs
	maxAheadTokens = 1 << 20 // tokens of pending jobs
)

// elementResult is the result of one element of a list.
type elementResult struct {
	Index  int    `json:"index"`
	Result any    `json:"result,omitempty"`
	Error  *Error `json:"error,omitempty"`
}

// results is the response to a request with a list. It is empty if the results were sent as partial
// results.
type results struct {
	Results []elementResult `json:"results"`
}

// listFields are the fields by which a client requests progress and partial results. Beside a list, no
// other fields are allowed.
var listFields = []string{"workDoneToken", "partialResultToken"}

// runMany returns the results of a list's elements in order.
func (c *call) runMany(name string, list json.RawMessage, report *progress,
	plan func(path string, text json.RawMessage) *item) (any, error) {
	var texts []json.RawMessage
	var err error
	if stopped := c.do(len(list), func() {
		err = elements(name, list, func(_ int, text json.RawMessage) error {
			texts = append(texts, text)
			return c.reserve(elementBytes)
		})
	}); stopped != nil {
		err = stopped
	}
	if err != nil {
		return nil, err
	}
	return c.runEach(name, texts, report, plan)
}

// runEach plans and computes an item for each text and returns the results in order. name is the name of
// the list in errors.
func (c *call) runEach(name string, texts []json.RawMessage, report *progress,
	plan func(path string, text json.RawMessage) *item) (out results, err error) {
	report.begin(len(texts), 0)
	defer report.end()
	var pending []*item // started items
	defer func() {
		for _, i := range pending {
			c.close(i)
		}
	}()
	out = results{Results: []elementResult{}}
	for n, next, jobs, tokens := 0, 0, 0, 0; n < len(texts); n++ {
		for c.ctx.Err() == nil && next < len(texts) && (len(pending) == 0 || jobs < maxAheadJobs &&
			tokens < maxAheadTokens) {
			i := plan(fmt.Sprintf("%s[%d]", name, next), texts[next])
			c.start(i)
			if errors.Is(i.err, errMemory) && len(pending) > 0 {
				c.close(i)
				break // retried when a pending item completes and frees memory
			}
			pending, next = append(pending, i), next+1
			jobs, tokens = jobs+i.jobSlots(), tokens+i.tokens()
			report.addTotal(i.tokens())
		}
		if len(pending) == 0 {
			return out, context.Cause(c.ctx)
		}
		i := pending[0]
		result, err := c.wait(i)
		if c.ctx.Err() != nil {
			return out, context.Cause(c.ctx)
		}
		x := elementResult{Index: n, Result: result}
		if err != nil {
			x = elementResult{Index: n, Error: asError(err)}
		}
		report.add(i.tokens())
		if report.partialToken != nil {
			report.send(report.partialToken, results{[]elementResult{x}})
		} else {
			out.Results = append(out.Results, x)
			if err == nil {
				i.reservedBytes -= i.resultMemory()
			}
		}
		jobs, tokens = jobs-i.jobSlots(), tokens-i.tokens()
		c.close(i)
		pending = pending[1:]
	}
	return out, nil
}

// reportEvery is the minimum time between two progress reports. The last report is sent without delay.
const reportEvery = 50 * time.Millisecond
