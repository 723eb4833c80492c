package serve

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// TestHTTPUnauthorized checks that clients without a valid token or host cannot keep a slot that an
// authorised client needs.
func TestHTTPUnauthorized(t *testing.T) {
	for name, c := range map[string]struct {
		tokens        *Tokens
		request, want string
	}{
		"without the token": {NewTokens("0123456789abcdef"),
			"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 401 "},
		"a health probe": {NewTokens("0123456789abcdef"),
			"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 "},
		"a foreign host": {nil, "GET /info HTTP/1.1\r\nHost: rebound.example\r\n\r\n", "HTTP/1.1 421 "},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(t, "pre")
			o.MaxClients = 1
			s := startServer(t, o)
			s.allowances = allowances{silent: 100 * time.Millisecond, unread: time.Hour, idle: time.Hour}
			w := serveHTTP(t, s, HTTPOptions{Tokens: c.tokens})
			if c.tokens != nil {
				w.token = "0123456789abcdef"
			}
			conn, began := w.dial(), time.Now()
			statuses := make(chan string, 1)
			go func() {
				responses := bufio.NewReader(conn)
				for {
					fmt.Fprint(conn, c.request)
					r, err := http.ReadResponse(responses, nil)
					if err != nil {
						return
					}
					io.Copy(io.Discard, r.Body)
					select {
					case statuses <- fmt.Sprintf("%s %s %v", r.Proto, r.Status, r.Close):
					default:
					}
					time.Sleep(5 * time.Millisecond)
				}
			}()
			if got := <-statuses; !strings.HasPrefix(got, c.want) ||
				strings.HasSuffix(got, "true") == strings.Contains(c.want, "200") {
				t.Errorf("got %q, want %q, with a closed connection after an error", got, c.want)
			}
			time.Sleep(time.Until(began.Add(300 * time.Millisecond)))
			w.post("/classify", `{"tokens":[1]}`)
		})
	}
}

// TestHTTPSlowBodyIsNotSilent checks that a connection counts neither as silent nor as idle while a body
// arrives at the required rate.
func TestHTTPSlowBodyIsNotSilent(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxClients = 1
	s := startServer(t, o)
	s.allowances = allowances{silent: 100 * time.Millisecond, unread: time.Hour, idle: 100 * time.Millisecond}
	w := serveHTTP(t, s, HTTPOptions{Timeout: time.Second})
	conn, rest := w.dial(), rawPost("/classify", `{"tokens":[1`+strings.Repeat(" ", 1<<17)+"]}")
	for n := range 30 {
		size := min(len(rest), 5000)
		must.Get(fmt.Fprint(conn, rest[:size]))(t, "after", n, "pieces")
		if rest = rest[size:]; n == 20 {
			if got := w.raw(rawPost("/classify", `{"tokens":[2]}`)); !strings.HasPrefix(got, "HTTP/1.1 429 ") {
				t.Errorf("another connection: got %q, want 429", got)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	if r, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || r.StatusCode != 200 {
		t.Errorf("got %v %v, want 200", r, err)
	}
}

// TestHTTPIdleIsNotSilent checks that a connection counts as idle, not silent, between requests.
func TestHTTPIdleIsNotSilent(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxClients = 1
	s := startServer(t, o)
	s.allowances = allowances{silent: 100 * time.Millisecond, unread: time.Hour, idle: time.Hour}
	w := serveHTTP(t, s, HTTPOptions{})
	conn := w.dial()
	responses := bufio.NewReader(conn)
	for range 2 {
		fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		r, err := http.ReadResponse(responses, nil)
		if err != nil || r.StatusCode != 200 {
			t.Fatalf("got %v %v, want 200", r, err)
		}
		io.Copy(io.Discard, r.Body)
		time.Sleep(300 * time.Millisecond)
		if got := w.raw(rawPost("/classify", `{"tokens":[2]}`)); !strings.HasPrefix(got, "HTTP/1.1 429 ") {
			t.Errorf("another connection: got %q, want 429", got)
		}
	}
}

// TestHTTPStopsAfterResponse checks that endRequest ends the session if the server stops during a
// request. If the response has the header "Connection: close", net/http closes the connection instead.
func TestHTTPStopsAfterResponse(t *testing.T) {
	for _, shown := range []bool{false, true} {
		s := startServer(t, testOptions(t, "pre"))
		ours, theirs := socketPair(t)
		defer ours.Close()
		c := newWebConn(s, theirs)
		defer c.Close()
		if admitted, _ := s.admit(c.session); !admitted {
			t.Fatal("the connection is not admitted")
		}
		w := httptest.NewRecorder()
		c.beginRequest(w)
		if !c.endBody() {
			t.Fatal("the request is not accepted")
		}
		if shown {
			w.Header().Set("Connection", "close") // net/http then closes the connection after the response
		}
		c.stop()
		if c.session.ctx.Err() != nil {
			t.Errorf("Connection: close %v: got session error %v before the response, want none", shown,
				c.session.ctx.Err())
		}
		if c.endRequest(); (c.session.ctx.Err() == nil) != shown {
			t.Errorf("Connection: close %v: got session error %v, want an error only without the header", shown,
				c.session.ctx.Err())
		}
	}
}

// TestHTTPBodyCounts checks that the whole buffer of a chunked body counts as memory, not only its
// used part.
func TestHTTPBodyCounts(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	release := blockBatches(w.server)
	defer close(release)
	const size = 1<<20 + 1<<12
	conn, body := w.dial(), `{"tokens":[1`+strings.Repeat(" ", size)+"]}"
	fmt.Fprintf(conn, "POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	eventually(t, "no batch runs", func() bool { _, _, running := queueState(w.server); return running > 0 })
	if used := w.server.memory.used.Load(); used < 2<<20 {
		t.Errorf("got %d counted bytes, want at least the buffer's %d", used, 2<<20)
	}
}

// TestEmbeddingsCount checks that /v1/embeddings counts at least the memory that sequence/embed
// counts, plus the memory of the request's body and of its elements.
func TestEmbeddingsCount(t *testing.T) {
	const n = 200
	held := func(path, body string) func() int64 {
		w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
		blockBatches(w.server) // never released: the connection ends before the server
		fmt.Fprint(w.dial(), rawPost(path, body))
		eventually(t, "no batch runs", func() bool { _, _, running := queueState(w.server); return running > 0 })
		return w.server.memory.used.Load
	}
	list := func(element string) string { return "[" + strings.Repeat(element+",", n-1) + element + "]" }
	embed := held("/embed", `{"sequences":`+list(`{"tokens":[1]}`)+"}")
	body := `{"model":"pre","input":` + list("[1]") + "}"
	embeddings := held("/v1/embeddings", body)
	time.Sleep(100 * time.Millisecond) // long enough for all sequences to be read
	minBytes := embed() + int64(len(body)) + elementBytes*n
	eventually(t, fmt.Sprintf("fewer than %d bytes are counted", minBytes),
		func() bool { return embeddings() >= minBytes })
}
