package serve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// loadVariable names the environment variable with the number of requests of TestLoad. It selects the
// long form of both load tests. The figures in docs/performance.md use 100000.
const loadVariable = "SFTSEQ_LOAD"

// loadRequests returns the number of requests set by loadVariable, or 0 for the short form of the
// tests.
func loadRequests(t *testing.T) int {
	text := os.Getenv(loadVariable)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		t.Fatalf("%s: expected a number of at least 1000, found %q", loadVariable, text)
	}
	return n
}

// TestLoad sends requests from 16 clients, with log-uniform lengths from 10 to 4,000 tokens, or to
// 400 in the short form. About 5% are cancelled and 5% invalid. Every request must get exactly one
// response. In the long form, the size of the heap must not change by more than 5%.
func TestLoad(t *testing.T) {
	total, longest := 1600, 400.0
	long := loadRequests(t)
	if long > 0 {
		total, longest = long, 4000.0
	} else if testing.Short() {
		total = 800
	}
	const clients = 16
	total -= total % (5 * clients)
	s := startServer(t, testOptions(t, "pre"))
	type loader struct {
		*client
		r    *rand.Rand
		sent int
	}
	var loaders []*loader
	for k := range clients {
		loaders = append(loaders, &loader{client: dial(t, s).initialize(struct{}{}),
			r: rand.New(rand.NewPCG(uint64(k), 9))})
	}
	var counts [4]atomic.Int64 // results, cancelled, invalid, unexpected
	var heaps []uint64         // idle heap bytes after 20, 60 and 100% of the requests
	for _, fifths := range []int{1, 3, 5} {
		var wg sync.WaitGroup
		for k, c := range loaders {
			wg.Go(func() {
				n := total / clients * fifths / 5
				waiting := map[string]int{} // request id to kind
				for c.sent < n || len(waiting) > 0 {
					for c.sent < n && len(waiting) < 8 {
						kind := 0
						switch x := c.r.IntN(20); x {
						case 0:
							kind = 1
						case 1:
							kind = 2
						}
						tokens := randomTokens(c.r, int(10*math.Pow(longest/10, c.r.Float64())))
						if kind == 2 {
							tokens[0] = 99
						}
						c.request(c.sent, "sequence/classify", map[string]any{"tokens": tokens})
						if kind == 1 {
							c.notify("$/cancelRequest", map[string]any{"id": c.sent})
						}
						waiting[fmt.Sprint(c.sent)] = kind
						c.sent++
					}
					m := c.message()
					kind, ok := waiting[string(m.ID)]
					delete(waiting, string(m.ID))
					code := 0
					if m.Error != nil {
						code = m.Error.Code
					}
					switch {
					case !ok:
						t.Errorf("client %d: duplicate or unexpected response %s", k, m.ID)
					case code == 0 && kind != 2:
						counts[0].Add(1)
					case code == -32800 && kind == 1:
						counts[1].Add(1)
					case code == -32602 && kind == 2:
						counts[2].Add(1)
					default:
						counts[3].Add(1)
						t.Errorf("client %d: request %s: got error %+v, want %s", k, m.ID, m.Error,
							[]string{"none", "none or -32800", "-32602"}[kind])
					}
				}
			})
		}
		wg.Wait()
		runtime.GC()
		runtime.GC() // the second collection empties sync.Pool
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heaps = append(heaps, m.HeapAlloc)
	}
	x := s.stats()
	t.Logf("%d results, %d cancelled, %d invalid; %d batches of %d sequences, %d tokens in %.1f s; %+v; heaps %v",
		counts[0].Load(), counts[1].Load(), counts[2].Load(),
		x.Batches, x.Sequences, x.Computed, x.Uptime, x.Recent, heaps)
	if long == 0 {
		return
	}
	for _, h := range heaps {
		if math.Abs(float64(h)/float64(heaps[0])-1) > 0.05 {
			t.Errorf("heap: got %d bytes after 20, 60 and 100%% of the requests, want a change of at most 5%%", heaps)
			break
		}
	}
}

// TestLoneRequests measures the server's overhead per request of 100 tokens without concurrent requests.
// In the long form, the median overhead must be at most 1 ms.
func TestLoneRequests(t *testing.T) {
	n := 100
	long := loadRequests(t) > 0
	if long {
		n = 1000
	}
	s := startServer(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	r := rand.New(rand.NewPCG(1, 9))
	for i := range n {
		c.call(i, "sequence/classify", map[string]any{"tokens": randomTokens(r, 100)}, nil)
	}
	x := s.stats().Recent
	t.Logf("%+v", *x)
	if long && x.OwnMedian > 1 {
		t.Errorf("got a median overhead of %.3f ms, want at most 1", x.OwnMedian)
	}
}
