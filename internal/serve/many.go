package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/creachadair/jrpc2"

	"sftseq/sft"
)

// maxMany is how many sequences a request may hold.
const maxMany = 1 << 14

// item is one of the things that a request asks for: jobs, and what is made of
// their outputs.
type item struct {
	jobs   []*job
	done   func() // ends watching documents
	result func([]sft.Output) (any, error)
	err    error // in place of all that
}

// close ends an item, whether it was waited for or not.
func (i *item) close() {
	if i.done != nil {
		i.done()
	}
}

// tokens is the work of an item.
func (i *item) tokens() int {
	n := 0
	for _, j := range i.jobs {
		n += j.tokens()
	}
	return n
}

// wait returns an item's result.
func (c *call) wait(i *item) (any, error) {
	if i.err != nil {
		return nil, i.err
	}
	outputs := make([]sft.Output, len(i.jobs))
	for n, j := range i.jobs {
		var err error
		if outputs[n], err = j.wait(); err != nil {
			return nil, err
		}
		c.compute += j.compute
	}
	return i.result(outputs)
}

// indexed is a result among those of a request of many.
type indexed struct {
	Index  int          `json:"index"`
	Result any          `json:"result,omitempty"`
	Error  *jrpc2.Error `json:"error,omitempty"`
}

// results answer a request of many. Where partial results were asked for they
// have been sent, and there are none.
type results struct {
	Results []indexed `json:"results"`
}

// manyFields are the fields of a request that may hold many.
var manyFields = []string{"workDoneToken", "partialResultToken"}

// run answers a request: one object, or each of the list that the field many
// holds. Prepare starts the work for one object.
func (c *call) run(many string, known map[string]bool, prepare func(path string, fields map[string]json.RawMessage) *item) (any, error) {
	fields, err := object("", c.params, known)
	if err != nil {
		return nil, err
	}
	report, err := c.newProgress(fields)
	if err != nil {
		return nil, err
	}
	list := fields[many]
	if list == nil {
		i := prepare("", fields)
		defer i.close()
		report.begin(i.tokens())
		defer report.end()
		result, err := c.wait(i)
		if err == nil {
			report.add(i.tokens())
		}
		return result, err
	}
	var texts []json.RawMessage
	if err := unmarshal(many, list, &texts, "a list"); err != nil {
		return nil, err
	}
	if len(texts) > maxMany {
		return nil, badParam(many, "expected at most %d, found %d", maxMany, len(texts))
	}
	items, total := make([]*item, len(texts)), 0
	for n, text := range texts {
		path := fmt.Sprintf("%s[%d]", many, n)
		if fields, err := object(path, text, known); err != nil {
			items[n] = &item{err: err}
		} else if fields[many] != nil {
			items[n] = &item{err: badParam(path+"."+many, "a list within a list")}
		} else {
			items[n] = prepare(path+".", fields)
		}
		total += items[n].tokens()
	}
	defer func() {
		for _, i := range items {
			i.close()
		}
	}()
	report.begin(total)
	defer report.end()
	out := results{Results: []indexed{}}
	for n, i := range items {
		result, err := c.wait(i)
		if c.ctx.Err() != nil {
			return nil, errors.Join(c.ctx.Err(), err)
		}
		x := indexed{Index: n, Result: result}
		if err != nil {
			x = indexed{Index: n, Error: asError(err)}
		}
		report.add(i.tokens())
		if report.partial == nil {
			out.Results = append(out.Results, x)
		} else {
			report.send(report.partial, results{[]indexed{x}})
		}
	}
	return out, nil
}

// reportEvery is the least time between two reports of progress.
const reportEvery = 50 * time.Millisecond
