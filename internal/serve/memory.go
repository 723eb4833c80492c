package serve

import (
	"errors"
	"sync/atomic"
)

// memory bounds what all clients together have the server keep: messages that
// wait for an answer, what answering them takes, and documents. What the model
// takes is beside it.
type memory struct {
	limit int64
	used  atomic.Int64
}

// take reserves n bytes; false if they are beyond the limit.
func (m *memory) take(n int64) bool {
	if m.used.Add(n) > m.limit {
		m.used.Add(-n)
		return false
	}
	return true
}

func (m *memory) give(n int64) { m.used.Add(-n) }

// errMemory is among the errors of what there is no memory for.
var errMemory = errors.New("there is no memory")

// reserve takes bytes for what a call holds until it is answered, or until they
// are given back.
func (c *call) reserve(n int64) error {
	s := c.session.server
	if c.bytes+n > s.memory.limit {
		return errors.Join(errMemory, fail(codeParams, place{Field: wholeParams}, "the request takes more than the %d bytes of --max-memory", s.memory.limit))
	}
	if !c.session.reserve(n) {
		return errors.Join(errMemory, fail(codeBusy, retry{s.retryAfter()}, "the server keeps as much as --max-memory allows"))
	}
	c.bytes += n
	return nil
}

// free gives back what was reserved.
func (c *call) free(n int64) {
	c.session.release(n)
	c.bytes -= n
}

// tokenBytes is what a token takes.
const tokenBytes = 4

// tokenize has read make tokens of a text of n bytes. There are no more of them
// than bytes, and what they do not take is given back.
func (c *call) tokenize(n int, read func() ([]int32, error)) ([]int32, error) {
	most := tokenBytes * int64(n)
	if err := c.reserve(most); err != nil {
		return nil, err
	}
	tokens, err := read()
	c.free(most - tokenBytes*int64(cap(tokens)))
	return tokens, err
}
