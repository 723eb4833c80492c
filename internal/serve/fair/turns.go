package fair

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Turns divides the server's CPU time among its sessions. All work except forwarding bytes runs in
// a turn: parsing, tokenizing, editing, searching, writing JSON. Few turns run concurrently; the
// next turn goes to the session with the least service. The model's computations take no turn: the
// batcher schedules them.
//
// A session below its fair share does not wait: the operating system divides the cores between it
// and the running turns. A client with small requests is therefore served without delay by other
// clients.
type Turns struct {
	reserve func(cores int) // sets the number of cores that the model's device leaves free

	mu    sync.Mutex
	meter Meter
	pools [kinds]pool
	light int // running light turns, in addition to the turns of the pools
}

// Kind is the kind of a turn. Small turns do not wait for large turns, which may take long.
type Kind int

const (
	Small Kind = iota
	Large
	kinds
)

// LargeBytes is the maximum input of a small turn in bytes.
const LargeBytes = 1 << 16

// KindOf returns the kind of a turn for an input of the given size.
func KindOf(bytes int) Kind {
	if bytes > LargeBytes {
		return Large
	}
	return Small
}

// pool is the turns of one kind.
type pool struct {
	most    int // maximum of concurrent turns
	taken   int
	waiting []*Share // shares with a waiting turn of this kind
}

// Share is one session's use of the turns.
type Share struct {
	turns  *Turns
	took   Usage                  // guarded by turns.mu, like queues
	queues [kinds][]chan struct{} // waiting turns; a channel is closed when its turn begins
}

// New returns turns for half of the cores. The model uses the other half.
func New(cores int, reserve func(cores int)) *Turns {
	t := &Turns{reserve: reserve}
	t.pools[Small].most = max(1, cores/2)
	t.pools[Large].most = max(1, cores/4)
	return t
}

// Share returns the share of a new session.
func (t *Turns) Share() *Share { return &Share{turns: t} }

// Do runs f in a turn of the session, unless ctx ends first. bytes is the approximate size of f's
// input. f must not wait: neither for a lock, nor for a client, nor for another turn.
func (s *Share) Do(ctx context.Context, bytes int, f func()) error {
	turn, err := s.Begin(ctx, KindOf(bytes))
	if err != nil {
		return err
	}
	defer turn.End()
	f()
	return nil
}

// Turn is a running turn of the calling goroutine.
type Turn struct {
	Kind Kind

	share *Share
	light bool          // in addition to the pools
	began time.Duration // threadTime at the beginning
}

// Begin waits for a turn of the session, unless ctx ends first. The goroutine must not wait for
// anything until it calls End.
func (s *Share) Begin(ctx context.Context, kind Kind) (Turn, error) {
	t := s.turns
	p := &t.pools[kind]
	t.mu.Lock()
	t.meter.Join(&s.took)
	light := false
	switch {
	case p.taken < p.most:
		p.taken++
		t.reserveNow()
	case kind == Small && t.light < p.most && t.meter.Light(&s.took):
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
			} else { // the turn has begun meanwhile
				t.next(kind)
			}
			t.mu.Unlock()
			return Turn{}, context.Cause(ctx)
		}
	}
	t.mu.Unlock()
	runtime.LockOSThread() // threadTime must measure one thread
	return Turn{kind, s, light, threadTime()}, nil
}

// End ends the turn, and charges the session for its time.
func (x Turn) End() {
	took := threadTime() - x.began
	runtime.UnlockOSThread()
	t := x.share.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	t.meter.Charge(&x.share.took, took)
	if x.light {
		t.light--
	} else {
		t.next(x.Kind)
	}
}

// next gives an ended turn to the waiting session with the least service. The caller holds the
// mutex, as for the methods below.
func (t *Turns) next(kind Kind) {
	p := &t.pools[kind]
	if len(p.waiting) == 0 {
		p.taken--
		t.reserveNow()
		return
	}
	s := slices.MinFunc(p.waiting,
		func(a, b *Share) int { return cmp.Compare(t.meter.of(&a.took), t.meter.of(&b.took)) })
	begun := s.queues[kind][0]
	s.leave(kind, 0)
	close(begun)
}

// leave removes a waiting turn from its queue.
func (s *Share) leave(kind Kind, at int) {
	s.queues[kind] = slices.Delete(s.queues[kind], at, at+1)
	if p := &s.turns.pools[kind]; len(s.queues[kind]) == 0 {
		p.waiting = slices.DeleteFunc(p.waiting, func(x *Share) bool { return x == s })
	}
}

// Count is the numbers of turns of one kind.
type Count struct {
	Most    int // maximum of concurrent turns
	Taken   int
	Waiting int // sessions with waiting turns
}

// Count returns the numbers of turns of a kind.
func (t *Turns) Count(kind Kind) Count {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.pools[kind]
	return Count{p.most, p.taken, len(p.waiting)}
}

// Moved calls set, which selects another device to reserve cores on, and reserves the cores there.
func (t *Turns) Moved(set func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	set()
	t.reserveNow()
}

// reserveNow reserves a core on the device for each running turn of the pools.
func (t *Turns) reserveNow() { t.reserve(t.pools[Small].taken + t.pools[Large].taken) }
