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

var addFields = fieldsOf([]string{""}, append(manyFields, "items", "id")...)

// added answers retrieval/add.
type added struct {
	ID     string `json:"id"`
	Length int    `json:"length"`
	origin
}

// add is retrieval/add: an item, or many, which go into the index in their order.
// An item of a known id is replaced. The answer comes when the items are on the
// disk; once a request is answered, also by an error, it adds nothing more.
func (c *call) add() (any, error) {
	a := &adding{call: c, queue: make(chan *addition, maxAdditions), done: make(chan struct{})}
	go a.store()
	defer func() {
		close(a.queue)
		<-a.done
	}()
	return c.run("items", addFields, a.prepare)
}

// adding is a request that adds. What is embedded is handed to the index without
// waiting for the disk, so that many items share a synchronisation.
type adding struct {
	call  *call
	queue chan *addition
	done  chan struct{} // closed when the queue has been stored
}

// maxAdditions is how many items of a request may be under way.
const maxAdditions = 1024

// addition is an item on its way into the index.
type addition struct {
	id      string
	request *requests.Request
	ctx     context.Context // context of its job
	job     *batching.Job
	stored  chan func() error // waits for the disk
}

func (a *adding) prepare(c *call, path string, fields map[string]json.RawMessage) *item {
	id, err := itemID(path+"id", fields["id"])
	if err != nil {
		return &item{err: err}
	}
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return &item{err: err}
	}
	r, err := c.fit(q)
	if err != nil {
		return &item{err: err}
	}
	x := &addition{id: id, request: r, stored: make(chan func() error, 1)}
	i := &item{work: batching.Embed, examples: []seq.Example{{A: r.Sequences[0]}}, read: []*sequence{q}}
	i.begun = func() {
		x.ctx, x.job = i.ctx, i.jobs[0]
		a.queue <- x
	}
	i.result = func([]sft.Output) (any, error) {
		if err := (<-x.stored)(); err != nil {
			return nil, err
		}
		return added{ID: id, Length: len(q.tokens), origin: q.origin()}, nil
	}
	return i
}

// store puts the items into the index, in their order, and waits for the last, as
// nobody else may.
func (a *adding) store() {
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
	last() // the index has written all earlier items; each reports its own failure
}

// begin has the index add the item once it is embedded.
func (x *addition) begin(c *call) (wait func() error, err error) {
	out, err := x.job.Wait()
	if err != nil {
		return nil, err
	}
	// One of many that are cancelled may have ended before others, whose contexts do
	// not end at one time: behind the first that stays out all must.
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
