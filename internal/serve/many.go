package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Limits of a request of many. What is beyond the first one is refused; what is
// beyond the others waits until something that came before is done, so that a
// request takes no more of the server than that, whatever it asks for.
const (
	maxMany        = 1 << 14 // elements of a list
	maxAheadJobs   = 1 << 12 // under way
	maxAheadTokens = 1 << 20 // the same
)

// indexed is a result among those of a request of many.
type indexed struct {
	Index  int    `json:"index"`
	Result any    `json:"result,omitempty"`
	Error  *Error `json:"error,omitempty"`
}

// results answer a request of many. Where partial results were asked for they
// have been sent, and there are none.
type results struct {
	Results []indexed `json:"results"`
}

// manyFields are the fields of a request that may hold many.
var manyFields = []string{"workDoneToken", "partialResultToken"}

// runMany answers each of a list, in its order.
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

// runEach answers each of texts, in their order; name is that of their list.
func (c *call) runEach(name string, texts []json.RawMessage, report *progress,
	plan func(path string, text json.RawMessage) *item) (out results, err error) {
	report.begin(len(texts), 0)
	defer report.end()
	var ahead []*item // under way
	defer func() {
		for _, i := range ahead {
			c.close(i)
		}
	}()
	out = results{Results: []indexed{}}
	for n, next, jobs, tokens := 0, 0, 0, 0; n < len(texts); n++ {
		for c.ctx.Err() == nil && next < len(texts) && (len(ahead) == 0 || jobs < maxAheadJobs &&
			tokens < maxAheadTokens) {
			i := plan(fmt.Sprintf("%s[%d]", name, next), texts[next])
			c.start(i)
			if errors.Is(i.err, errMemory) && len(ahead) > 0 {
				c.close(i)
				break // there is more when what is under way is done
			}
			ahead, next = append(ahead, i), next+1
			jobs, tokens = jobs+i.places(), tokens+i.tokens()
			report.found(i.tokens())
		}
		if len(ahead) == 0 {
			return out, context.Cause(c.ctx)
		}
		i := ahead[0]
		result, err := c.wait(i)
		if c.ctx.Err() != nil {
			return out, context.Cause(c.ctx)
		}
		x := indexed{Index: n, Result: result}
		if err != nil {
			x = indexed{Index: n, Error: asError(err)}
		}
		report.add(i.tokens())
		if report.partial != nil {
			report.send(report.partial, results{[]indexed{x}})
		} else {
			out.Results = append(out.Results, x)
			if err == nil {
				i.held -= i.kept()
			}
		}
		jobs, tokens = jobs-i.places(), tokens-i.tokens()
		c.close(i)
		ahead = ahead[1:]
	}
	return out, nil
}

// reportEvery is the least time between two reports of progress.
const reportEvery = 50 * time.Millisecond
