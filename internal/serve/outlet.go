package serve

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// outlet is the way to the client. It knows since when the client has not read.
type outlet struct {
	w     io.Writer
	ctx   context.Context
	share *share
	since atomic.Pointer[time.Time] // of the write that goes on; frames make one at a time
}

// Write writes what the client has room for in a turn of the session's, and waits with
// the rest until there is more.
func (o *outlet) Write(p []byte) (n int, err error) {
	now := time.Now()
	o.since.Store(&now)
	defer o.since.Store(nil)
	o.share.do(o.ctx, len(p), func() { n = writeNow(o.w, p) })
	if n == len(p) {
		return n, nil
	}
	rest, err := o.w.Write(p[n:])
	return n + rest, err
}

// blocked reports whether the client does not read.
func (o *outlet) blocked() bool {
	since := o.since.Load()
	return since != nil && time.Since(*since) > blockedAfter
}

// blockedAfter is how long a write to a client that reads may take.
const blockedAfter = 100 * time.Millisecond
