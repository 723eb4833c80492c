package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkHTTPMixed sends requests of every kind to the program, good and bad, by 64
// clients at once. Each is answered once and as it should be, vectors with the same bits
// as before the load; the server's memory after a fifth, three fifths and all of them says
// whether any is left behind.
//
//	go test ./cmd/sftseq -run '^$' -bench HTTPMixed -benchtime 100000x
func BenchmarkHTTPMixed(b *testing.B) {
	server := attackedServer(b, 100_000)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	texts := make([]string, 32) // of 4 to 3,848 bytes
	r := rand.New(rand.NewPCG(1, 2))
	for i := range texts {
		texts[i] = strings.Repeat("some text of it", 300)[:4+4*i*i]
	}
	vectors := make([][]byte, len(texts))
	embed := func(i int) []byte {
		text, _ := json.Marshal(texts[i])
		status, answer, err := server.asks(client, "/embed", httpToken, fmt.Sprintf(`{"text":%s}`, text))
		if err != nil || status != 200 {
			b.Errorf("/embed: %d %.300s, %v", status, answer, err)
		}
		return answer
	}
	for i := range vectors {
		vectors[i] = embed(i)
	}
	kinds := []struct {
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
	memory := func() float64 { return float64(resident(b, server.pid, "VmRSS")) / (1 << 20) }
	before := memory()
	b.ResetTimer()
	var sent atomic.Int64
	load := func(n int) {
		var clients sync.WaitGroup
		for k := range 64 {
			seed := r.Uint64()
			clients.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(k)))
				for range n*(k+1)/64 - n*k/64 {
					sent.Add(1)
					if r.IntN(3) > 0 {
						if i := r.IntN(len(texts)); !bytes.Equal(embed(i), vectors[i]) {
							b.Errorf("text %d has another vector", i)
						}
						continue
					}
					kind := kinds[r.IntN(len(kinds))]
					if status, answer, err := server.asks(client, kind.path, kind.token, kind.body); err != nil ||
						status != kind.status {
						b.Errorf("%s %s: %d %.300s, %v, want %d", kind.path, kind.body, status,
							answer, err, kind.status)
					}
				}
			})
		}
		clients.Wait()
	}
	load(b.N / 5)
	fifth := memory()
	load(b.N*3/5 - b.N/5)
	middle := memory()
	load(b.N - b.N*3/5)
	b.StopTimer()
	if sent.Load() != int64(b.N) {
		b.Errorf("%d requests, want %d", sent.Load(), b.N)
	}
	b.ReportMetric(before, "MiB-before")
	b.ReportMetric(fifth, "MiB-fifth")
	b.ReportMetric(middle, "MiB-3/5")
	b.ReportMetric(memory(), "MiB-end")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
