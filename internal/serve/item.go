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

// item is one unit of a request: examples for the model, and a function that makes the result from
// the model's outputs.
type item struct {
	work     batching.Work
	examples []seq.Example
	read     []*sequence // sequences whose documents must not change until the item completes
	numbers  int         // approximate size of the result, in units of numberBytes
	onSubmit func()      // called when the jobs are submitted; may be nil
	result   func([]sft.Output) (any, error)
	err      error // error of planning or starting the item

	jobs          []*batching.Job
	ctx           context.Context // context of the jobs
	release       func()          // cancels ctx and stops watching documents
	reservedBytes int64           // bytes reserved until close
}

// Approximate memory of an item, in bytes.
const (
	jobBytes    = 512 // per job, without tokens
	resultBytes = 512 // per result, without numbers
	numberBytes = 16  // per number, with its JSON text
)

// resultMemory returns the approximate memory of the item's result, in bytes.
func (i *item) resultMemory() int64 { return resultBytes + numberBytes*int64(i.numbers) }

// tokens returns the item's work in tokens.
func (i *item) tokens() int {
	n := 0
	for k := range i.examples {
		n += batching.Tokens(&i.examples[k])
	}
	return n
}

// jobSlots returns the number of pending jobs that the item counts as. An item with an error counts
// as 1, because finding the error may have taken as much work as a job.
func (i *item) jobSlots() int { return max(1, len(i.examples)) }

// planFunc plans an item for the fields of an object. path precedes the field names in errors.
// Planning submits no jobs; start does.
type planFunc func(c *call, path string, fields map[string]json.RawMessage) *item

// run returns the result of a request for a single object, or for a list of objects. listName is the
// name of the field with the list.
func (c *call) run(listName string, known map[string]bool, plan planFunc) (any, error) {
	fields, err := c.object("", c.params, known)
	if err != nil {
		return nil, err
	}
	report, err := c.newProgress(fields)
	if err != nil {
		return nil, err
	}
	if list := fields[listName]; list != nil {
		for name := range fields {
			if name != listName && !slices.Contains(listFields, name) {
				return nil, badParam(name, "expected inside each of %s, found beside them", listName)
			}
		}
		elementFields := maps.Clone(known)
		for _, name := range append(listFields, listName) {
			delete(elementFields, name)
		}
		return c.runMany(listName, list, report, func(path string, text json.RawMessage) *item {
			fields, err := c.object(path+".", text, elementFields)
			if err != nil {
				return &item{err: err}
			}
			return c.plan(plan, path+".", fields)
		})
	}
	i := c.plan(plan, "", fields)
	report.begin(1, i.tokens())
	defer report.end()
	c.start(i)
	result, err := c.wait(i)
	if err == nil {
		report.add(i.tokens())
		i.reservedBytes -= i.resultMemory()
	}
	c.close(i)
	return result, err
}

// plan calls the given planFunc, records in the item how much memory the function has reserved, and
// returns the item.
func (c *call) plan(plan planFunc, path string, fields map[string]json.RawMessage) *item {
	before := c.bytes
	i := plan(c, path, fields)
	i.reservedBytes = c.bytes - before
	return i
}

// start submits the item's jobs after reserving memory for them and the result. Without memory it
// sets the item's error.
func (c *call) start(i *item) {
	if i.err != nil {
		return
	}
	n := i.resultMemory() + jobBytes*int64(len(i.examples))
	if i.err = c.reserve(n); i.err != nil {
		return
	}
	i.reservedBytes += n
	i.ctx, i.release = untilChanged(c.ctx, i.read...)
	i.jobs = c.session.server.batcher.Submit(i.ctx, &c.session.account, &c.model.Model, i.work, i.examples...)
	if i.onSubmit != nil {
		i.onSubmit()
	}
}

// wait waits for the jobs of a started item and returns its result.
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
		c.compute += j.ComputeTime()
	}
	c.tokens += i.tokens()
	return i.result(outputs)
}

// close cancels the item's pending jobs and releases reservedBytes.
func (c *call) close(i *item) {
	if i.release != nil {
		i.release()
	}
	c.free(i.reservedBytes)
}
