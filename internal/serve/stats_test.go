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

// TestSearchHoldsNothingUp: during a search items are added and server/stats replies.
func TestSearchHoldsNothingUp(t *testing.T) {
	s := start(t, withIndex(t, "pre"))
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
	case <-time.After(patience):
		t.Error("the search holds others up")
	}
	close(release)
	all.Wait()
	<-done
}

// TestIndexFails: the log has the failure once, and the metrics have it; clients get an error for changes, and may
// search.
func TestIndexFails(t *testing.T) {
	o := withIndex(t, "pre")
	dir := filepath.Join(t.TempDir(), "here")
	must.Succeed(t, os.Mkdir(dir, 0o777))
	o.Index = filepath.Join(dir, "index.arrow")
	var mu sync.Mutex
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&locked{mu: &mu, w: &log}, nil))
	s := start(t, o)
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
		t.Errorf("%s", text)
	}
	if err := os.Rename(dir, dir+" no more"); err != nil { // it cannot be written anew
		t.Fatal(err)
	}
	vector := make([]float32, s.current().config.HiddenSize)
	for range 5000 {
		s.index.Add(index.Item{ID: "b", Vector: vector})
	}
	eventually(t, "the index does not fail", func() bool { return s.index.Failure() != nil })
	for n := range 3 {
		c.refuse(n, "retrieval/add", map[string]any{"id": "c", "tokens": []int{1}}, -32803,
			"nothing can be changed any more before a restart")
	}
	c.call(4, "retrieval/search", map[string]any{"tokens": []int{1, 2}}, nil)
	var x struct{ Index indexStats }
	if c.call(5, "server/stats", nil, &x); !x.Index.Failed || x.Index.Items != 2 {
		t.Errorf("%+v", x)
	}
	if text := get("/metrics"); !strings.Contains(text, "\nsftseq_index_failed 1\n") {
		t.Errorf("%s", text)
	}
	if text := get("/healthz"); text != "503 the index has failed\n" {
		t.Errorf("%q", text)
	}
	mu.Lock()
	defer mu.Unlock()
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 ||
		!strings.Contains(log.String(), "the index has failed") {
		t.Errorf("%d errors: %s", n, log.String())
	}
}

// locked is a writer for several goroutines.
type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// TestWatchersAreBounded: of more connections than maxWatchers the oldest are closed.
func TestWatchersAreBounded(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer s.ServeMetrics(l)()
	var conns []net.Conn
	for n := range maxWatchers + 1 {
		conn := must.Get(net.Dial("tcp", l.Addr().String()))(t)
		t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		conn.SetReadDeadline(time.Now().Add(patience))
		must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t, n)
		conns = append(conns, conn)
	}
	for n, conn := range conns[:2] {
		conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		if closed := !errors.Is(err, os.ErrDeadlineExceeded); closed != (n == 0) {
			t.Errorf("connection %d: %v", n, err)
		}
	}
}

// TestMetricsBesideSlowClients: beside hundreds of connections that send nothing or half a request,
// metrics answer within a second.
func TestMetricsBesideSlowClients(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
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
			t.Errorf("%s: %s", path, r.Status)
		}
	}
}

// TestMetricsOfHalfARequest: who announces a body and does not send it, on all connections
// that there may be, keeps others out for a moment alone.
func TestMetricsOfHalfARequest(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer s.serveMetrics(l, 200*time.Millisecond)()
	ask := func(header string) net.Conn {
		conn := must.Get(net.Dial("tcp", l.Addr().String()))(t)
		t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n"+header+"\r\n")
		return conn
	}
	for range maxWatchers {
		ask("Content-Length: 100\r\n")
	}
	conn := ask("")
	conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("others are kept out")
	}
}
