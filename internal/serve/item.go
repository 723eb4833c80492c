package serve

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// item is one of the things that a request asks for: examples for the model, and
// what is made of its outputs.
type item struct {
	work     batching.Work
	examples []seq.Example
	read     []*sequence // while it is under way their documents must not change
	numbers  int         // approximate numbers in the result
	begun    func()      // called when there are jobs; may be nil
	result   func([]sft.Output) (any, error)
	err      error // in place of all that

	jobs []*batching.Job
	ctx  context.Context // context of the jobs
	done func()          // ends watching documents
	held int64           // bytes, until it is closed
}

// What an item takes in memory, about.
const (
	jobBytes    = 512 // beside its tokens
	resultBytes = 512 // beside its numbers
	numberBytes = 16  // with its text
)

// kept is what the result of an item takes until the call is answered.
func (i *item) kept() int64 { return resultBytes + numberBytes*int64(i.numbers) }

// tokens is the work of an item.
func (i *item) tokens() int {
	n := 0
	for k := range i.examples {
		n += batching.Tokens(&i.examples[k])
	}
	return n
}

// places is how many of the jobs that may be under way it is. One with an error is
// one, too: to find that out may have taken as much.
func (i *item) places() int { return max(1, len(i.examples)) }

// planner makes an item of the fields of an object, whose names begin with path in
// errors. Nothing is under way before the item is started.
type planner func(c *call, path string, fields map[string]json.RawMessage) *item

// run answers a request: one object, or each of the list that the field many
// holds.
func (c *call) run(many string, known map[string]bool, planned planner) (any, error) {
	fields, err := c.object("", c.params, known)
	if err != nil {
		return nil, err
	}
	report, err := c.newProgress(fields)
	if err != nil {
		return nil, err
	}
	if list := fields[many]; list != nil {
		for name := range fields {
			if name != many && !slices.Contains(manyFields, name) {
				return nil, badParam(name, "it belongs into each of %s, not beside them", many)
			}
		}
		one := maps.Clone(known) // fields that each element may have
		for _, name := range append(manyFields, many) {
			delete(one, name)
		}
		return c.runMany(many, list, report, func(path string, text json.RawMessage) *item {
			fields, err := c.object(path+".", text, one)
			if err != nil {
				return &item{err: err}
			}
			return c.plan(planned, path+".", fields)
		})
	}
	i := c.plan(planned, "", fields)
	report.begin(1, i.tokens())
	defer report.end()
	c.start(i)
	result, err := c.wait(i)
	if err == nil {
		report.add(i.tokens())
		i.held -= i.kept()
	}
	c.close(i)
	return result, err
}

// plan notes what planning takes.
func (c *call) plan(planned planner, path string, fields map[string]json.RawMessage) *item {
	before := c.bytes
	i := planned(c, path, fields)
	i.held = c.bytes - before
	return i
}

// start submits the jobs of an item, if there is memory for them and the result.
func (c *call) start(i *item) {
	if i.err != nil {
		return
	}
	n := i.kept() + jobBytes*int64(len(i.examples))
	if i.err = c.reserve(n); i.err != nil {
		return
	}
	i.held += n
	i.ctx, i.done = during(c.ctx, i.read...)
	i.jobs = c.session.server.batcher.Submit(i.ctx, &c.session.account, &c.model.Model, i.work, i.examples...)
	if i.begun != nil {
		i.begun()
	}
}

// wait returns the result of an item that was started.
func (c *call) wait(i *item) (any, error) {
	if i.err != nil {
		return nil, i.err
	}
	outputs := make([]sft.Output, len(i.jobs))
	for n, j := range i.jobs {
		var err error
		if outputs[n], err = j.Wait(); err != nil {
			return nil, err
		}
		c.compute += j.Took()
	}
	c.tokens += i.tokens()
	return i.result(outputs)
}

// close gives back what an item took, whether it was waited for or not.
func (c *call) close(i *item) {
	if i.done != nil {
		i.done()
	}
	c.free(i.held)
}
