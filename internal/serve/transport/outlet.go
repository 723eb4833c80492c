package transport

import (
	"io"
	"sync/atomic"
	"time"
)

// Outlet is the way to a client. It knows since when the client has not read. One write
// is made at a time.
type Outlet struct {
	w     io.Writer
	turn  func(bytes int, write func())
	since atomic.Pointer[time.Time] // start of the write that waits for the client
}

// NewOutlet writes to w. turn runs write, which writes a number of bytes without waiting for the client, in a turn, or
// does not run it: then the bytes are written by the path that waits.
func NewOutlet(w io.Writer, turn func(bytes int, write func())) *Outlet {
	return &Outlet{w: w, turn: turn}
}

// Write writes what the client has room for in a turn, and waits with the rest until there
// is more.
func (o *Outlet) Write(p []byte) (n int, err error) {
	o.turn(len(p), func() { n = writeNow(o.w, p) })
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

// Since is when the write began that waits for the client, the zero time if none does.
func (o *Outlet) Since() time.Time {
	if since := o.since.Load(); since != nil {
		return *since
	}
	return time.Time{}
}

// Blocked reports whether the client does not read.
func (o *Outlet) Blocked() bool {
	since := o.Since()
	return !since.IsZero() && time.Since(since) > blockedAfter
}

// blockedAfter is how long a write to a client that reads may take.
const blockedAfter = 100 * time.Millisecond
