package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/testenv"
)

// mixedLoad sends valid and invalid requests of several kinds to a server from 64 concurrent clients.
// It checks that each request gets one response with the expected status, and that each vector is
// bitwise identical to the vector before the load.
type mixedLoad struct {
	server  attackedProcess
	client  *http.Client
	texts   []string // texts of 4 to 3,848 bytes
	vectors [][]byte // bodies of the responses of /embed for the texts
	r       *rand.Rand
	sent    atomic.Int64
}

// newMixedLoad returns a load for a server, after embedding each text once.
func newMixedLoad(tb testing.TB, server attackedProcess) *mixedLoad {
	tb.Helper()
	m := &mixedLoad{server: server, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64},
		Timeout: time.Minute}, texts: make([]string, 32), r: rand.New(rand.NewPCG(1, 2))}
	tb.Cleanup(m.client.CloseIdleConnections)
	for i := range m.texts {
		m.texts[i] = strings.Repeat("some text of it", 300)[:4+4*i*i]
	}
	for i := range m.texts {
		m.vectors = append(m.vectors, m.embed(tb, i))
	}
	return m
}

// embed requests the embedding of text i and returns the body of the response.
func (m *mixedLoad) embed(tb testing.TB, i int) []byte {
	m.sent.Add(1)
	text, _ := json.Marshal(m.texts[i])
	status, body, err := m.server.request(m.client, "/embed", httpToken, fmt.Sprintf(`{"text":%s}`, text))
	if err != nil || status != 200 {
		tb.Errorf("/embed of text %d: got status %d, body %.300q, error %v; want status 200, error <nil>", i, status,
			body, err)
	}
	return body
}

// mixedKinds lists the requests other than embedding a text.
var mixedKinds = []struct {
	path, token, body string
	status            int
}{
	{"/v1/embeddings", httpToken,
		`{"model":"another","input":["one","two and three"],"encoding_format":"base64"}`, 404},
	{"/classify", httpToken, `{"tokens":[1,2,3]}`, 200},
	{"/search", httpToken, `{"text":"x","k":10}`, 200},
	{"/classify", httpToken, `{"text":`, 400},
	{"/embed", httpToken, `{"tokens":[-1]}`, 400},
	{"/score", httpToken, `{}`, 404},
	{"/nowhere", httpToken, `{}`, 404},
	{"/classify", "a-wrong-token-000", `{"text":"x"}`, 401},
}

// send sends n requests and returns after all responses have arrived.
func (m *mixedLoad) send(tb testing.TB, n int) {
	var clients sync.WaitGroup
	for k := range 64 {
		seed := m.r.Uint64()
		clients.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(k)))
			for range n*(k+1)/64 - n*k/64 {
				if r.IntN(3) > 0 {
					if i := r.IntN(len(m.texts)); !bytes.Equal(m.embed(tb, i), m.vectors[i]) {
						tb.Errorf("text %d: the vector differs from the vector before the load", i)
					}
					continue
				}
				m.sent.Add(1)
				kind := mixedKinds[r.IntN(len(mixedKinds))]
				if status, body, err := m.server.request(m.client, kind.path, kind.token, kind.body); err != nil ||
					status != kind.status {
					tb.Errorf("%s %s: %d %.300s, %v, want %d", kind.path, kind.body, status,
						body, err, kind.status)
				}
			}
		})
	}
	clients.Wait()
}

// memory returns the resident memory of the server in MiB.
func (m *mixedLoad) memory(tb testing.TB) float64 {
	return float64(resident(tb, m.server.pid, "VmRSS")) / (1 << 20)
}

// checkLog expects one line in the access log for each request, each with a distinct id.
func (m *mixedLoad) checkLog(tb testing.TB) {
	tb.Helper()
	logLine := regexp.MustCompile(`(?m)^time=\S+ level=INFO msg=request method=POST path=/\S+ status=\d+ seconds=\S+ ` +
		`tokens=\d+ client=127\.0\.0\.1:\d+ request_id=(\w{26})$`)
	ids := map[string]bool{}
	lines := 0
	await(tb, 30*time.Second, func() bool {
		found := logLine.FindAllStringSubmatch(readText(tb, m.server.log), -1)
		for _, line := range found[lines:] {
			ids[line[1]] = true
		}
		lines = len(found)
		return lines >= int(m.sent.Load())
	}, "the access log lacks lines")
	if n := int(m.sent.Load()); lines != n || len(ids) != n {
		tb.Errorf("%d lines with %d different ids, want %d of each", lines, len(ids), n)
	}
}

// TestAccessLogConcurrent checks that the access log has one line for each request of 64 concurrent
// clients.
func TestAccessLogConcurrent(t *testing.T) {
	testenv.Long(t, "builds the program")
	m := newMixedLoad(t, attackedServer(t, 100, "--log", "info", "--access-log"))
	m.send(t, 2000)
	m.checkLog(t)
}

// BenchmarkAccessLog compares the throughput of servers with and without the access log. Two
// servers of each kind together serve b.N requests, alternately in 20 rounds. They start in the
// order logged, silent, silent, logged because the start order affects their speed. The metric ratio
// is the median over the rounds of the time without the log divided by the time with the log.
//
//	go test ./cmd/sftseq -run '^$' -bench AccessLog -benchtime 100000x -timeout 60m
func BenchmarkAccessLog(b *testing.B) {
	const rounds = 20
	var servers []*mixedLoad
	logs := []bool{true, false, false, true}
	for _, log := range logs {
		flags := []string{"--log", "info", "--access-log"}
		if !log {
			flags = nil
		}
		servers = append(servers, newMixedLoad(b, attackedServer(b, 1000, flags...)))
	}
	var ratios []float64
	var logged, silent time.Duration
	var half float64
	b.ResetTimer()
	for round := range rounds {
		elapsed := map[bool]time.Duration{}
		for turn := range servers {
			i := (turn + round) % len(servers)
			start := time.Now()
			servers[i].send(b, b.N*(round+1)/(2*rounds)-b.N*round/(2*rounds))
			elapsed[logs[i]] += time.Since(start)
		}
		logged, silent = logged+elapsed[true], silent+elapsed[false]
		ratios = append(ratios, elapsed[false].Seconds()/elapsed[true].Seconds())
		if round == rounds/2 {
			half = servers[0].memory(b)
		}
	}
	b.StopTimer()
	servers[0].checkLog(b)
	servers[3].checkLog(b)
	slices.Sort(ratios)
	b.ReportMetric((ratios[rounds/2-1]+ratios[rounds/2])/2, "ratio")
	b.ReportMetric(silent.Seconds()/logged.Seconds(), "ratio-of-sums")
	b.ReportMetric(half, "MiB-half")
	b.ReportMetric(servers[0].memory(b), "MiB-end")
	b.ReportMetric(float64(b.N)/logged.Seconds(), "requests/s")
}

// BenchmarkHTTPMixed reports the server's memory before a mixedLoad and after one fifth, three fifths
// and all of its requests. The values show whether the server leaks memory.
//
//	go test ./cmd/sftseq -run '^$' -bench HTTPMixed -benchtime 100000x
func BenchmarkHTTPMixed(b *testing.B) {
	m := newMixedLoad(b, attackedServer(b, 100_000))
	before, sent := m.memory(b), m.sent.Load()
	b.ResetTimer()
	m.send(b, b.N/5)
	fifth := m.memory(b)
	m.send(b, b.N*3/5-b.N/5)
	middle := m.memory(b)
	m.send(b, b.N-b.N*3/5)
	b.StopTimer()
	if n := m.sent.Load() - sent; n != int64(b.N) {
		b.Errorf("%d requests, want %d", n, b.N)
	}
	b.ReportMetric(before, "MiB-before")
	b.ReportMetric(fifth, "MiB-fifth")
	b.ReportMetric(middle, "MiB-3/5")
	b.ReportMetric(m.memory(b), "MiB-end")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
