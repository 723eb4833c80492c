package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// TestHTTPDisconnect checks that the pending work of a disconnected client is cancelled.
func TestHTTPDisconnect(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	release := blockBatches(w.server)
	conn := w.dial()
	fmt.Fprint(conn, rawPost("/classify", `{"sequences":[`+strings.Repeat(`{"tokens":[1]},`, 99)+`{"tokens":[2]}]}`))
	eventually(t, "no batch runs", func() bool { _, _, running := queueState(w.server); return running > 0 })
	conn.Close()
	eventually(t, "the request is not cancelled", func() bool {
		jobs, _, running := queueState(w.server)
		return jobs == 0 && running == 0 && w.server.memory.used.Load() == 0 && w.server.stats().Sessions == 0
	})
	close(release)
}

// TestHTTPHalfClose checks that a client that closes its sending half gets status 499.
func TestHTTPHalfClose(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	release := blockBatches(w.server)
	defer close(release)
	conn := w.dial()
	fmt.Fprint(conn, rawPost("/classify", `{"tokens":[1]}`))
	eventually(t, "no batch runs", func() bool { _, _, running := queueState(w.server); return running > 0 })
	conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 499 ") {
		t.Errorf("got %q, %v, want 499", got, err)
	}
}

// TestHTTPDrain checks that Drain completes accepted requests, refuses incomplete requests with 503
// and closes idle connections.
func TestHTTPDrain(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	release := blockBatches(w.server)
	accepted, slow, idle := w.dial(), w.dial(), w.dial()
	fmt.Fprint(accepted, rawPost("/classify", `{"tokens":[1]}`))
	whole := rawPost("/classify", `{"tokens":[1]}`)
	fmt.Fprint(slow, whole[:len(whole)-3])
	eventually(t, "no batch runs", func() bool {
		_, _, running := queueState(w.server)
		return running == 1 && w.server.stats().Sessions == 3
	})
	time.Sleep(50 * time.Millisecond) // gives the server time to read the headers of the slow connection
	drained := make(chan error, 1)
	go func() { drained <- w.server.Drain(t.Context()) }()
	for conn, want := range map[net.Conn]string{slow: "503", idle: ""} {
		conn.SetReadDeadline(time.Now().Add(defaultTimeout / 2)) // the server must not wait for the slow client
		got, err := io.ReadAll(conn)
		_, status, _ := strings.Cut(string(got), " ")
		if err != nil || !strings.HasPrefix(status, want) || want == "" && len(got) > 0 {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	close(release)
	got, err := io.ReadAll(accepted)
	if err != nil || !strings.Contains(string(got), "200 OK") ||
		!strings.Contains(string(got), "Connection: close") || !strings.Contains(string(got), `"label"`) {
		t.Errorf("got %q, %v, want 200 with Connection: close", got, err)
	}
	must.Check(t, <-drained)
}

// TestHTTPLeave checks that responses close a client's keep-alive connection after Leave, and that
// /healthz then has the header Retry-After.
func TestHTTPLeave(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	exchange := func(path string, last bool) string {
		conn := w.dial()
		defer conn.Close()
		in := bufio.NewReader(conn)
		var head strings.Builder
		for n := range 2 {
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
			r, err := http.ReadResponse(in, nil)
			if last && n == 1 {
				if err == nil {
					t.Errorf("GET %s after Connection: close: got another response, want the end", path)
				}
				break
			}
			must.Succeed(t, err)
			io.Copy(io.Discard, r.Body)
			if r.Close != last {
				t.Errorf("GET %s: got Connection: close %v, want %v", path, r.Close, last)
			}
			must.Succeed(t, r.Header.Write(&head))
		}
		return head.String()
	}
	exchange("/info", false)
	exchange("/healthz", false)
	w.server.Leave()
	exchange("/info", true)
	if head := exchange("/healthz", true); !strings.Contains(head, "Retry-After: 1\r\n") {
		t.Errorf("GET /healthz: got %s, want Retry-After", head)
	}
	if r, got := w.send("POST", "/classify", `{"tokens":[1]}`); r.StatusCode != 200 || !r.Close {
		t.Errorf("POST /classify: got %s, %s, Connection: close %v, want 200 and true", r.Status, got, r.Close)
	}
}

// TestHTTPReload checks that started requests complete with the old model and later requests use
// the new model.
func TestHTTPReload(t *testing.T) {
	o, models := testOptions(t, "pre"), []string{"pre", "post"}
	o.Load = func() (*Model, error) {
		next := models[0]
		models = models[1:]
		return load(t, next)()
	}
	w := startHTTP(t, o, HTTPOptions{})
	old, hash := w.post("/classify", `{"tokens":[1]}`), w.server.Hash()
	release := blockBatches(w.server)
	responses := make(chan string)
	go func() { responses <- w.post("/classify", `{"tokens":[1]}`) }()
	eventually(t, "no batch runs", func() bool { _, _, running := queueState(w.server); return running > 0 })
	must.Succeed(t, w.server.Reload())
	close(release)
	if got := <-responses; got != old {
		t.Errorf("got %s, want %s", got, old)
	}
	if got := w.post("/classify", `{"tokens":[1]}`); got == old {
		t.Errorf("got %s from both models, want different responses", got)
	}
	var info struct{ Hash string }
	_, text := w.send("GET", "/info", "")
	if json.Unmarshal([]byte(text), &info) != nil || info.Hash != w.server.Hash() || info.Hash == hash {
		t.Errorf("got /info %s, want the hash %s of the new model", text, w.server.Hash())
	}
}
