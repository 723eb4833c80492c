package serve

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// turns share the server's time out among its sessions. All that costs more than
// passing on is done in a turn: parsing, turning text into tokens, editing, searching,
// writing JSON. As many turns are taken at once as there are processors, the next one by
// the session that has had least. What the model computes counts for a session, too, but
// takes no turn: the batcher sees to that.
//
// A session that has had less than its fair share does not wait at all: the system
// shares the processors out between it and those whose turn it is. So a client that asks
// for little is answered as if it were alone.
type turns struct {
	most int // at once, without the light ones

	mu      sync.Mutex
	taken   int // of most
	light   int // taken beside these
	large   int // of those taken, the ones that are long
	waiting []*share

	// clock is what a session has had that always took its fair share: it advances by
	// what any has, divided by how many take part. These are counted by the period.
	clock  time.Duration
	period int64
	took   [2]int // part in this period and in the one before
}

// share is what one session has of the server.
type share struct {
	turns  *turns
	had    time.Duration // guarded by the mutex of turns, as all below
	period int64         // in which it was last counted
	queue  []*turn
}

// turn is one that a session waits for.
type turn struct {
	large bool
	begun chan struct{}
}

const (
	// periodLength is how long a session takes part after it has asked for something.
	periodLength = 100 * time.Millisecond
	// maxCredit is what a session may have at once that has asked for nothing for long.
	maxCredit = 50 * time.Millisecond
	// largeBytes make a turn a large one: it may last, so that one processor is kept from
	// such, if there are several.
	largeBytes = 1 << 16
)

func newTurns() *turns { return &turns{most: max(2, runtime.NumCPU())} }

func (t *turns) share() *share {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &share{turns: t, had: t.clock, period: -1}
}

// isLight reports whether a session has had less than its fair share lately.
func (s *share) isLight() bool {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	return s.had <= s.turns.clock
}

// charge notes what a session has had.
func (s *share) charge(d time.Duration) {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	s.chargeNow(d)
}

func (s *share) chargeNow(d time.Duration) {
	t := s.turns
	if now := time.Now().UnixNano() / int64(periodLength); now != t.period {
		t.took = [2]int{0, t.took[0]}
		if now != t.period+1 {
			t.took[1] = 0
		}
		t.period = now
	}
	if s.period != t.period {
		s.period = t.period
		t.took[0]++
	}
	s.had = max(s.had, t.clock-maxCredit) + d
	t.clock += d / time.Duration(max(t.took[0], t.took[1]))
}

// do runs f in a turn of the session, unless ctx ends before. Bytes are what f reads, or
// the like of it. F computes and waits for nothing: no lock, no client and no other turn.
func (s *share) do(ctx context.Context, bytes int, f func()) error {
	t, large := s.turns, bytes > largeBytes
	t.mu.Lock()
	light := !large && s.had <= t.clock && t.light < t.most
	switch {
	case len(s.queue) == 0 && t.taken < t.most && t.admits(large):
		light = false
		t.begin(large)
	case light:
		t.light++
	default:
		w := &turn{large, make(chan struct{})}
		if len(s.queue) == 0 {
			t.waiting = append(t.waiting, s)
		}
		s.queue = append(s.queue, w)
		t.mu.Unlock()
		select {
		case <-w.begun:
		case <-ctx.Done():
			t.mu.Lock()
			if at := slices.Index(s.queue, w); at >= 0 {
				s.leaveQueue(at)
			} else { // it has begun meanwhile
				t.end(large)
			}
			t.mu.Unlock()
			return context.Cause(ctx)
		}
		t.mu.Lock()
	}
	t.mu.Unlock()
	began := time.Now()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		s.chargeNow(time.Since(began))
		if light {
			t.light--
		} else {
			t.end(large)
		}
	}()
	f()
	return nil
}

// admits reports whether a turn of the kind may begin. The caller holds t.mu, as for all
// below.
func (t *turns) admits(large bool) bool { return !large || t.large < max(1, t.most-1) }

func (t *turns) begin(large bool) {
	t.taken++
	if large {
		t.large++
	}
}

// end begins the turns that there is room for then.
func (t *turns) end(large bool) {
	t.taken--
	if large {
		t.large--
	}
	for t.taken < t.most {
		var next *share
		for _, s := range t.waiting {
			if t.admits(s.queue[0].large) && (next == nil || s.had < next.had) {
				next = s
			}
		}
		if next == nil {
			return
		}
		w := next.queue[0]
		next.leaveQueue(0)
		t.begin(w.large)
		close(w.begun)
	}
}

func (s *share) leaveQueue(at int) {
	s.queue = slices.Delete(s.queue, at, at+1)
	if len(s.queue) == 0 {
		s.turns.waiting = slices.DeleteFunc(s.turns.waiting, func(x *share) bool { return x == s })
	}
}
