package serve

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/fair"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
)

// occupyLargeTurns occupies all large turns of a server until end is called.
func occupyLargeTurns(t testing.TB, s *Server) (end func()) {
	t.Helper()
	var held []fair.Turn
	for range s.turns.Count(fair.Large).Limit {
		x := must.Get(s.turns.Share().Begin(t.Context(), fair.Large))(t)
		held = append(held, x)
	}
	return func() {
		for _, x := range held {
			x.End()
		}
	}
}

// shortHead is a window that takes little computation.
var shortHead = map[string]any{"policy": "head", "length": 16}

// TestShortTextIsSmall checks that the kind of a turn depends on the size of the text, not on the
// maximum memory of its tokens. Short texts and documents then need not wait for a large turn.
func TestShortTextIsSmall(t *testing.T) {
	o := testOptions(t, "pre")
	o.Load, o.Debounce = longModel(t), time.Hour
	s := startServer(t, o)
	text := strings.Repeat("1 ", fair.LargeBytes/4)
	if maxBytes := s.current().parser.Memory(int64(len(text))); maxBytes <= fair.LargeBytes {
		t.Fatalf("the tokens take at most %d bytes, want more than fair.LargeBytes", maxBytes)
	}
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": text})
	defer occupyLargeTurns(t, s)()
	c.call(1, "sequence/classify", map[string]any{"text": text, "window": shortHead}, nil)
	c.call(2, "sequence/classify", map[string]any{"uri": "u", "window": shortHead}, nil)
}

// waitingForLarge returns a function that reports whether the given number of sessions waits for a
// large turn.
func waitingForLarge(s *Server, sessions int) func() bool {
	return func() bool { return s.turns.Count(fair.Large).Waiting == sessions }
}

// TestScansTakeTurns checks that two scans wait for a large turn: parsing a large bare line, and searching
// large changes for a replacement of the whole text. Before its turn, only the line's text counts as
// memory.
func TestScansTakeTurns(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	c := dial(t, s)
	end := occupyLargeTurns(t, s)
	c.send(`{"tokens":[1` + strings.Repeat(",1", fair.LargeBytes) + `]}`)
	eventually(t, "the line does not wait for a turn", waitingForLarge(s, 1))
	if reading, used := s.readingMemory.used.Load(), s.memory.used.Load(); reading == 0 || used != reading {
		t.Errorf("got %d counted bytes, want the %d bytes being read", used, reading)
	}
	found := make(chan bool, 1)
	x := bareSession(s)
	x.ctx = t.Context()
	go func() {
		found <- x.replacesWholeText([]byte(`[` + strings.Repeat(" ", fair.LargeBytes) + `{"text":""}]`))
	}()
	eventually(t, "the changes do not wait for a turn", waitingForLarge(s, 2))
	end()
	if !<-found {
		t.Error("replacesWholeText returned false, want true")
	}
	if m := c.message(); m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("got %+v, want error -32602", m)
	}
}

// TestEditBesideLargeTurns checks that a document can be edited while a request to classify it
// waits for a large turn, and that later requests of the client are served.
func TestEditBesideLargeTurns(t *testing.T) {
	o := testOptions(t, "pre")
	o.Load, o.Debounce = longModel(t), time.Hour
	s := startServer(t, o)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1,
		"text": strings.Repeat("1 ", fair.LargeBytes)})
	c.expectServed() // the document is open
	end := occupyLargeTurns(t, s)
	defer end()
	c.request(1, "sequence/classify", map[string]any{"uri": "u", "window": shortHead})
	eventually(t, "the request does not wait for a turn", waitingForLarge(s, 1))
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
		t.Error("a request after a small edit waits for a large turn")
	}
}

// TestTurnsOfAMessage checks that all parts of a large message run in large turns, and all parts of
// a small message in small turns.
func TestTurnsOfAMessage(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	x := bareSession(s)
	x.ctx, x.stopRead = t.Context(), make(chan struct{})
	for kind, bytes := range map[fair.Kind]int{fair.Small: fair.LargeBytes, fair.Large: fair.LargeBytes + 1} {
		must.Check(t, x.runInTurns(bytes, func() error {
			for range 3 {
				if taken := s.turns.Count(kind).Running; taken != 1 {
					t.Errorf("message of %d bytes: got %d running turns of kind %d, want 1", bytes, taken, kind)
				}
				if err := x.yield(yieldWork); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// counted is a CPU device that records the number of cores reserved for turns.
type counted struct {
	tensor.Device
	reserved atomic.Int64
}

func (d *counted) Unwrap() tensor.Device { return d.Device }
func (d *counted) Reserve(n int)         { d.reserved.Store(int64(n)) }

// TestReloadMovesTurns checks that a reload moves the core reservation of running turns to the new
// model's device.
func TestReloadMovesTurns(t *testing.T) {
	o := testOptions(t, "pre")
	var devices []*counted
	o.Load = func() (*Model, error) {
		m := must.Get(sft.Load(goldenDir + "/pre"))(t)
		d := &counted{Device: cpu.New(2)}
		devices = append(devices, d)
		scorer, err := sft.NewScorer(m, d)
		return &Model{Scorer: scorer, Task: task.Of(scorer.Config()), Name: "counted", Device: d.Name(),
			Hash: Hash(m), Release: func() {}}, err
	}
	s := startServer(t, o)
	turn := must.Get(s.turns.Share().Begin(t.Context(), fair.Small))(t)
	if n := devices[0].reserved.Load(); n != 1 {
		t.Errorf("got %d reserved cores, want 1", n)
	}
	must.Succeed(t, s.Reload())
	if before, now := devices[0].reserved.Load(), devices[1].reserved.Load(); before != 0 || now != 1 {
		t.Errorf("got %d reserved cores on the old device and %d on the new, want 0 and 1", before, now)
	}
	turn.End()
	if before, now := devices[0].reserved.Load(), devices[1].reserved.Load(); before != 0 || now != 0 {
		t.Errorf("got %d and %d reserved cores, want 0 and 0", before, now)
	}
}
