package transport

import (
	"io"
	"sync/atomic"
	"time"
)

// Outlet writes to a client and records since when a write has been blocked. Writes must not be
// concurrent.
type Outlet struct {
	w            io.Writer
	runInTurn    func(bytes int, write func())
	blockedSince atomic.Pointer[time.Time] // start of the current blocking write, or nil
}

// NewOutlet returns an outlet that writes to w. turn calls the function write in a turn of the scheduler,
// or returns without calling it. write does not block, and writes at most the given number of bytes.
func NewOutlet(w io.Writer, turn func(bytes int, write func())) *Outlet {
	return &Outlet{w: w, runInTurn: turn}
}

// Write first writes as much as possible without blocking, in a turn, and then the rest with
// blocking writes.
func (o *Outlet) Write(p []byte) (n int, err error) {
	o.runInTurn(len(p), func() { n = writeNonBlocking(o.w, p) })
	defer o.blockedSince.Store(nil)
	for n < len(p) && err == nil {
		now := time.Now()
		o.blockedSince.Store(&now)
		var more int
		more, err = o.w.Write(p[n:min(len(p), n+pieceBytes)])
		n += more
	}
	return n, err
}

// pieceBytes is the maximum size of a blocking write. A client that takes a piece within blockedAfter
// counts as reading.
const pieceBytes = 1 << 16

// BlockedSince returns the start of the current blocking write, or the zero time.
func (o *Outlet) BlockedSince() time.Time {
	if since := o.blockedSince.Load(); since != nil {
		return *since
	}
	return time.Time{}
}

// Blocked reports whether the current blocking write has taken more than blockedAfter.
func (o *Outlet) Blocked() bool {
	since := o.BlockedSince()
	return !since.IsZero() && time.Since(since) > blockedAfter
}

// blockedAfter is the maximum duration of a write to a client that reads.
const blockedAfter = 100 * time.Millisecond
