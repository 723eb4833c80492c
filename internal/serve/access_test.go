package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// logBuffer is an io.Writer that keeps log lines in memory. It is safe for concurrent use.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// accessEntry is one decoded line of the access log.
type accessEntry struct {
	Msg, Method, Path, Client string
	Status, Code, Tokens      int
	Seconds                   float64
	RequestID                 string `json:"request_id"`
	ForwardedFor              string `json:"forwarded_for"`
	TraceID                   string `json:"trace_id"`
	SpanID                    string `json:"span_id"`
}

// entries decodes and returns the access-log lines written so far.
func (b *logBuffer) entries(t testing.TB) (all []accessEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.Lines(b.text.String()) {
		var e accessEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if e.Msg == "request" {
			all = append(all, e)
		}
	}
	return all
}

// optionsWithAccessLog returns options with an access log, and the buffer that receives the log.
func optionsWithAccessLog(t testing.TB) (Options, *logBuffer) {
	o, b := testOptions(t, "pre"), &logBuffer{}
	o.Log, o.AccessLog = slog.New(slog.NewJSONHandler(b, nil)), true
	return o, b
}

// TestAccessLog checks that the access log has one line per response: over HTTP, over JSON-RPC and
// for a bare line.
func TestAccessLog(t *testing.T) {
	o, log := optionsWithAccessLog(t)
	w := startHTTP(t, o, HTTPOptions{Tokens: NewTokens("0123456789abcdef")})
	w.token = "0123456789abcdef"
	sent := 0
	await := func() { // the server may write the log line after the reply
		t.Helper()
		sent++
		eventually(t, fmt.Sprintf("expected %d lines", sent), func() bool { return len(log.entries(t)) == sent })
	}
	for _, request := range [][]string{
		{"POST", "/classify", `{"sequences":[{"tokens":[1,2,3]},{"tokens":[7]}]}`, "X-Request-Id", "mine",
			"X-Forwarded-For", "203.0.113.7"},
		{"POST", "/v1/embeddings", `{"model":"other","input":"1"}`},
		{"GET", "/healthz", "", "Authorization", ""},
		{"GET", "/info", "", "Authorization", "Bearer wrong"},
		{"GET", "/nowhere", ""},
	} {
		w.send(request[0], request[1], request[2], request[3:]...)
		await()
	}
	for i, want := range []accessEntry{
		{Method: "POST", Path: "/classify", Status: 200, Tokens: 4, RequestID: "mine", ForwardedFor: "203.0.113.7"},
		{Method: "POST", Path: "/v1/embeddings", Status: 404},
		{Method: "GET", Path: "/healthz", Status: 200},
		{Method: "GET", Path: "/info", Status: 401},
		{Method: "GET", Path: "/nowhere", Status: 404},
	} {
		got := log.entries(t)[i]
		if got.Seconds <= 0 || got.Seconds > 60 || got.RequestID == "" || !strings.HasPrefix(got.Client, "127.0.0.1:") {
			t.Errorf("got %+v, want seconds in (0, 60], a request id and a client at 127.0.0.1", got)
		}
		if want.RequestID == "" {
			got.RequestID = ""
		}
		want.Msg, want.Seconds, want.Client = got.Msg, got.Seconds, got.Client
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	c := dial(t, w.server).initialize(struct{}{})
	await()
	c.call(17, "sequence/classify", map[string]any{"tokens": []int{1, 2, 3}}, nil)
	await()
	c.expectError("x", "sequence/classify", map[string]any{"tokens": []int{99}}, codeParams, "99")
	await()
	bare := dial(t, w.server)
	bare.send(`{"id":"line","tokens":[5,6]}`)
	bare.receive()
	await()
	for i, want := range []accessEntry{
		{Method: "initialize", RequestID: `"initialize"`},
		{Method: "sequence/classify", RequestID: "17", Tokens: 3},
		{Method: "sequence/classify", RequestID: `"x"`, Code: codeParams},
		{Method: bareMethod, RequestID: `"line"`, Tokens: 2},
	} {
		got := log.entries(t)[5+i]
		want.Msg, want.Seconds, want.Client = got.Msg, got.Seconds, "standard input"
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// TestForwardedFor checks that the access log keeps the address that a proxy appends to
// X-Forwarded-For, in the same header or in a second one. A forged or very long address from the
// client must not hide it.
func TestForwardedFor(t *testing.T) {
	o, log := optionsWithAccessLog(t)
	w := startHTTP(t, o, HTTPOptions{})
	for n, sent := range []string{"X-Forwarded-For: " + strings.Repeat("6", 100) + ", 203.0.113.7",
		"X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 203.0.113.7"} {
		w.raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + sent + "\r\n\r\n")
		eventually(t, "the access log has no new line", func() bool { return len(log.entries(t)) == n+1 })
		if got := log.entries(t)[n].ForwardedFor; !strings.HasSuffix(got, ", 203.0.113.7") || len(got) > 80 {
			t.Errorf("%q: forwarded_for %q, want at most 80 bytes that end in 203.0.113.7", sent, got)
		}
	}
}

// TestNoAccessLog checks that requests are not logged unless the access log is on.
func TestNoAccessLog(t *testing.T) {
	o, log := optionsWithAccessLog(t)
	o.AccessLog = false
	w := startHTTP(t, o, HTTPOptions{})
	w.post("/classify", `{"tokens":[1]}`)
	if all := log.entries(t); all != nil {
		t.Errorf("got access log %+v, want none", all)
	}
}

// TestRequestIdentity checks that a response repeats the client's request id and continues the client's
// trace. The server replaces an id that is missing or too long, or that could corrupt a log, and ignores a
// malformed trace.
func TestRequestIdentity(t *testing.T) {
	o, log := optionsWithAccessLog(t)
	w := startHTTP(t, o, HTTPOptions{})
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, c := range []struct{ id, trace, wantID, wantTrace string }{
		{"a-b_c.1", "00-" + traceID + "-00f067aa0ba902b7-01", "a-b_c.1", "00-" + traceID + `-[0-9a-f]{16}-01`},
		{"", "", `[A-Z2-7]{26}`, ""},
		{"two words", "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", `[A-Z2-7]{26}`, ""},
		{strings.Repeat("x", 129), "00-" + traceID + "-0000000000000000-01", `[A-Z2-7]{26}`, ""},
		{strings.Repeat("x", 128), "00-" + traceID + "-00f067aa0ba902b7-01-more", "x{128}", ""},
		{"later", "cc-" + traceID + "-00f067aa0ba902b7-00-more", "later", "00-" + traceID + `-[0-9a-f]{16}-00`},
		{"never", "ff-" + traceID + "-00f067aa0ba902b7-00", "never", ""},
	} {
		r, _ := w.send("GET", "/info", "", "X-Request-Id", c.id, "traceparent", c.trace)
		id, trace := r.Header.Get("X-Request-Id"), r.Header.Get("Traceparent")
		if !regexp.MustCompile("^"+c.wantID+"$").MatchString(id) ||
			!regexp.MustCompile("^"+c.wantTrace+"$").MatchString(trace) || trace != "" && trace == c.trace {
			t.Errorf("id %q, trace %q: got id %q, trace %q, want matches of %q and %q, with a new span id", c.id,
				c.trace, id, trace, c.wantID, c.wantTrace)
		}
		eventually(t, "the access log has no line with the request id", func() bool {
			all := log.entries(t)
			return all != nil &&
				all[len(all)-1].RequestID == id
		})
		all := log.entries(t)
		if last := all[len(all)-1]; trace != "" && (last.TraceID != traceID || !strings.Contains(trace, last.SpanID)) {
			t.Errorf("got %+v, want trace %s", last, trace)
		}
	}
	if body := w.raw("GET /info HTTP/1.1\r\nHost: rebound.example\r\n\r\n"); !strings.Contains(body,
		"X-Request-Id: ") {
		t.Errorf("a refused request: got %q, want a header X-Request-Id", body)
	}
}

// TestTokensReplaced checks that removed tokens are refused immediately, on open connections as
// well.
func TestTokensReplaced(t *testing.T) {
	tokens := NewTokens("first-client-0000", "second-client-000")
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{Tokens: tokens})
	expect := func(want map[string]int) {
		t.Helper()
		for w.token = range want {
			if r, _ := w.send("GET", "/info", ""); r.StatusCode != want[w.token] {
				t.Errorf("token %q: got status %s, want %d", w.token, r.Status, want[w.token])
			}
		}
	}
	expect(map[string]int{"first-client-0000": 200, "second-client-000": 200, "third-client-0000": 401})
	tokens.Set("second-client-000", "third-client-0000")
	expect(map[string]int{"first-client-0000": 401, "second-client-000": 200, "third-client-0000": 200})
	tokens.Set()
	expect(map[string]int{"second-client-000": 401, "": 401})
}

// TestOrigins checks that only pages of the allowed origins may send requests and read responses in
// a browser (CORS).
func TestOrigins(t *testing.T) {
	const page = "https://page.example"
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{Origins: []string{"http://localhost:3000", page},
		Tokens: NewTokens("0123456789abcdef")})
	preflight := []string{"Origin", page, "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,content-type,x-stainless-os",
		"Access-Control-Request-Private-Network", "true"}
	r, _ := w.send("OPTIONS", "/v1/embeddings", "", preflight...)
	for name, want := range map[string]string{"Access-Control-Allow-Origin": page, "Vary": "Origin",
		"Access-Control-Allow-Headers":         "authorization,content-type,x-stainless-os",
		"Access-Control-Allow-Private-Network": "true", "Access-Control-Allow-Methods": "GET, HEAD, POST"} {
		if got := r.Header.Get(name); r.StatusCode != 200 || got != want {
			t.Errorf("%s: got %s %q, want %q", name, r.Status, got, want)
		}
	}
	w.token = "0123456789abcdef"
	for origin, want := range map[string]string{page: page, "https://other.example": "", "null": "", "": ""} {
		r, body := w.send("POST", "/classify", `{"tokens":[1]}`, "Origin", origin)
		if got := r.Header.Get("Access-Control-Allow-Origin"); r.StatusCode != 200 || got != want ||
			r.Header.Get("Vary") != "Origin" {
			t.Errorf("origin %q: got %s %q, header %v, want 200, allowed origin %q and Vary: Origin", origin, r.Status,
				body, r.Header, want)
		}
	}
	w.token = ""
	if r, _ := w.send("POST", "/classify", `{"tokens":[1]}`, "Origin", page); r.StatusCode != 401 ||
		r.Header.Get("Access-Control-Allow-Origin") != page {
		t.Errorf("missing token: got %s, header %v, want 401 with the page's origin allowed", r.Status, r.Header)
	}
	preflight[1] = "https://other.example"
	if r, _ := w.send("OPTIONS", "/classify", "", preflight...); r.StatusCode != 401 ||
		r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of another origin: got %s, header %v, want 401 and no allowed origin", r.Status, r.Header)
	}
	preflight[1] = page
	without := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	if r, _ := without.send("OPTIONS", "/classify", "", preflight...); r.StatusCode != http.StatusMethodNotAllowed ||
		r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight without Origins: got %s, header %v, want 405 and no allowed origin", r.Status, r.Header)
	}
	all := startHTTP(t, testOptions(t, "pre"), HTTPOptions{Origins: []string{"*"}})
	if r, _ := all.send("OPTIONS", "/classify", "", preflight...); r.Header.Get("Access-Control-Allow-Origin") != page {
		t.Errorf("preflight with Origins *: got %s, header %v, want the page's origin allowed", r.Status, r.Header)
	}
}

// TestLeave checks that health probes of a stopping server get 503 while it still serves requests.
func TestLeave(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	for _, path := range []string{"/healthz", "/health"} {
		if r, body := w.send("GET", path, ""); r.StatusCode != 200 || body != "ok\n" {
			t.Errorf("%s: got %s %q, want 200 ok", path, r.Status, body)
		}
	}
	w.server.Leave()
	for _, path := range []string{"/healthz", "/health"} {
		if r, body := w.send("GET", path, ""); r.StatusCode != 503 || body != "stopping soon\n" {
			t.Errorf("%s: got %s %q, want 503 stopping soon", path, r.Status, body)
		}
	}
	w.client.CloseIdleConnections()
	w.post("/classify", `{"tokens":[1]}`)
}

// TestBuildInfo checks that /metrics has the program's version, revision and Go version.
func TestBuildInfo(t *testing.T) {
	o := testOptions(t, "pre")
	o.Version, o.Revision = "v1.2.3", "0123abc"
	w := startHTTP(t, o, HTTPOptions{})
	_, page := w.send("GET", "/metrics", "")
	if !regexp.MustCompile(`(?m)^sftseq_build_info\{goversion="go[^"]+",revision="0123abc",version="v1.2.3"\} 1$`).
		MatchString(page) {
		t.Errorf("got %s\nwant the metric sftseq_build_info", page)
	}
}

// TestProfiles checks that ServeProfiles serves /debug/pprof/ on its own listener, except to requests for
// another host, and that the model's server does not serve it.
func TestProfiles(t *testing.T) {
	l := listenLocally(t)
	stop := ServeProfiles(l)
	defer stop()
	for path, want := range map[string]string{"": "goroutine", "goroutine?debug=1": "goroutine profile:",
		"cmdline": "serve", "profile?seconds=1": "\x1f\x8b"} {
		r, err := http.Get("http://" + l.Addr().String() + "/debug/pprof/" + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 200 || !strings.Contains(string(text), want) {
			t.Errorf("%s: got %s %.100q, want 200 and %q", path, r.Status, text, want)
		}
	}
	rebound := must.Get(http.NewRequest("GET", "http://"+l.Addr().String()+"/debug/pprof/heap", nil))(t)
	rebound.Host = "rebound.example"
	r := must.Get(http.DefaultClient.Do(rebound))(t)
	r.Body.Close()
	if r.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("Host rebound.example: got %s, want 421", r.Status)
	}
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	if r, _ := w.send("GET", "/debug/pprof/", ""); r.StatusCode != 404 {
		t.Errorf("/debug/pprof/ of the model's server: got %s, want 404", r.Status)
	}
}
