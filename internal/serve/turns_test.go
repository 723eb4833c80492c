package serve

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
)

// oneTurn shares one turn of each kind out.
func oneTurn() *turns {
	t := newTurns(2, func(int) {})
	t.pools[small].most, t.pools[large].most = 1, 1
	return t
}

// TestNextTurn: the session that has had least is next, however many turns another has
// asked for before.
func TestNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := oneTurn()
		greedy, modest, other := turns.share(), turns.share(), turns.share()
		turns.meter.charge(&other.took, 0)
		for range 200 {
			turns.meter.charge(&greedy.took, time.Millisecond)
		}
		turns.meter.charge(&modest.took, time.Millisecond) // not light, but less
		held, err := greedy.begin(t.Context(), small)
		if err != nil {
			t.Fatal(err)
		}
		light, err := other.begin(t.Context(), small) // the one place for such is taken
		if err != nil {
			t.Fatal(err)
		}
		defer light.end()
		var mu sync.Mutex
		var order []*share
		var all sync.WaitGroup
		ask := func(s *share) {
			all.Go(func() {
				s.do(t.Context(), 0, func() {
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
		held.end()
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
		greedy, newcomer := turns.share(), turns.share()
		held, err := greedy.begin(t.Context(), small)
		if err != nil {
			t.Fatal(err)
		}
		turns.light = 1 // the place for light ones is taken
		var order []*share
		var all sync.WaitGroup
		for _, s := range []*share{greedy, greedy, newcomer} {
			all.Go(func() { s.do(t.Context(), 0, func() { order = append(order, s) }) })
			synctest.Wait()
		}
		turns.meter.charge(&greedy.took, time.Millisecond)
		held.end()
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
	greedy, modest := turns.share(), turns.share()
	turns.meter.charge(&modest.took, 0)
	for range 100 {
		turns.meter.charge(&greedy.took, time.Millisecond)
	}
	for _, kind := range []int{small, large} {
		held, err := greedy.begin(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		defer held.end()
	}
	soon, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first, err := modest.begin(soon, small)
	if err != nil {
		t.Fatal("it waits: ", err)
	}
	defer first.end()
	over := errors.New("it waits")
	for what, kind := range map[string]int{"a second one": small, "a large one": large} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, over)
		defer cancel()
		if _, err := modest.begin(ctx, kind); !errors.Is(err, over) {
			t.Errorf("%s: %v, want that it waits", what, err)
		}
	}
}

// holdLarge takes all large turns of a server until end is called.
func holdLarge(t testing.TB, s *Server) (end func()) {
	t.Helper()
	var held []turn
	for range s.turns.pools[large].most {
		x, err := s.turns.share().begin(t.Context(), large)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, x)
	}
	return func() {
		for _, x := range held {
			x.end()
		}
	}
}

// shortHead is a window that is soon computed.
var shortHead = map[string]any{"policy": "head", "length": 16}

// TestShortTextIsSmall: a text is as large as it is, not as what making tokens of it may
// take, and so it does not wait for large ones; neither does that of a document.
func TestShortTextIsSmall(t *testing.T) {
	o := testOptions(t, "pre")
	o.Load, o.Debounce = longModel(t), time.Hour
	s := start(t, o)
	text := strings.Repeat("1 ", largeBytes/4)
	if most := s.current().parser.Memory(int64(len(text))); most <= largeBytes {
		t.Fatalf("tokens of the text take at most %d bytes", most)
	}
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": text})
	defer holdLarge(t, s)()
	c.call(1, "sequence/classify", map[string]any{"text": text, "window": shortHead}, nil)
	c.call(2, "sequence/classify", map[string]any{"uri": "u", "window": shortHead}, nil)
}

// waitsForLarge is whether that many sessions wait for a large turn.
func waitsForLarge(s *Server, sessions int) func() bool {
	return func() bool {
		s.turns.mu.Lock()
		defer s.turns.mu.Unlock()
		return len(s.turns.pools[large].waiting) == sessions
	}
}

// TestScansTakeTurns: before the turn of a large bare line nothing is known of what it will
// take, and whether large changes bring the whole text is looked at in a turn.
func TestScansTakeTurns(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	c := dial(t, s)
	end := holdLarge(t, s)
	c.send(`{"tokens":[1` + strings.Repeat(",1", largeBytes) + `]}`)
	eventually(t, "the line does not wait", waitsForLarge(s, 1))
	if reading, used := s.reading.used.Load(), s.memory.used.Load(); reading == 0 || used != reading {
		t.Errorf("%d bytes are taken while %d are read", used, reading)
	}
	found := make(chan bool, 1)
	x := bareSession(s)
	x.ctx = t.Context()
	go func() { found <- x.bringsWhole([]byte(`[` + strings.Repeat(" ", largeBytes) + `{"text":""}]`)) }()
	eventually(t, "the changes do not wait", waitsForLarge(s, 2))
	end()
	if !<-found {
		t.Error("the whole text is not found")
	}
	if m := c.message(); m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("%+v", m)
	}
}

// TestEditBesideLargeTurns: while the class of a large document waits for the turns of
// others, the document can be edited, and what its client sends behind that is served.
func TestEditBesideLargeTurns(t *testing.T) {
	o := testOptions(t, "pre")
	o.Load, o.Debounce = longModel(t), time.Hour
	s := start(t, o)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": strings.Repeat("1 ", largeBytes)})
	c.serves() // it is open
	end := holdLarge(t, s)
	defer end()
	c.request(1, "sequence/classify", map[string]any{"uri": "u", "window": shortHead})
	eventually(t, "it does not wait", waitsForLarge(s, 1))
	change := map[string]any{"range": map[string]int{"start": 0, "end": 1}, "text": "2"}
	c.notify("sequence/didChange", map[string]any{"uri": "u", "version": 2, "changes": []any{change}})
	served := make(chan struct{})
	go func() {
		c.call(2, "sequence/classify", map[string]any{"text": "1"}, nil)
		close(served)
	}()
	select {
	case <-served:
	case <-time.After(10 * time.Second):
		t.Error("a small edit waits for the large turns of others")
	}
}

// TestTurnsOfAMessage: a large message has large turns from its first piece to its last, a
// small one small ones.
func TestTurnsOfAMessage(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	x := bareSession(s)
	x.ctx, x.stopRead = t.Context(), make(chan struct{})
	for kind, bytes := range []int{small: largeBytes, large: largeBytes + 1} {
		err := x.inTurns(bytes, func() error {
			for range 3 {
				if taken := s.turns.pools[kind].taken; taken != 1 {
					t.Errorf("%d bytes: %d turns of kind %d are taken", bytes, taken, kind)
				}
				if err := x.yield(yieldWork); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// counted is a processor that knows how many it is to leave to turns.
type counted struct {
	tensor.Device
	reserved atomic.Int64
}

func (d *counted) Unwrap() tensor.Device { return d.Device }
func (d *counted) Reserve(n int)         { d.reserved.Store(int64(n)) }

// TestReloadMovesTurns: the device of a model that takes another's place leaves processors
// to the turns that are taken, and the old one to none any more.
func TestReloadMovesTurns(t *testing.T) {
	o := testOptions(t, "pre")
	var devices []*counted
	o.Load = func() (*Model, error) {
		m, err := sft.Load(goldenDir + "/pre")
		if err != nil {
			t.Fatal(err)
		}
		d := &counted{Device: cpu.New(2)}
		devices = append(devices, d)
		scorer, err := sft.NewScorer(m, d)
		return &Model{Scorer: scorer, Name: "counted", Device: d.Name(), Hash: Hash(m), Release: func() {}}, err
	}
	s := start(t, o)
	turn, err := s.turns.share().begin(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	if n := devices[0].reserved.Load(); n != 1 {
		t.Errorf("%d processors are reserved, want 1", n)
	}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if before, now := devices[0].reserved.Load(), devices[1].reserved.Load(); before != 0 || now != 1 {
		t.Errorf("the old device leaves %d processors, the new one %d, want 0 and 1", before, now)
	}
	turn.end()
	if before, now := devices[0].reserved.Load(), devices[1].reserved.Load(); before != 0 || now != 0 {
		t.Errorf("%d and %d processors are still reserved", before, now)
	}
}

// TestTurnsComeBack: nothing is left of turns that were taken, waited for and given up.
func TestTurnsComeBack(t *testing.T) {
	reserved := -1
	turns := newTurns(2, func(n int) { reserved = n })
	var all sync.WaitGroup
	for n := range 8 {
		s := turns.share()
		for range 50 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*100*time.Microsecond)
				defer cancel()
				s.do(ctx, n%2*2*largeBytes, func() { time.Sleep(50 * time.Microsecond) })
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
		t.Errorf("%d light ones are taken, %d processors reserved", turns.light, reserved)
	}
}

// TestMeter: who has what the others have is at the clock, who has less is below it, and
// neither is without end.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m meter
		var fair, alike, modest usage
		for range 1000 {
			m.charge(&fair, time.Millisecond)
			m.charge(&alike, time.Millisecond)
			m.charge(&modest, 10*time.Microsecond)
			time.Sleep(2 * time.Millisecond)
		}
		if m.light(&fair) || m.light(&alike) || !m.light(&modest) {
			t.Errorf("clock %v: %v, %v and %v", m.clock, fair, alike, modest)
		}
		newcomer := usage{}
		if m.join(&newcomer); !m.light(&newcomer) {
			t.Error("a new session has to wait")
		}
		if m.charge(&newcomer, time.Microsecond); m.light(&newcomer) {
			t.Error("a new session that has had something is before those that are there")
		}
		if fair.had > m.clock+mostDebt || modest.had < m.clock-mostCredit-time.Millisecond {
			t.Errorf("clock %v: a debt of %v, a credit of %v", m.clock, fair.had-m.clock, m.clock-modest.had)
		}
	})
}
