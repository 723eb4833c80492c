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

// oneTurn shares one turn of each kind out.
func oneTurn() *Turns {
	t := New(2, func(int) {})
	t.pools[Small].most, t.pools[Large].most = 1, 1
	return t
}

// TestNextTurn: the session that has had least is next, however many turns another has
// asked for before.
func TestNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := oneTurn()
		greedy, modest, other := turns.Share(), turns.Share(), turns.Share()
		turns.meter.Charge(&other.took, 0)
		for range 200 {
			turns.meter.Charge(&greedy.took, time.Millisecond)
		}
		turns.meter.Charge(&modest.took, time.Millisecond) // not light, but less
		held := must.Get(greedy.Begin(t.Context(), Small))(t)
		light, err := other.Begin(t.Context(), Small) // the one place for such is taken
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
			t.Errorf("of %d turns the first was not that of the session that has had least", len(order))
		}
	})
}

// TestNewSessionsTurn: a new session's turn comes before those that another one has asked
// for earlier, though nobody else has had anything.
func TestNewSessionsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := oneTurn()
		greedy, newcomer := turns.Share(), turns.Share()
		held := must.Get(greedy.Begin(t.Context(), Small))(t)
		turns.light = 1 // the place for light ones is taken
		var order []*Share
		var all sync.WaitGroup
		for _, s := range []*Share{greedy, greedy, newcomer} {
			all.Go(func() { s.Do(t.Context(), 0, func() { order = append(order, s) }) })
			synctest.Wait()
		}
		turns.meter.Charge(&greedy.took, time.Millisecond)
		held.End()
		all.Wait()
		if len(order) != 3 || order[0] != newcomer {
			t.Errorf("of %d turns the first was not the newcomer's", len(order))
		}
	})
}

// TestLightTurn: a session that has had less than its share does not wait, one beside
// those of the pools at a time, and not for a large turn.
func TestLightTurn(t *testing.T) {
	turns := oneTurn()
	greedy, modest := turns.Share(), turns.Share()
	turns.meter.Charge(&modest.took, 0)
	for range 100 {
		turns.meter.Charge(&greedy.took, time.Millisecond)
	}
	for _, kind := range []Kind{Small, Large} {
		held := must.Get(greedy.Begin(t.Context(), kind))(t)
		defer held.End()
	}
	soon, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	first, err := modest.Begin(soon, Small)
	if err != nil {
		t.Fatal("it waits: ", err)
	}
	defer first.End()
	over := errors.New("it waits")
	for what, kind := range map[string]Kind{"a second one": Small, "a large one": Large} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, over)
		defer cancel()
		if _, err := modest.Begin(ctx, kind); !errors.Is(err, over) {
			t.Errorf("%s: %v, want that it waits", what, err)
		}
	}
}

// TestTurnsComeBack: nothing is left of turns that were taken, waited for and given up.
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
		if p.taken != 0 || len(p.waiting) != 0 {
			t.Errorf("kind %d: %d are taken, %d sessions wait", kind, p.taken, len(p.waiting))
		}
	}
	if turns.light != 0 || reserved != 0 {
		t.Errorf("%d light ones are taken, %d cores reserved", turns.light, reserved)
	}
}

// TestMeter: a session with its share is at the clock, one with less is below it, both within bounds.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Meter
		var fair, alike, modest Usage
		for range 1000 {
			m.Charge(&fair, time.Millisecond)
			m.Charge(&alike, time.Millisecond)
			m.Charge(&modest, 10*time.Microsecond)
			time.Sleep(2 * time.Millisecond)
		}
		if m.Light(&fair) || m.Light(&alike) || !m.Light(&modest) {
			t.Errorf("clock %v: %v, %v and %v", m.clock, fair, alike, modest)
		}
		newcomer := Usage{}
		if m.Join(&newcomer); !m.Light(&newcomer) {
			t.Error("a new session has to wait")
		}
		if m.Charge(&newcomer, time.Microsecond); m.Light(&newcomer) {
			t.Error("a new session that has had something is before those that are there")
		}
		if fair.had > m.clock+maxDebt || modest.had < m.clock-maxCredit-time.Millisecond {
			t.Errorf("clock %v: a debt of %v, a credit of %v", m.clock, fair.had-m.clock, m.clock-modest.had)
		}
	})
}

// TestCount: turns are of the kind that their bytes make them, and counted with those who
// wait for one.
func TestCount(t *testing.T) {
	turns := New(8, func(int) {})
	if s, l := turns.Count(Small), turns.Count(Large); s != (Count{Most: 4}) || l != (Count{Most: 2}) {
		t.Errorf("%+v small turns, %+v large ones", s, l)
	}
	share := turns.Share()
	err := share.Do(t.Context(), LargeBytes+1, func() {
		if s, l := turns.Count(Small), turns.Count(Large); s.Taken != 0 || l.Taken != 1 {
			t.Errorf("%+v small turns, %+v large ones", s, l)
		}
	})
	if err != nil || turns.Count(Large).Taken != 0 {
		t.Errorf("%v, %+v", err, turns.Count(Large))
	}
}
