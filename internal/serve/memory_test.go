package serve

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// listResponse is the response to a request with a list.
type listResponse struct {
	Results []struct {
		Index  int
		Result *struct {
			Length    int
			Embedding []float32
		}
		Error *struct {
			Code    int
			Message string
		}
	}
}

// TestMemoryOfDocuments checks that repeated small requests for a large document count its text and
// tokens. The server refuses them with retryAfter before memory runs out. A request that can never
// fit fails with −32602.
func TestMemoryOfDocuments(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory, o.Debounce = 2<<20, time.Hour
	s := startServer(t, o)
	release := blockBatches(s)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": strings.Repeat("1 ", 1<<16)})
	const n = 30
	params := map[string]any{"uri": "u", "window": map[string]any{"policy": "head", "length": 100}}
	for i := range n {
		c.request(i, "sequence/classify", params)
	}
	for range n - 8 { // at most 8 requests fit, because each holds 256 KiB of tokens
		if m := c.message(); m.Error == nil || m.Error.Code != -32000 ||
			!strings.Contains(string(m.Error.Data), "retryAfter") {
			t.Fatalf("request %s: got error %+v, want -32000 with retryAfter", m.ID, m.Error)
		}
	}
	close(release)
	eventually(t, "the accepted requests are not complete", func() bool { return s.memory.used.Load() < 1<<18 })
	for len(c.in) > 0 {
		c.message()
	}
	c.call("again", "sequence/classify", params, nil)
	// The tokens alone would fit, but not together with the copy of the text.
	c.notify("sequence/didOpen", map[string]any{"uri": "large", "version": 1, "text": strings.Repeat("1 ", 225000)})
	c.expectError("large", "sequence/classify", map[string]any{"uri": "large"}, -32602, "--max-memory")
}

// TestMemoryOfJobs checks that requests with many elements or windows queue a bounded number of jobs at
// a time, and that the request with many elements still gets all its results.
func TestMemoryOfJobs(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxBatchTokens, o.Debounce = 100, time.Hour // small batches, so jobs stay queued
	s := startServer(t, o)
	release := blockBatches(s)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": strings.Repeat("1 ", 4000)})
	sliding := map[string]any{"uri": "u", "window": map[string]any{"policy": "sliding", "length": 1, "stride": 1}}
	c.request("windows", "sequence/classify", map[string]any{"sequences": slices.Repeat([]any{sliding}, 20)})
	const n = 5000
	var short []any
	for i := range n {
		short = append(short, map[string]any{"tokens": slices.Repeat([]int{1}, 1+i%3)})
	}
	c.request("short", "sequence/embed", map[string]any{"sequences": short})
	eventually(t, "too few jobs are queued", func() bool {
		jobs, _, _ := queueState(s)
		return jobs > maxAheadJobs+maxWindows
	})
	time.Sleep(20 * time.Millisecond)
	if jobs, _, _ := queueState(s); jobs > 2*maxAheadJobs+maxWindows {
		t.Errorf("%d jobs are queued, want at most 2*maxAheadJobs+maxWindows", jobs)
	}
	if used := s.memory.used.Load(); used < (maxAheadJobs+maxWindows)*jobBytes/2 {
		t.Errorf("got %d counted bytes for the jobs, want at least %d", used, (maxAheadJobs+maxWindows)*jobBytes/2)
	}
	c.notify("$/cancelRequest", map[string]any{"id": "windows"})
	if m := c.response("windows"); m.Error == nil || m.Error.Code != -32800 {
		t.Errorf("got error %+v, want -32800", m.Error)
	}
	if testing.Short() {
		c.notify("$/cancelRequest", map[string]any{"id": "short"})
		c.response("short")
		close(release)
		return
	}
	close(release)
	var x listResponse
	decode(t, c.response("short").Result, &x)
	for i, r := range x.Results {
		if r.Index != i || r.Result == nil || r.Result.Length != 1+i%3 {
			t.Fatalf("result %d: got index %d, result %+v, error %+v; want index %[1]d and length %[5]d", i, r.Index,
				r.Result, r.Error, 1+i%3)
		}
	}
	if len(x.Results) != n {
		t.Errorf("got %d results, want %d", len(x.Results), n)
	}
}

// TestMemoryOfResults checks that results count as memory until they are sent. For a large list, results
// above the limit are refused, but all results are sent if the client requests partial results.
func TestMemoryOfResults(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory = 1 << 20
	s := startServer(t, o)
	c := dial(t, s).initialize(struct{}{})
	const n = 1200
	params := map[string]any{"sequences": slices.Repeat([]any{map[string]any{"tokens": []int{1}}}, n)}
	var x listResponse
	c.call(1, "sequence/embed", params, &x)
	good := 0
	for _, r := range x.Results {
		if r.Error == nil {
			good++
		} else if r.Error.Code != -32602 || !strings.Contains(r.Error.Message, "--max-memory") {
			t.Fatalf("result %d: got error %+v, want -32602", r.Index, r.Error)
		}
	}
	limit := int(o.MaxMemory) / (resultBytes + numberBytes*s.current().config.HiddenSize)
	if good == 0 || good > limit {
		t.Errorf("got %d results, want 1 to %d", good, limit)
	}
	params["partialResultToken"], params["workDoneToken"] = "p", "w"
	c.request(2, "sequence/embed", params)
	sent, total := 0, 0
	for m := c.message(); m.Method != ""; m = c.message() {
		var p struct {
			Value struct {
				listResponse
				Total, Done *int
			}
		}
		decode(t, m.Params, &p)
		for _, r := range p.Value.Results {
			if r.Index != sent || r.Result == nil {
				t.Fatalf("result %d: got index %d, result %+v, error %+v; want index %[1]d and a result", sent, r.Index,
					r.Result, r.Error)
			}
			sent++
		}
		if p.Value.Total != nil {
			total = *p.Value.Total
		}
	}
	if sent != n || total != n {
		t.Errorf("got %d results and total %d, want %d", sent, total, n)
	}
}

// TestClosedDocument checks that a request fails with codeModified if its document is closed before
// the request reads it.
func TestClosedDocument(t *testing.T) {
	o := testOptions(t, "pre")
	o.Debounce = time.Hour
	s := startServer(t, o)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "1"})
	c.call(1, "model/info", nil, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.sessions {
		d := x.documents.find("u")
		d.close() // closed after find and before documentSequence
		_, err := (&call{session: x, model: s.model, edits: 1}).documentSequence("uri", []byte(`"u"`))
		if err == nil || asError(err).Code != codeModified {
			t.Errorf("got error %v, want code %d", err, codeModified)
		}
		x.documents.mu.Lock()
		delete(x.documents.open, "u")
		x.documents.mu.Unlock()
	}
}

// TestNewcomerAtServer checks that a short request runs before at least half of another client's queued
// jobs.
func TestNewcomerAtServer(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxBatchTokens = 1000
	s := startServer(t, o)
	release := blockBatches(s)
	a, b := dial(t, s).initialize(struct{}{}), dial(t, s).initialize(struct{}{})
	long := map[string]any{"tokens": slices.Repeat([]int{1}, 500)}
	a.request("many", "sequence/classify", map[string]any{"sequences": slices.Repeat([]any{long}, 200)})
	eventually(t, "the jobs are not queued", func() bool { jobs, _, _ := queueState(s); return jobs > 190 })
	b.request(1, "sequence/classify", map[string]any{"tokens": []int{1, 2, 3}})
	eventually(t, "the second client's request is not pending", func() bool {
		jobs, _, _ := queueState(s)
		return jobs > 190 &&
			s.inflight() == 2
	})
	// Release the batches that already hold jobs, and four more. All other batches stay blocked, so
	// the test does not depend on timing.
	_, _, running := queueState(s)
	for range running + 4 {
		release <- struct{}{}
	}
	if m := b.response(1); m.Error != nil {
		t.Fatal(m.Error)
	}
	if jobs, _, _ := queueState(s); jobs < 100 {
		t.Errorf("only %d of 200 jobs are left at the response to the second client, want at least 100", jobs)
	}
	close(release)
	a.notify("$/cancelRequest", map[string]any{"id": "many"})
	if m := a.response("many"); m.Error == nil {
		t.Error("the request was not cancelled")
	}
}

// inflight returns the number of pending calls of all sessions.
func (s *Server) inflight() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.sessions {
		x.mu.Lock()
		n += len(x.calls)
		x.mu.Unlock()
	}
	return n
}

// TestMemoryBesideIdleConnections checks that a request for more than half of the memory succeeds
// beside an idle connection, and that two clients with such requests both succeed if they retry. A
// request that can never fit gets status 400 without Retry-After.
func TestMemoryBesideIdleConnections(t *testing.T) {
	o := truncatingOptions(t, "pre")
	o.MaxMemory = 8 << 20
	w := startHTTP(t, o, HTTPOptions{})
	idle := w.dial()
	defer idle.Close()
	bodyOf := func(bytes int) string { return `{"text":"` + strings.Repeat("1 ", bytes/2) + `"}` }
	const size = 700_000
	if need := int64(size) + w.server.model.parser.Memory(size); need < o.MaxMemory/2 || need > o.MaxMemory*15/16 {
		t.Fatalf("the request needs %d bytes, want more than half and less than 15/16 of %d", need, o.MaxMemory)
	}
	eventually(t, "the connection is not accepted", func() bool { return w.server.sessionCount.Load() == 1 })
	w.post("/classify", bodyOf(size))
	var clients sync.WaitGroup
	for range 2 {
		clients.Go(func() {
			for range 3 {
				for tries := 1; ; tries++ {
					r, got := w.send("POST", "/classify", bodyOf(size))
					if r.StatusCode == http.StatusOK {
						break
					}
					wait, err := strconv.Atoi(r.Header.Get("Retry-After-Ms"))
					if r.StatusCode != http.StatusTooManyRequests || err != nil || tries == 1000 {
						t.Errorf("try %d: got %s, %.200s, want 429 with Retry-After-Ms", tries, r.Status, got)
						return
					}
					time.Sleep(time.Duration(wait) * time.Millisecond)
				}
			}
		})
	}
	clients.Wait()
	eventually(t, "memory is not released", func() bool {
		return w.server.exceeding.Load() == nil && w.server.memory.used.Load() == 0
	})
	r, got := w.send("POST", "/classify", bodyOf(1_500_000))
	if r.StatusCode != http.StatusBadRequest || r.Header.Get("Retry-After") != "" ||
		!strings.Contains(got, "15/16 of --max-memory: it needs at least ") {
		t.Errorf("a request that can never fit: got %s, %.200s, want 400 without Retry-After", r.Status, got)
	}
}

// TestMemoryOfExceedingSession checks that only one session at a time may exceed its limit, and that
// memory remains for the small requests of other sessions.
func TestMemoryOfExceedingSession(t *testing.T) {
	s := &Server{memory: memory{limit: 1600}}
	s.sessionCount.Store(3)
	a, b, c := &session{server: s}, &session{server: s}, &session{server: s}
	if !a.reserveForRequest(1000) || b.reserveForRequest(400) || !b.reserveForRequest(250) {
		t.Error("expected only the first session to hold more than the free memory")
	}
	if a.reserveForRequest(300) || !c.reserveForRequest(100) {
		t.Error("expected a sixteenth of the memory to remain for other sessions")
	}
	a.release(1000)
	if s.exceeding.Load() != nil || !b.reserveForRequest(600) || s.exceeding.Load() != b {
		t.Error("expected another session to exceed its limit after the first")
	}
	b.release(850)
	c.release(100)
	if !a.reserve(600) || !b.reserve(450) || !a.reserveForRequest(300) {
		t.Error("expected a session that holds documents to exceed its limit")
	}
	a.release(300)
	b.release(450)
	if !c.reserveForRequest(850) || s.exceeding.Load() != c {
		t.Error("expected another session to exceed its limit, after others released memory")
	}
	if a.reserveForRequest(60) || !b.reserveForRequest(60) {
		t.Error("expected memory to remain only for sessions that hold little")
	}
	b.release(60)
	c.release(850)
	a.release(600)
	if used := s.memory.used.Load(); used != 0 || s.exceeding.Load() != nil {
		t.Errorf("got %d used bytes and session %p, want none", used, s.exceeding.Load())
	}
}
