package fair

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Turns divides the server's CPU time among its sessions. Parsing, tokenizing, editing, searching
// and writing JSON run in turns. Few turns run concurrently; the next turn goes to the session with
// the least service. The model's computations take no turn: the batcher schedules them.
//
// A small turn of a light session (see [Meter.Light]) starts immediately, up to a limit, beside the
// turns of the pools. The operating system divides the cores among all of them. Other clients therefore do not delay a
// client with small requests.
type Turns struct {
	reserve func(cores int) // sets the number of cores that the model's device leaves free

	mu         sync.Mutex
	meter      Meter
	pools      [kinds]pool
	extraTurns int // running light turns, in addition to the turns of the pools
}

// Kind is the kind of a turn. Small turns do not wait for large turns, which may take a long time.
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
	limit   int // maximum number of concurrent turns
	running int
	waiting []*Share // shares with a waiting turn of this kind
}

// Share is one session's use of the turns.
type Share struct {
	turns   *Turns
	usage   Usage                  // guarded by turns.mu, like waiting
	waiting [kinds][]chan struct{} // waiting turns; a channel is closed when its turn begins
}

// New returns turns for the given number of cores. The pool of small turns runs on at most half of the
// cores, the pool of large turns on at most a quarter, but each on at least one. reserve is called with
// the number of cores that the model's device must leave free.
func New(cores int, reserve func(cores int)) *Turns {
	t := &Turns{reserve: reserve}
	t.pools[Small].limit = max(1, cores/2)
	t.pools[Large].limit = max(1, cores/4)
	return t
}

// Share returns the share of a new session.
func (t *Turns) Share() *Share { return &Share{turns: t} }

// Do runs f in a turn of the session. If ctx ends while the turn waits, Do returns the cause of ctx
// without running f. bytes is the approximate size of f's input. f must not wait: neither for a lock,
// nor for a client, nor for another turn.
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
	extra bool          // runs in addition to the turns of the pools
	began time.Duration // CPU time of the thread at the beginning
}

// Begin waits for a turn of the session. If ctx ends meanwhile, Begin returns the cause of ctx. The
// goroutine must not wait for anything until it calls End.
func (s *Share) Begin(ctx context.Context, kind Kind) (Turn, error) {
	t := s.turns
	p := &t.pools[kind]
	t.mu.Lock()
	t.meter.Join(&s.usage)
	light := false
	switch {
	case p.running < p.limit:
		p.running++
		t.reserveCores()
	case kind == Small && t.extraTurns < p.limit && t.meter.Light(&s.usage):
		light = true
		t.extraTurns++
	default:
		begun := make(chan struct{})
		if len(s.waiting[kind]) == 0 {
			p.waiting = append(p.waiting, s)
		}
		s.waiting[kind] = append(s.waiting[kind], begun)
		t.mu.Unlock()
		select {
		case <-begun:
		case <-ctx.Done():
		}
		t.mu.Lock()
		if ctx.Err() != nil {
			if index := slices.Index(s.waiting[kind], begun); index >= 0 {
				s.dequeue(kind, index)
			} else { // the turn has begun meanwhile
				t.passOn(kind)
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
	elapsed := threadTime() - x.began
	runtime.UnlockOSThread()
	t := x.share.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	t.meter.Charge(&x.share.usage, elapsed)
	if x.extra {
		t.extraTurns--
	} else {
		t.passOn(x.Kind)
	}
}

// passOn passes the slot of an ended turn to the waiting session with the least service, or frees the
// slot if no session waits. The caller holds t.mu.
func (t *Turns) passOn(kind Kind) {
	p := &t.pools[kind]
	if len(p.waiting) == 0 {
		p.running--
		t.reserveCores()
		return
	}
	s := slices.MinFunc(p.waiting,
		func(a, b *Share) int { return cmp.Compare(t.meter.serviceOf(&a.usage), t.meter.serviceOf(&b.usage)) })
	begun := s.waiting[kind][0]
	s.dequeue(kind, 0)
	close(begun)
}

// dequeue removes the waiting turn with the given index from the session's queue. The caller holds
// s.turns.mu.
func (s *Share) dequeue(kind Kind, index int) {
	s.waiting[kind] = slices.Delete(s.waiting[kind], index, index+1)
	if p := &s.turns.pools[kind]; len(s.waiting[kind]) == 0 {
		p.waiting = slices.DeleteFunc(p.waiting, func(x *Share) bool { return x == s })
	}
}

// Count has the numbers of turns of one kind.
type Count struct {
	Limit   int // maximum number of concurrent turns
	Running int // running turns of the pool, without light turns
	Waiting int // sessions with waiting turns
}

// Count returns the numbers of turns of a kind.
func (t *Turns) Count(kind Kind) Count {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.pools[kind]
	return Count{p.limit, p.running, len(p.waiting)}
}

// SwitchDevice calls set, which selects another device to reserve cores on, and reserves the cores there.
func (t *Turns) SwitchDevice(set func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	set()
	t.reserveCores()
}

// reserveCores reserves a core on the device for each running turn of the pools. The caller holds t.mu.
func (t *Turns) reserveCores() { t.reserve(t.pools[Small].running + t.pools[Large].running) }
