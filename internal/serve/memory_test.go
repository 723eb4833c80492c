package serve

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// listAnswer is the answer to a request of many.
type listAnswer struct {
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

// TestMemoryOfDocuments: repeated small requests for a large document are refused before memory is short, and accepted
// later; a request that can never fit gets another error.
func TestMemoryOfDocuments(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory, o.Debounce = 2<<20, time.Hour
	s := start(t, o)
	release := hold(s)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": strings.Repeat("1 ", 1<<16)})
	const n = 30
	ask := map[string]any{"uri": "u", "window": map[string]any{"policy": "head", "length": 100}}
	for i := range n {
		c.request(i, "sequence/classify", ask)
	}
	for range n - 8 { // its text takes 128 KiB, its tokens 256
		if m := c.message(); m.Error == nil || m.Error.Code != -32000 ||
			!strings.Contains(string(m.Error.Data), "retryAfter") {
			t.Fatalf("%s: %+v", m.ID, m.Error)
		}
	}
	close(release)
	eventually(t, "what was accepted is not answered", func() bool { return s.memory.used.Load() < 1<<18 })
	for len(c.in) > 0 {
		c.message()
	}
	c.call("again", "sequence/classify", ask, nil)
	// Its tokens would fit, but not while its text is copied.
	c.notify("sequence/didOpen", map[string]any{"uri": "large", "version": 1, "text": strings.Repeat("1 ", 225000)})
	c.refuse("large", "sequence/classify", map[string]any{"uri": "large"}, -32602, "--max-memory")
}

// TestMemoryOfJobs: a request of many has few jobs at a time, whatever it asks for,
// and all its answers in the end.
func TestMemoryOfJobs(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxBatchTokens, o.Debounce = 100, time.Hour // so that they wait
	s := start(t, o)
	release := hold(s)
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
	eventually(t, "not both wait", func() bool { jobs, _, _ := waiting(s); return jobs > maxAheadJobs+maxWindows })
	time.Sleep(20 * time.Millisecond)
	if jobs, _, _ := waiting(s); jobs > 2*maxAheadJobs+maxWindows {
		t.Errorf("%d jobs wait", jobs)
	}
	if used := s.memory.used.Load(); used < (maxAheadJobs+maxWindows)*jobBytes/2 {
		t.Errorf("%d bytes are counted", used)
	}
	c.notify("$/cancelRequest", map[string]any{"id": "windows"})
	if m := c.answer("windows"); m.Error == nil || m.Error.Code != -32800 {
		t.Errorf("%+v", m.Error)
	}
	if testing.Short() {
		c.notify("$/cancelRequest", map[string]any{"id": "short"})
		c.answer("short")
		close(release)
		return
	}
	close(release)
	var x listAnswer
	decode(t, c.answer("short").Result, &x)
	for i, r := range x.Results {
		if r.Index != i || r.Result == nil || r.Result.Length != 1+i%3 {
			t.Fatalf("%d: %+v", i, r)
		}
	}
	if len(x.Results) != n {
		t.Errorf("%d results", len(x.Results))
	}
}

// TestMemoryOfResults: results count until they are sent, so that the last of too many concurrent requests is refused,
// and accepted one by one.
func TestMemoryOfResults(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory = 1 << 20
	s := start(t, o)
	c := dial(t, s).initialize(struct{}{})
	const n = 1200
	ask := map[string]any{"sequences": slices.Repeat([]any{map[string]any{"tokens": []int{1}}}, n)}
	var x listAnswer
	c.call(1, "sequence/embed", ask, &x)
	good := 0
	for _, r := range x.Results {
		if r.Error == nil {
			good++
		} else if r.Error.Code != -32602 || !strings.Contains(r.Error.Message, "--max-memory") {
			t.Fatalf("%d: %+v", r.Index, r.Error)
		}
	}
	if most := int(o.MaxMemory) / (resultBytes + numberBytes*s.current().config.HiddenSize); good == 0 || good > most {
		t.Errorf("%d results of at most %d", good, most)
	}
	ask["partialResultToken"], ask["workDoneToken"] = "p", "w"
	c.request(2, "sequence/embed", ask)
	sent, total := 0, 0
	for m := c.message(); m.Method != ""; m = c.message() {
		var p struct {
			Value struct {
				listAnswer
				Total, Done *int
			}
		}
		decode(t, m.Params, &p)
		for _, r := range p.Value.Results {
			if r.Index != sent || r.Result == nil {
				t.Fatalf("%d: %+v", sent, r)
			}
			sent++
		}
		if p.Value.Total != nil {
			total = *p.Value.Total
		}
	}
	if sent != n || total != n {
		t.Errorf("%d results, a total of %d", sent, total)
	}
}

// TestClosedDocument: a document that was closed when a request gets to it has
// changed.
func TestClosedDocument(t *testing.T) {
	o := testOptions(t, "pre")
	o.Debounce = time.Hour
	s := start(t, o)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "1"})
	c.call(1, "model/info", nil, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.sessions {
		d := x.documents.find("u")
		d.close() // found before that, looked at after it
		_, err := (&call{session: x, model: s.model, edits: 1}).openDocument("uri", []byte(`"u"`))
		if err == nil || asError(err).Code != codeModified {
			t.Error(err)
		}
		x.documents.mu.Lock()
		delete(x.documents.open, "u")
		x.documents.mu.Unlock()
	}
}

// TestNewcomerAtServer: one short request is computed next, however much another
// client has asked for.
func TestNewcomerAtServer(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxBatchTokens = 1000
	s := start(t, o)
	release := hold(s)
	a, b := dial(t, s).initialize(struct{}{}), dial(t, s).initialize(struct{}{})
	long := map[string]any{"tokens": slices.Repeat([]int{1}, 500)}
	a.request("many", "sequence/classify", map[string]any{"sequences": slices.Repeat([]any{long}, 200)})
	eventually(t, "not all wait", func() bool { jobs, _, _ := waiting(s); return jobs > 190 })
	b.request(1, "sequence/classify", map[string]any{"tokens": []int{1, 2, 3}})
	eventually(t, "the newcomer does not wait", func() bool {
		jobs, _, _ := waiting(s)
		return jobs > 190 &&
			s.inflight() == 2
	})
	// The batches that hold jobs already are computed first. The other ones stay held, so that no
	// pause of the machine lets them pass.
	_, _, running := waiting(s)
	for range running + 4 {
		release <- struct{}{}
	}
	if m := b.answer(1); m.Error != nil {
		t.Fatal(m.Error)
	}
	if jobs, _, _ := waiting(s); jobs < 100 {
		t.Errorf("%d of 200 are left when the newcomer is answered", jobs)
	}
	close(release)
	a.notify("$/cancelRequest", map[string]any{"id": "many"})
	if m := a.answer("many"); m.Error == nil {
		t.Error("it was not cancelled")
	}
}

// inflight is how many calls are under way.
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
