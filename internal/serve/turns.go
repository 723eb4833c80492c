package serve

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// turns share the server's time out among its sessions. All that costs more than
// passing on is done in a turn: parsing, turning text into tokens, editing, searching,
// writing JSON. Few turns are taken at once, the next one by the session that has had
// least. What the model computes takes no turn: the batcher shares that out.
//
// A session that has had less than its fair share does not wait at all: the system
// shares the processors out between it and those whose turn it is. So a client that asks
// for little is answered as if it were alone.
type turns struct {
	reserve func(processors int) // has the model's device leave as many

	mu    sync.Mutex
	meter meter
	pools [kinds]pool
	light int // turns taken beside those of the pools
}

// Kinds of turns. A large one may last, and small ones do not wait for it.
const (
	small = iota
	large
	kinds
)

// largeBytes make a turn a large one.
const largeBytes = 1 << 16

// turnKind is the kind of a turn that reads so many bytes.
func turnKind(bytes int) int {
	if bytes > largeBytes {
		return large
	}
	return small
}

// pool is the turns of a kind.
type pool struct {
	most    int // at once
	taken   int
	waiting []*share // that have a turn in the queue of this kind
}

// share is what one session has of the server.
type share struct {
	turns  *turns
	took   usage                  // of turns; guarded by their mutex, as is
	queues [kinds][]chan struct{} // turns that wait; each is closed when it begins

	computed usage // by the model; guarded by the batcher's mutex, as is
	pending  int   // tokens that it is asked for
}

// newTurns shares half of so many processors out: the others are the model's, if it has
// use for them.
func newTurns(processors int, reserve func(processors int)) *turns {
	t := &turns{reserve: reserve}
	t.pools[small].most = max(1, processors/2)
	t.pools[large].most = max(1, processors/4)
	return t
}

// share is that of a new session.
func (t *turns) share() *share { return &share{turns: t} }

// do runs f in a turn of the session, unless ctx ends before. Bytes are what f reads, or
// the like of it. F computes and waits for nothing: no lock, no client, no other turn.
func (s *share) do(ctx context.Context, bytes int, f func()) error {
	turn, err := s.begin(ctx, turnKind(bytes))
	if err != nil {
		return err
	}
	defer turn.end()
	f()
	return nil
}

// turn is one that a goroutine has.
type turn struct {
	share *share
	kind  int
	light bool          // beside the pools
	began time.Duration // by the thread's time
}

// begin waits for a turn of the session, unless ctx ends before. Until its end the
// goroutine waits for nothing.
func (s *share) begin(ctx context.Context, kind int) (turn, error) {
	t := s.turns
	p := &t.pools[kind]
	t.mu.Lock()
	t.meter.join(&s.took)
	light := false
	switch {
	case p.taken < p.most:
		p.taken++
		t.reserveNow()
	case kind == small && t.light < p.most && t.meter.light(&s.took):
		light = true
		t.light++
	default:
		begun := make(chan struct{})
		if len(s.queues[kind]) == 0 {
			p.waiting = append(p.waiting, s)
		}
		s.queues[kind] = append(s.queues[kind], begun)
		t.mu.Unlock()
		select {
		case <-begun:
		case <-ctx.Done():
		}
		t.mu.Lock()
		if ctx.Err() != nil {
			if at := slices.Index(s.queues[kind], begun); at >= 0 {
				s.leave(kind, at)
			} else { // it has begun meanwhile
				t.next(kind)
			}
			t.mu.Unlock()
			return turn{}, context.Cause(ctx)
		}
	}
	t.mu.Unlock()
	runtime.LockOSThread() // whose time is taken
	return turn{s, kind, light, threadTime()}, nil
}

func (x turn) end() {
	took := threadTime() - x.began
	runtime.UnlockOSThread()
	t := x.share.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	t.meter.charge(&x.share.took, took)
	if x.light {
		t.light--
	} else {
		t.next(x.kind)
	}
}

// next gives a turn that ends to the session that has had least. The caller holds the
// mutex, as for the others below.
func (t *turns) next(kind int) {
	p := &t.pools[kind]
	if len(p.waiting) == 0 {
		p.taken--
		t.reserveNow()
		return
	}
	s := slices.MinFunc(p.waiting, func(a, b *share) int { return cmp.Compare(t.meter.of(&a.took), t.meter.of(&b.took)) })
	begun := s.queues[kind][0]
	s.leave(kind, 0)
	close(begun)
}

// leave takes a turn out of the queue of those that wait.
func (s *share) leave(kind, at int) {
	s.queues[kind] = slices.Delete(s.queues[kind], at, at+1)
	if p := &s.turns.pools[kind]; len(s.queues[kind]) == 0 {
		p.waiting = slices.DeleteFunc(p.waiting, func(x *share) bool { return x == s })
	}
}

// moved has another device leave processors to turns from now on: set says to which.
func (t *turns) moved(set func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	set()
	t.reserveNow()
}

// reserveNow has the device leave a processor to each turn of the pools.
func (t *turns) reserveNow() { t.reserve(t.pools[small].taken + t.pools[large].taken) }
