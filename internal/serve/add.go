package serve

import (
	"context"
	"encoding/json"

	"github.com/sftseq/sftseq/internal/index"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

var addFields = fieldsOf([]string{""}, append(listFields, "items", "id")...)

// addResult is the result of retrieval/add.
type addResult struct {
	ID     string `json:"id"`
	Length int    `json:"length"`
	origin
}

// add implements retrieval/add. It adds one item, or several items in order, to the index and
// replaces items with the same ids. The response is sent when the items are on disk. After the
// response, even an error, nothing more is added.
func (c *call) add() (any, error) {
	a := &addRequest{call: c, queue: make(chan *itemToAdd, maxAdditions), done: make(chan struct{})}
	go a.store()
	defer func() {
		close(a.queue)
		<-a.done
	}()
	return c.run("items", addFields, a.planItem)
}

// addRequest is a running retrieval/add request. Embedded items are passed to the index without
// waiting for the disk, so that many items share one fsync.
type addRequest struct {
	call  *call
	queue chan *itemToAdd
	done  chan struct{} // closed when store returns
}

// maxAdditions is the maximum number of submitted items in the queue of a request.
const maxAdditions = 1024

// itemToAdd is an item to be added to the index.
type itemToAdd struct {
	id      string
	request *requests.Request
	ctx     context.Context // the job's context
	job     *batching.Job
	stored  chan func() error // receives a function that waits for the disk
}

func (a *addRequest) planItem(c *call, path string, fields map[string]json.RawMessage) *item {
	id, err := itemID(path+"id", fields["id"])
	if err != nil {
		return &item{err: err}
	}
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return &item{err: err}
	}
	r, err := c.requestOf(q)
	if err != nil {
		return &item{err: err}
	}
	x := &itemToAdd{id: id, request: r, stored: make(chan func() error, 1)}
	i := &item{work: batching.Embed, examples: []seq.Example{{A: r.Sequences[0]}}, read: []*sequence{q}}
	i.onSubmit = func() {
		x.ctx, x.job = i.ctx, i.jobs[0]
		a.queue <- x
	}
	i.result = func([]sft.Output) (any, error) {
		if err := (<-x.stored)(); err != nil {
			return nil, err
		}
		return addResult{ID: id, Length: len(q.tokens), origin: q.origin()}, nil
	}
	return i
}

// store adds the items to the index in order and waits until the last item is on disk.
func (a *addRequest) store() {
	defer close(a.done)
	last := func() error { return nil }
	for x := range a.queue {
		wait, err := x.begin(a.call)
		if err != nil {
			wait = func() error { return err }
		} else {
			last = wait
		}
		x.stored <- wait
	}
	last() // the index writes in order; each item reports its own error
}

// begin waits for the item's embedding and hands the item to the index. The returned function waits
// until the item is on disk.
func (x *itemToAdd) begin(c *call) (wait func() error, err error) {
	out, err := x.job.Wait()
	if err != nil {
		return nil, err
	}
	// The contexts of cancelled items end at different times. After the first cancelled
	// item, no later item may be added.
	for _, ctx := range []context.Context{c.ctx, x.ctx} {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if _, err := requests.NewEmbedding(c.model.config, x.request, out.Embeddings); err != nil {
		return nil, err
	}
	written := c.session.server.index.Add(index.Item{ID: x.id, Tokens: x.request.Sequences[0],
		Vector: out.Embeddings[0]})
	return func() error {
		if err := written(); err != nil {
			return indexFailed(err)
		}
		return nil
	}, nil
}
