package transport

import (
	"io"
	"sync/atomic"
	"time"
)

// Outlet writes to a client and records how long the client has not read. Writes must not be
// concurrent.
type Outlet struct {
	w     io.Writer
	turn  func(bytes int, write func())
	since atomic.Pointer[time.Time] // start of the write that is blocked by the client
}

// NewOutlet returns an outlet that writes to w. turn runs its function in a turn, which writes a
// number of bytes without blocking. turn may skip the function; the bytes are then written by
// blocking writes.
func NewOutlet(w io.Writer, turn func(bytes int, write func())) *Outlet {
	return &Outlet{w: w, turn: turn}
}

// Write first writes, in a turn, as much as possible without blocking, and then the rest with
// blocking writes.
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

// pieceBytes is the size of a blocking write. A client that takes a piece within blockedAfter
// counts as reading.
const pieceBytes = 1 << 16

// Since returns the start of the currently blocked write, or the zero time.
func (o *Outlet) Since() time.Time {
	if since := o.since.Load(); since != nil {
		return *since
	}
	return time.Time{}
}

// Blocked reports whether the current write has been blocked for more than blockedAfter.
func (o *Outlet) Blocked() bool {
	since := o.Since()
	return !since.IsZero() && time.Since(since) > blockedAfter
}

// blockedAfter is the maximum time of a write to a client that reads.
const blockedAfter = 100 * time.Millisecond
