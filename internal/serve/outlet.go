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
	since atomic.Pointer[time.Time] // of the write that waits for the client; the session makes one at a time
}

// Write writes what the client has room for in a turn of the session's, and waits with
// the rest until there is more.
func (o *outlet) Write(p []byte) (n int, err error) {
	o.share.do(o.ctx, len(p), func() { n = writeNow(o.w, p) })
	defer o.since.Store(nil)
	for n < len(p) && err == nil {
		now := time.Now()
		o.since.Store(&now)
		var more int
		more, err = o.w.Write(p[n:min(len(p), n+pieceBytes)])
		n += more
	}
	return n, err
}

// pieceBytes is how much a client has to take for it to be one that reads.
const pieceBytes = 1 << 16

// blocked reports whether the client does not read.
func (o *outlet) blocked() bool {
	since := o.since.Load()
	return since != nil && time.Since(*since) > blockedAfter
}

// blockedAfter is how long a write to a client that reads may take.
const blockedAfter = 100 * time.Millisecond
