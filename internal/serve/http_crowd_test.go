package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// listenLocally listens on a free port of 127.0.0.1 until the test ends.
func listenLocally(t testing.TB) net.Listener {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

// TestHTTPCrowd checks that each of many clients beyond --max-clients gets a response or a reset.
// Some clients would reconnect forever if the server closed the connection silently.
func TestHTTPCrowd(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxClients = 4
	server := startServer(t, o)
	server.allowances = allowances{silent: time.Hour, unread: time.Hour, idle: time.Hour}
	server.grace = 20 * time.Second // long enough for a slow machine
	w := serveHTTP(t, server, HTTPOptions{})
	const crowd = 3 * maxRefusing
	ends := make(chan string, crowd)
	var clients sync.WaitGroup
	connected := make(chan struct{})
	for range crowd {
		conn, err := net.Dial("tcp", w.addr)
		if errors.Is(err, syscall.ECONNRESET) {
			ends <- "reset"
			continue
		}
		must.Succeed(t, err)
		conn.SetDeadline(time.Now().Add(waitLimit))
		clients.Go(func() {
			defer conn.Close()
			<-connected
			ends <- readToEnd(conn)
		})
	}
	eventually(t, "not all connections are accepted or refused", func() bool {
		return server.stats().Errors["-32000"] == crowd-4
	})
	close(connected)
	clients.Wait()
	close(ends)
	got := map[string]int{}
	for end := range ends {
		got[end]++
	}
	if got["200 OK"] != 4 || got["429 Too Many Requests"] != maxRefusing ||
		got["reset"] != crowd-4-maxRefusing {
		t.Errorf("got outcomes %v, want 4 responses 200, %d responses 429 and %d resets", got, maxRefusing,
			crowd-4-maxRefusing)
	}
}

// readToEnd sends a request and returns the status of its response, "reset" or the error.
func readToEnd(conn net.Conn) string {
	if _, err := fmt.Fprint(conn, rawPost("/classify", `{"tokens":[1]}`)); err != nil {
		return classifyEnd(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return classifyEnd(err)
	}
	r.Body.Close()
	return r.Status
}

func classifyEnd(err error) string {
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return "reset"
	}
	return err.Error()
}

// TestHTTPOverSocket checks that a Unix socket accepts any Host header, because no web page can connect
// to the socket.
func TestHTTPOverSocket(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	path := filepath.Join(t.TempDir(), "http")
	l := must.Get(net.Listen("unix", path))(t)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.ServeHTTP(ctx, l, HTTPOptions{}) }()
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}}
	for _, host := range []string{"localhost", "model.example"} {
		r := must.Get(client.Get("http://" + host + "/v1/models"))(t)
		r.Body.Close()
		if r.StatusCode != 200 {
			t.Errorf("host %s: got %s, want 200", host, r.Status)
		}
	}
	client.CloseIdleConnections()
	cancel()
	must.Check(t, <-served)
}
