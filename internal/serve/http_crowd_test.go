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

// listenLocally listens at a free port of this machine until the test ends.
func listenLocally(t testing.TB) net.Listener {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

// TestHTTPCrowd: of many clients beyond --max-clients, each gets a response or a reset. A connection that is closed
// without a word would have some clients open another one without end.
func TestHTTPCrowd(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxClients = 4
	w := startHTTP(t, o, HTTPOptions{})
	release := hold(w.server)
	var clients sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	count := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		got[what]++
	}
	const crowd = 3 * maxRefusing
	for i := range crowd {
		conn, err := net.Dial("tcp", w.addr)
		if errors.Is(err, syscall.ECONNRESET) {
			count("reset")
			continue
		}
		must.Succeed(t, err)
		conn.SetDeadline(time.Now().Add(patience))
		clients.Go(func() {
			defer conn.Close()
			time.Sleep(time.Duration(i%7) * 10 * time.Millisecond) // some ask late
			if _, err := fmt.Fprint(conn, rawPost("/classify", `{"tokens":[1]}`)); err != nil {
				count("reset")
				return
			}
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			switch {
			case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
				count("reset")
			case err != nil:
				count(err.Error())
			default:
				count(r.Status)
				r.Body.Close()
			}
		})
	}
	eventually(t, "the crowd is not refused", func() bool {
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for _, k := range got {
			n += k
		}
		return n >= crowd-4
	})
	close(release)
	clients.Wait()
	if got["200 OK"]+got["429 Too Many Requests"]+got["reset"] != crowd || got["200 OK"] < 1 ||
		got["429 Too Many Requests"] < maxRefusing/2 || got["reset"] == 0 {
		t.Errorf("%v", got)
	}
}

// TestHTTPOverSocket: a Unix socket serves HTTP under any host name, as no page of a browser reaches it.
func TestHTTPOverSocket(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	path := filepath.Join(t.TempDir(), "http")
	l := must.Get(net.Listen("unix", path))(t)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.ServeHTTP(ctx, l, HTTPOptions{}) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _,
		_ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	for _, host := range []string{"localhost", "model.example"} {
		r := must.Get(client.Get("http://" + host + "/v1/models"))(t)
		r.Body.Close()
		if r.StatusCode != 200 {
			t.Errorf("%s: %s", host, r.Status)
		}
	}
	client.CloseIdleConnections()
	cancel()
	must.Check(t, <-served)
}
