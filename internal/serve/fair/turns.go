package fair

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Turns divide the server's CPU time among its sessions. Work beyond forwarding runs in a turn: parsing, tokenizing,
// editing, searching, writing JSON. Few turns run concurrently; the next one goes to the session with the least
// service. The model's computations take no turn: the batcher schedules them.
//
// A session below its fair share does not wait: the operating system divides the cores between it and the running
// turns. So a client with small requests is served as if it were alone.
type Turns struct {
	reserve func(cores int) // sets the number of cores that the model's device leaves free

	mu    sync.Mutex
	meter Meter
	pools [kinds]pool
	light int // turns taken beside those of the pools
}

// Kind is that of a turn. A large one may last, and small ones do not wait for it.
type Kind int

const (
	Small Kind = iota
	Large
	kinds
)

// LargeBytes make a turn a large one.
const LargeBytes = 1 << 16

// KindOf is the kind of a turn that reads a number of bytes.
func KindOf(bytes int) Kind {
	if bytes > LargeBytes {
		return Large
	}
	return Small
}

// pool is the turns of a kind.
type pool struct {
	most    int // maximum of concurrent turns
	taken   int
	waiting []*Share // shares with a waiting turn of this kind
}

// Share is what one session has of the turns.
type Share struct {
	turns  *Turns
	took   Usage                  // guarded by their mutex, as is
	queues [kinds][]chan struct{} // turns that wait; each is closed when it begins
}

// New divides half of the cores: the others are left to the model.
func New(cores int, reserve func(cores int)) *Turns {
	t := &Turns{reserve: reserve}
	t.pools[Small].most = max(1, cores/2)
	t.pools[Large].most = max(1, cores/4)
	return t
}

// Share is that of a new session.
func (t *Turns) Share() *Share { return &Share{turns: t} }

// Do runs f in a turn of the session, unless ctx ends before. Bytes are what f reads, or
// the like of it. F computes and waits for nothing: no lock, no client, no other turn.
func (s *Share) Do(ctx context.Context, bytes int, f func()) error {
	turn, err := s.Begin(ctx, KindOf(bytes))
	if err != nil {
		return err
	}
	defer turn.End()
	f()
	return nil
}

// Turn is one that a goroutine has.
type Turn struct {
	Kind Kind

	share *Share
	light bool          // beside the pools
	began time.Duration // by the thread's time
}

// Begin waits for a turn of the session, unless ctx ends before. Until its end the
// goroutine waits for nothing.
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
			} else { // it has begun meanwhile
				t.next(kind)
			}
			t.mu.Unlock()
			return Turn{}, context.Cause(ctx)
		}
	}
	t.mu.Unlock()
	runtime.LockOSThread() // whose time is taken
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

// next gives a turn that ends to the session that has had least. The caller holds the
// mutex, as for the others below.
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

// leave takes a turn out of the queue of those that wait.
func (s *Share) leave(kind Kind, at int) {
	s.queues[kind] = slices.Delete(s.queues[kind], at, at+1)
	if p := &s.turns.pools[kind]; len(s.queues[kind]) == 0 {
		p.waiting = slices.DeleteFunc(p.waiting, func(x *Share) bool { return x == s })
	}
}

// Count is how many turns of a kind there are.
type Count struct {
	Most    int // maximum of concurrent turns
	Taken   int
	Waiting int // sessions
}

// Count counts the turns of a kind.
func (t *Turns) Count(kind Kind) Count {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.pools[kind]
	return Count{p.most, p.taken, len(p.waiting)}
}

// Moved makes another device leave cores to turns: set chooses it.
func (t *Turns) Moved(set func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	set()
	t.reserveNow()
}

// reserveNow makes the device leave a core to each turn of the pools.
func (t *Turns) reserveNow() { t.reserve(t.pools[Small].taken + t.pools[Large].taken) }
