package serve

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/index"
	"github.com/sftseq/sftseq/internal/must"
)

// TestSearchDoesNotBlock checks that a search blocks neither additions to the index nor server/stats.
func TestSearchDoesNotBlock(t *testing.T) {
	s := startServer(t, optionsWithIndex(t, "pre"))
	vector := make([]float32, s.current().config.HiddenSize)
	must.Succeed(t, s.index.Add(index.Item{ID: "a", Vector: vector})())
	searching, release := make(chan struct{}), make(chan struct{})
	begun := sync.OnceFunc(func() { close(searching) })
	var all sync.WaitGroup
	all.Go(func() {
		s.index.Search(index.Query{Vector: vector}, 1, func(piece func()) error {
			begun()
			<-release
			piece()
			return nil
		})
	})
	<-searching
	done := make(chan struct{})
	go func() {
		defer close(done)
		must.Check(t, s.index.Add(index.Item{ID: "b", Vector: vector})())
		s.stats()
	}()
	select {
	case <-done:
	case <-time.After(waitLimit):
		t.Errorf("during a search: Add or stats took over %v, want both to return", waitLimit)
	}
	close(release)
	all.Wait()
	<-done
}

// TestIndexFails checks a failed index. The failure is logged once and appears in the stats,
// metrics and health check. Changes get an error, while searches still work.
func TestIndexFails(t *testing.T) {
	o := optionsWithIndex(t, "pre")
	dir := filepath.Join(t.TempDir(), "index")
	must.Succeed(t, os.Mkdir(dir, 0o777))
	o.Index = filepath.Join(dir, "index.arrow")
	var mu sync.Mutex
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&locked{mu: &mu, w: &log}, nil))
	s := startServer(t, o)
	web := httptest.NewServer(s.Metrics())
	defer web.Close()
	defer http.DefaultClient.CloseIdleConnections()
	get := func(path string) string {
		r := must.Get(http.Get(web.URL + path))(t)
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		return fmt.Sprint(r.StatusCode, " ", string(text))
	}
	c := dial(t, s).initialize(struct{}{})
	c.call(1, "retrieval/add", map[string]any{"id": "a", "tokens": []int{1, 2}}, nil)
	if text := get("/metrics"); !strings.Contains(text, "\nsftseq_index_failed 0\n") ||
		!strings.Contains(text, "\nsftseq_index_items 1\n") || !strings.Contains(text, "\nsftseq_index_bytes ") {
		t.Errorf("got metrics %s, want an intact index of 1 item", text)
	}
	if err := os.Rename(dir, dir+" moved"); err != nil { // the index file can no longer be rewritten
		t.Fatal(err)
	}
	vector := make([]float32, s.current().config.HiddenSize)
	for range 5000 {
		s.index.Add(index.Item{ID: "b", Vector: vector})
	}
	eventually(t, "the index has not failed", func() bool { return s.index.Failure() != nil })
	for n := range 3 {
		c.expectError(n, "retrieval/add", map[string]any{"id": "c", "tokens": []int{1}}, -32803,
			"the index cannot be changed until a restart")
	}
	c.call(4, "retrieval/search", map[string]any{"tokens": []int{1, 2}}, nil)
	var x struct{ Index indexStats }
	if c.call(5, "server/stats", nil, &x); !x.Index.Failed || x.Index.Items != 2 {
		t.Errorf("got stats %+v, want a failed index of 2 items", x)
	}
	if text := get("/metrics"); !strings.Contains(text, "\nsftseq_index_failed 1\n") {
		t.Errorf("got metrics %s, want a failed index", text)
	}
	if text := get("/healthz"); text != "503 the index has failed\n" {
		t.Errorf("got /healthz %q, want 503", text)
	}
	mu.Lock()
	defer mu.Unlock()
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 ||
		!strings.Contains(log.String(), "the index has failed") {
		t.Errorf("got %d logged errors, want 1: %s", n, log.String())
	}
}

// locked is a writer that several goroutines may use.
type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// TestWatchersAreBounded checks that one connection above maxWatchers makes the metrics server close the
// oldest connection, but not the second.
func TestWatchersAreBounded(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer s.ServeMetrics(l)()
	var conns []net.Conn
	for n := range maxWatchers + 1 {
		conn := must.Get(net.Dial("tcp", l.Addr().String()))(t)
		t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		conn.SetReadDeadline(time.Now().Add(waitLimit))
		must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t, n)
		conns = append(conns, conn)
	}
	for n, conn := range conns[:2] {
		conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		if closed := !errors.Is(err, os.ErrDeadlineExceeded); closed != (n == 0) {
			t.Errorf("connection %d: got error %v, want only connection 0 closed", n, err)
		}
	}
}

// TestMetricsBesideSlowClients checks that requests for metrics and health get responses within a second
// beside 500 connections with incomplete requests.
func TestMetricsBesideSlowClients(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer s.ServeMetrics(l)()
	for n := range 500 {
		conn := must.Get(net.Dial("tcp", l.Addr().String()))(t)
		t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, []string{"", "GET /met",
			"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"}[n%3])
	}
	client := &http.Client{Timeout: time.Second}
	for _, path := range []string{"/healthz", "/metrics"} {
		r := must.Get(client.Get("http://" + l.Addr().String() + path))(t)
		if r.Body.Close(); r.StatusCode != http.StatusOK {
			t.Errorf("%s: got %s, want 200", path, r.Status)
		}
	}
}

// TestMetricsBesideIncompleteRequests checks that clients that never send their request bodies do not
// block another client, even if they use all maxWatchers connections.
func TestMetricsBesideIncompleteRequests(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer s.serveMetrics(l, time.Second)()
	requestHealth := func(header string) net.Conn {
		conn := must.Get(net.Dial("tcp", l.Addr().String()))(t)
		t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n"+header+"\r\n")
		return conn
	}
	for range maxWatchers {
		requestHealth("Content-Length: 100\r\n")
	}
	conn := requestHealth("")
	conn.SetReadDeadline(time.Now().Add(waitLimit))
	if r := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t); r.StatusCode != http.StatusOK {
		t.Errorf("another client got %s, want 200", r.Status)
	}
}
