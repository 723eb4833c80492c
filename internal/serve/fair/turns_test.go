package fair

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// oneTurn returns turns with one concurrent turn per kind.
func oneTurn() *Turns {
	t := New(2, func(int) {})
	t.pools[Small].limit, t.pools[Large].limit = 1, 1
	return t
}

// TestNextTurn checks that the next turn goes to the waiting session with the least service, regardless of
// how many turns each session waits for.
func TestNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := oneTurn()
		greedy, modest, other := turns.Share(), turns.Share(), turns.Share()
		turns.meter.Charge(&other.usage, 0)
		for range 200 {
			turns.meter.Charge(&greedy.usage, time.Millisecond)
		}
		turns.meter.Charge(&modest.usage, time.Millisecond) // not light, but has less service than greedy
		held := must.Get(greedy.Begin(t.Context(), Small))(t)
		light, err := other.Begin(t.Context(), Small) // occupies the only light turn
		must.Succeed(t, err)
		defer light.End()
		var mu sync.Mutex
		var order []*Share
		var all sync.WaitGroup
		ask := func(s *Share) {
			all.Go(func() {
				s.Do(t.Context(), 0, func() {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, s)
				})
			})
			synctest.Wait()
		}
		for range 5 {
			ask(greedy)
		}
		ask(modest)
		held.End()
		all.Wait()
		if len(order) != 6 || order[0] != modest {
			t.Errorf("got %d turns, want 6 starting with the session with the least service", len(order))
		}
	})
}

// TestNewSessionsTurn checks that a new session's turn precedes earlier waiting turns of another
// session.
func TestNewSessionsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := oneTurn()
		greedy, newcomer := turns.Share(), turns.Share()
		held := must.Get(greedy.Begin(t.Context(), Small))(t)
		turns.extraTurns = 1 // occupies the only light turn
		var order []*Share
		var all sync.WaitGroup
		for _, s := range []*Share{greedy, greedy, newcomer} {
			all.Go(func() { s.Do(t.Context(), 0, func() { order = append(order, s) }) })
			synctest.Wait()
		}
		turns.meter.Charge(&greedy.usage, time.Millisecond)
		held.End()
		all.Wait()
		if len(order) != 3 || order[0] != newcomer {
			t.Errorf("got %d turns, want 3 starting with the new session", len(order))
		}
	})
}

// TestLightTurn checks that a session below its share gets one small turn immediately in addition
// to the pools. A second or a large turn waits.
func TestLightTurn(t *testing.T) {
	turns := oneTurn()
	greedy, modest := turns.Share(), turns.Share()
	turns.meter.Charge(&modest.usage, 0)
	for range 100 {
		turns.meter.Charge(&greedy.usage, time.Millisecond)
	}
	for _, kind := range []Kind{Small, Large} {
		held := must.Get(greedy.Begin(t.Context(), kind))(t)
		defer held.End()
	}
	soon, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	first, err := modest.Begin(soon, Small)
	if err != nil {
		t.Fatal("the light turn waits: ", err)
	}
	defer first.End()
	over := errors.New("it waits")
	for what, kind := range map[string]Kind{"a second turn": Small, "a large turn": Large} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, over)
		defer cancel()
		if _, err := modest.Begin(ctx, kind); !errors.Is(err, over) {
			t.Errorf("%s: got error %v, want it to wait", what, err)
		}
	}
}

// TestTurnsComeBack checks that no turn stays taken or waiting after many turns have ended or were
// cancelled.
func TestTurnsComeBack(t *testing.T) {
	reserved := -1
	turns := New(2, func(n int) { reserved = n })
	var all sync.WaitGroup
	for n := range 8 {
		s := turns.Share()
		for range 50 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*100*time.Microsecond)
				defer cancel()
				s.Do(ctx, n%2*2*LargeBytes, func() { time.Sleep(50 * time.Microsecond) })
			})
		}
	}
	all.Wait()
	for kind, p := range turns.pools {
		if p.running != 0 || len(p.waiting) != 0 {
			t.Errorf("kind %d: got %d taken turns and %d waiting sessions, want 0 and 0", kind, p.running,
				len(p.waiting))
		}
	}
	if turns.extraTurns != 0 || reserved != 0 {
		t.Errorf("got %d light turns and %d reserved cores, want 0 and 0", turns.extraTurns, reserved)
	}
}

// TestMeter checks that a session with its share of service is not light, a session with less is
// light, and credit and debt are bounded.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Meter
		var fair, equal, modest Usage
		for range 1000 {
			m.Charge(&fair, time.Millisecond)
			m.Charge(&equal, time.Millisecond)
			m.Charge(&modest, 10*time.Microsecond)
			time.Sleep(2 * time.Millisecond)
		}
		if m.Light(&fair) || m.Light(&equal) || !m.Light(&modest) {
			t.Errorf("clock %v: got usage %v, %v and %v, want only the last to be light", m.clock, fair, equal, modest)
		}
		newcomer := Usage{}
		if m.Join(&newcomer); !m.Light(&newcomer) {
			t.Error("a new session is not light")
		}
		if m.Charge(&newcomer, time.Microsecond); m.Light(&newcomer) {
			t.Error("a new session is still light after a charge")
		}
		if fair.service > m.clock+maxDebt || modest.service < m.clock-maxCredit-time.Millisecond {
			t.Errorf("clock %v: got debt %v and credit %v, want at most %v and %v", m.clock, fair.service-m.clock,
				m.clock-modest.service, maxDebt, maxCredit+time.Millisecond)
		}
	})
}

// TestCount checks the limits of turns, and that a turn's kind depends on the size of its input.
func TestCount(t *testing.T) {
	turns := New(8, func(int) {})
	if s, l := turns.Count(Small), turns.Count(Large); s != (Count{Limit: 4}) || l != (Count{Limit: 2}) {
		t.Errorf("got %+v small and %+v large turns, want limits 4 and 2", s, l)
	}
	share := turns.Share()
	err := share.Do(t.Context(), LargeBytes+1, func() {
		if s, l := turns.Count(Small), turns.Count(Large); s.Running != 0 || l.Running != 1 {
			t.Errorf("got %+v small and %+v large turns, want one large turn", s, l)
		}
	})
	if err != nil || turns.Count(Large).Running != 0 {
		t.Errorf("got error %v and %+v large turns, want none taken", err, turns.Count(Large))
	}
}
