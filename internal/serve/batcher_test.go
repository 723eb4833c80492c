package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/batching"
)

func randomTokens(r *rand.Rand, n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = 1 + r.Int32N(16)
	}
	return tokens
}

// TestBatchingIsBitExact checks that other requests in the batch do not change a result: logits and
// embeddings equal those of the scorer for the sequence alone, bit for bit.
func TestBatchingIsBitExact(t *testing.T) {
	for _, budget := range []int{0, 50, 700} {
		o := testOptions(t, "pre")
		o.MaxBatchTokens = budget
		s := startServer(t, o)
		var clients sync.WaitGroup
		for k := range 4 {
			c := dial(t, s).initialize(struct{}{})
			clients.Go(func() {
				r := rand.New(rand.NewPCG(uint64(k), uint64(budget)))
				wanted := map[string][]float32{}
				const n = 60
				for i := range n {
					tokens := randomTokens(r, 1+r.IntN(300))
					if i%5 == 4 {
						out, err := s.model.Scorer.Embeddings(context.Background(), [][]int32{tokens})
						if err != nil {
							t.Error(err)
							return
						}
						wanted[fmt.Sprint(i)] = out[0]
						c.request(i, "sequence/embed", map[string]any{"tokens": tokens})
						continue
					}
					wanted[fmt.Sprint(i)] = logits(t, s, tokens)
					c.request(i, "sequence/classify", map[string]any{"tokens": tokens})
				}
				for range n {
					m := c.message()
					var x struct{ Logits, Embedding []float32 }
					if m.Error != nil {
						t.Errorf("request %s: error %+v", m.ID, m.Error)
						return
					}
					decode(t, m.Result, &x)
					if got := append(x.Logits, x.Embedding...); !slices.Equal(got, wanted[string(m.ID)]) {
						t.Errorf("budget %d: request %s: got %v, want %v", budget, m.ID, got, wanted[string(m.ID)])
					}
				}
			})
		}
		clients.Wait()
	}
}

// blockBatches makes every batch wait until the caller closes release or the batch is cancelled.
func blockBatches(s *Server) (release chan struct{}) {
	release = make(chan struct{})
	s.batcher.Before = func(ctx context.Context) {
		select {
		case <-release:
		case <-ctx.Done():
		}
	}
	return release
}

// queueState returns the number of queued jobs, their tokens and the number of running batches.
func queueState(s *Server) (jobs, tokens, running int) {
	b := s.batcher.Stats()
	return b.Waiting, b.Tokens, b.Running
}

// eventually polls f until it returns true. If f does not do so within waitLimit, the test fails with the
// given message.
func eventually(t testing.TB, failure string, f func() bool) {
	t.Helper()
	for late := time.Now().Add(waitLimit); !f(); {
		if time.Now().After(late) {
			t.Fatal(failure)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestCancel checks that a cancelled request gets its error immediately, that other requests complete,
// and that the statistics count the cancelled sequences.
func TestCancel(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	release := blockBatches(s)
	a, b := dial(t, s).initialize(struct{}{}), dial(t, s).initialize(struct{}{})
	for i := range 20 {
		a.request(i, "sequence/classify", map[string]any{"tokens": []int{1, 2, 3}})
	}
	b.request("x", "sequence/classify", map[string]any{"tokens": []int{4}})
	b.request("y", "sequence/classify", map[string]any{"tokens": []int{5}})
	eventually(t, "fewer than two batches are running", func() bool {
		_, _, running := queueState(s)
		return running == 2
	})
	for i := range 20 {
		a.notify("$/cancelRequest", map[string]any{"id": i})
		if m := a.response(i); m.Error == nil || m.Error.Code != -32800 {
			t.Fatalf("request %d: got %+v, want error -32800", i, m)
		}
	}
	b.notify("$/cancelRequest", map[string]any{"id": "y"})
	if m := b.response("y"); m.Error == nil || m.Error.Code != -32800 {
		t.Fatalf("request y: got %+v, want error -32800", m)
	}
	close(release)
	if m := b.response("x"); m.Error != nil {
		t.Errorf("request x: error %+v", m.Error)
	}
	b.notify("$/cancelRequest", map[string]any{"id": "x"}) // ignored: x is complete
	b.call("z", "model/info", nil, nil)
	if s.stats().Cancelled != 21 {
		t.Errorf("%d sequences were cancelled, want 21", s.stats().Cancelled)
	}
}

// TestCancelStopsBatch checks that a running batch ends when its last job is cancelled.
func TestCancelStopsBatch(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	blockBatches(s) // never released: only a cancelled context ends a batch
	c := dial(t, s).initialize(struct{}{})
	c.request(1, "sequence/classify",
		map[string]any{"sequences": []any{map[string]any{"tokens": []int{1}}, map[string]any{"tokens": []int{2}}}})
	eventually(t, "no batch runs", func() bool { _, _, running := queueState(s); return running > 0 })
	c.notify("$/cancelRequest", map[string]any{"id": 1})
	if m := c.response(1); m.Error == nil || m.Error.Code != -32800 {
		t.Fatalf("got %+v, want error -32800", m)
	}
	eventually(t, "the batch is still running", func() bool {
		jobs, _, running := queueState(s)
		return running+jobs == 0
	})
}

// TestReload checks that pending requests complete with the old model, later requests use the new model, and
// the old model is released. The prediction for an open document is pushed once, from the new model.
func TestReload(t *testing.T) {
	o := testOptions(t, "pre")
	names, released := []string{"pre", "post"}, atomic.Int64{}
	o.Load = func() (*Model, error) {
		m, err := load(t, names[0])()
		names = names[1:]
		free := m.Release
		m.Release = func() { released.Add(1); free() }
		return m, err
	}
	s := startServer(t, o)
	release := blockBatches(s)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "1 2"})
	eventually(t, "the document is not classified", func() bool { _, _, running := queueState(s); return running > 0 })
	want := logits(t, s, []int32{1, 2})
	c.request(1, "sequence/classify", map[string]any{"tokens": []int{1, 2}})
	eventually(t, "the request is not queued", func() bool {
		jobs, _, running := queueState(s)
		return jobs+running > 1
	})
	must.Succeed(t, s.Reload())
	if released.Load() != 0 {
		t.Error("the old model was released while a request used it")
	}
	close(release)
	c.request(2, "sequence/classify", map[string]any{"tokens": []int{1, 2}})
	c.request(3, "sequence/classify", map[string]any{"uri": "u"})
	c.closeWrite()
	messages, err := c.end()
	must.Check(t, err)
	logitsByID := map[string][]float32{} // the ID "" holds the pushed logits of the document
	for _, text := range messages {
		var m struct {
			ID             json.RawMessage
			Result, Params struct{ Logits []float32 }
		}
		decode(t, []byte(text), &m)
		logitsByID[string(m.ID)] = append(logitsByID[string(m.ID)], append(m.Result.Logits, m.Params.Logits...)...)
	}
	now := logits(t, s, []int32{1, 2})
	if !slices.Equal(logitsByID["1"], want) || !slices.Equal(logitsByID["2"], now) || slices.Equal(want, now) {
		t.Errorf("got logits %v, want %v of the old model for 1 and %v of the new model for 2", logitsByID, want, now)
	}
	if !slices.Equal(logitsByID[""], logitsByID["3"]) { // pushed only once
		t.Errorf("document: pushed logits %v, want %v", logitsByID[""], logitsByID["3"])
	}
	eventually(t, "the old model is not released", func() bool { return released.Load() == 1 })
}

// bareSession returns a session that has no client.
func bareSession(s *Server) *session {
	return &session{server: s, share: s.turns.Share(), account: batching.Account{Log: s.log}, log: s.log}
}
