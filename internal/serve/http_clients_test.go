package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft"
)

// dial opens a TCP connection to the server, with a deadline of 20 seconds.
func (w *web) dial() net.Conn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// raw sends text on a new connection and returns everything received until the connection ends.
func (w *web) raw(text string) string {
	w.t.Helper()
	conn := w.dial()
	fmt.Fprint(conn, text)
	got, _ := io.ReadAll(conn)
	return string(got)
}

// rawPost returns the bytes of a POST request.
func rawPost(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", path, len(body), body)
}

// TestHTTPConcurrent checks that 64 concurrent clients get status 200 for each request, and from
// /classify the same response as a single client.
func TestHTTPConcurrent(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	const clients, requests = 64, 25
	want := map[int]string{} // response by token
	for token := 1; token < 17; token++ {
		want[token] = w.post("/classify", fmt.Sprintf(`{"tokens":[%d,3]}`, token))
	}
	var running sync.WaitGroup
	for n := range clients {
		running.Go(func() {
			client := http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := range requests {
				token := 1 + (n+i)%16
				path, body := "/classify", fmt.Sprintf(`{"tokens":[%d,3]}`, token)
				if i%5 == 4 {
					path, body = "/v1/embeddings", fmt.Sprintf(`{"model":"pre","input":[[%d,3]]}`, token)
				}
				r, err := client.Post("http://"+w.addr+path, "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(r.Body)
				r.Body.Close()
				if err != nil || r.StatusCode != 200 || path == "/classify" && string(got) != want[token] {
					t.Errorf("client %d: %s %s: got %s %s, error %v; want 200 and from /classify %s", n, path, body,
						r.Status, got, err, want[token])
				}
			}
		})
	}
	running.Wait()
	eventually(t, fmt.Sprintf("the statistics do not count %d responses", clients*requests+16), func() bool {
		x := w.server.stats()
		return x.Responses["sequence/classify"]+x.Responses["sequence/embed"] == clients*requests+16
	})
}

// TestHTTPMemory checks that the heap grows by at most 8 MiB over many valid and invalid requests.
func TestHTTPMemory(t *testing.T) {
	if !testenv.Race {
		testenv.Long(t, "sends thousands of requests")
	}
	n := 20000
	if testing.Short() {
		n = 2000
	}
	o := testOptions(t, "pre")
	o.MaxLine = 1 << 18
	w := startHTTP(t, o, HTTPOptions{})
	bodies := []struct {
		path, body string
		status     int
	}{
		{"/classify", `{"tokens":[1,2,3]}`, 200},
		{"/v1/embeddings", `{"model":"pre","input":["1","2"],"encoding_format":"base64"}`, 200},
		{"/v1/embeddings", `{"model":"pre","input":["1",""]}`, 400},
		{"/classify", `{"text":`, 400},
		{"/score", `{}`, 404},
		{"/classify", `{"text":"` + strings.Repeat("1 ", 1<<17) + `"}`, 413},
		{"/embed", `{"text":"` + strings.Repeat("1 ", 1<<10) + `"}`, 200},
	}
	round := func(n int) uint64 {
		var clients sync.WaitGroup
		for k := range 8 {
			clients.Go(func() {
				r := rand.New(rand.NewPCG(uint64(n), uint64(k)))
				for range n / 8 {
					b := bodies[r.IntN(len(bodies))]
					if r, got := w.send("POST", b.path, b.body); r.StatusCode != b.status {
						t.Errorf("%s %.50s: got %s %s, want %d", b.path, b.body, r.Status, got, b.status)
					}
				}
			})
		}
		clients.Wait()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := round(400)
	if after := round(n); after > before+8<<20 {
		t.Errorf("heap: got %d KiB after %d requests, %d KiB before", after>>10, n, before>>10)
	}
	eventually(t, "memory is still counted", func() bool { return w.server.memory.used.Load() == 0 })
}

// TestHTTPSlowClients checks that connections that send too slowly are closed in every phase of a
// request.
func TestHTTPSlowClients(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{Timeout: 300 * time.Millisecond})
	for name, c := range map[string]struct{ first, drip, want string }{
		"nothing":         {"", "", ""},
		"the first line":  {"PO", "S", ""},
		"headers":         {"POST /classify HTTP/1.1\r\nHost: localhost\r\n", "X-A: b\r\n", ""},
		"a body":          {"POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", " ", "408"},
		"a chunked body":  {"POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "1\r\n \r\n", "408"},
		"a body too long": {"POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n{", " ", "408"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, began := w.dial(), time.Now()
			fmt.Fprint(conn, c.first)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for c.drip != "" {
					time.Sleep(50 * time.Millisecond)
					if _, err := fmt.Fprint(conn, c.drip); err != nil {
						return
					}
				}
			}()
			got, _ := io.ReadAll(conn)
			conn.Close()
			<-done
			if took := time.Since(began); took > 5*time.Second || !strings.Contains(string(got), c.want) {
				t.Errorf("closed after %v with %q, want at most 5s and %q", took, got, c.want)
			}
		})
	}
	t.Run("a body in time", func(t *testing.T) { // takes longer than Timeout, but arrives faster than MinRate
		t.Parallel()
		conn, body := w.dial(), `{"tokens":[1`+strings.Repeat(" ", 1<<17)+"]}"
		request := rawPost("/classify", body)
		for len(request) > 0 {
			n := min(len(request), 1<<14)
			fmt.Fprint(conn, request[:n])
			request = request[n:]
			time.Sleep(60 * time.Millisecond)
		}
		if r, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || r.StatusCode != 200 {
			t.Errorf("got %v %v, want 200", r, err)
		}
	})
}

// TestHTTPUnread checks that the server closes a connection whose client does not read a response,
// and frees the response's memory.
func TestHTTPUnread(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{Timeout: 300 * time.Millisecond, MinRate: 64 << 20})
	conn := w.dial()
	conn.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprint(conn, rawPost("/v1/embeddings", `{"model":"pre","input":[`+strings.Repeat("[1],", 15999)+"[1]]}"))
	eventually(t, "the response is not blocked", func() bool { return w.server.blocked() == 1 })
	eventually(t, "the connection is not closed", func() bool {
		return w.server.stats().Sessions == 0 && w.server.memory.used.Load() == 0
	})
}

// TestHTTPUnreadSmall checks that the server also closes a connection whose client sends many requests
// and reads none of the small responses.
func TestHTTPUnreadSmall(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{Timeout: 300 * time.Millisecond})
	for _, line := range []string{"OPTIONS *", "GET //x", "GET /" + strings.Repeat("x", 60)} {
		conn := w.dial()
		conn.(*net.TCPConn).SetReadBuffer(1 << 16)
		request := strings.Repeat(line+" HTTP/1.1\r\nHost: localhost\r\n\r\n", 100)
		go func() {
			for {
				if _, err := io.WriteString(conn, request); err != nil {
					return
				}
			}
		}()
		sessions := func(n int) func() bool { return func() bool { return w.server.stats().Sessions == n } }
		eventually(t, line+": there is no connection", sessions(1))
		eventually(t, line+": the connection is not closed", sessions(0))
		conn.Close()
	}
}

// TestHTTPHostile checks that malformed and abusive HTTP requests are refused, while another client
// gets responses within a second.
func TestHTTPHostile(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory, o.MaxLine = 16<<20, 4<<20
	w := startHTTP(t, o, HTTPOptions{Timeout: time.Second})
	ended, served := make(chan struct{}), make(chan time.Duration)
	go func() {
		var worst time.Duration
		for {
			select {
			case <-ended:
				served <- worst
				return
			case <-time.After(2 * time.Millisecond):
			}
			began := time.Now()
			w.post("/classify", `{"tokens":[1,2]}`)
			worst = max(worst, time.Since(began))
		}
	}()
	head := "POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for name, c := range map[string]struct{ text, want string }{
		"JSON-RPC":              {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n", "400"},
		"bytes":                 {"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", "400"},
		"too many headers":      {head + strings.Repeat("A: b\r\n", 1e5) + "\r\n", "431"},
		"a long header":         {head + "A: " + strings.Repeat("b", 1e6) + "\r\n\r\n", "431"},
		"headers beyond 16 KiB": {head + "A: " + strings.Repeat("b", maxHTTPHeader) + "\r\n\r\n", "431"},
		"two lengths":           {head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400"},
		"a length and chunks": {head +
			"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", " 400 "},
		"a negative length":        {head + "Content-Length: -2\r\n\r\n{}", "400"},
		"a huge length":            {head + "Content-Length: 99999999999999999999\r\n\r\n{}", "400"},
		"a length beyond the body": {head + "Content-Length: 1000000000\r\n\r\n{}", "408"},
		"a body not sent yet": {head + "Expect: 100-continue\r\nContent-Length: 100000000\r\n\r\n",
			"HTTP/1.1 413 "},
		"bad chunks": {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", "400"},
		"chunks beyond --max-line": {head + "Transfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("10000\r\n"+strings.Repeat("[", 1<<16)+"\r\n", 80) + "0\r\n\r\n", "413"},
		"a body beyond --max-line": {rawPost("/classify", `{"text":"`+strings.Repeat("1 ", 3<<20)+`"}`), "413"},
		"nested deep":              {rawPost("/classify", strings.Repeat(`{"a":`, 7e5)), "400"},
		"many short sequences": {rawPost("/v1/embeddings", `{"model":"pre","input":[`+strings.Repeat("[1],",
			5e5)+"[1]]}"), "input: expected at most 16384"},
		"a huge exponent":        {rawPost("/classify", `{"tokens":[1e999999999]}`), "400"},
		"HTTP/2 prior knowledge": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""},
		"a tunnel":               {"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nConnection: close\r\n\r\n", "421"},
		"another host":           {"GET http://example.com/info HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n", "421"},
		"a path above the root":  {"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404 "},
		"a double slash":         {"GET //info HTTP/1.1\r\nHost: localhost\r\n\r\n", `"unknown_url"`},
		"no path":                {"GET http://localhost HTTP/1.1\r\nHost: localhost\r\n\r\n", `"unknown_url"`},
		"a tunnel to a path":     {"CONNECT /info HTTP/1.1\r\nHost: localhost\r\n\r\n", `"unknown_url"`},
		"a tunnel to itself":     {"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", `"unknown_url"`},
		"OPTIONS of the server":  {"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", `"unknown_url"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.raw(strings.Replace(c.text, "Host: localhost\r\n",
				"Host: localhost\r\nConnection: close\r\n", 1))
			if !strings.Contains(got, c.want) || strings.Contains(got, "200 OK") {
				t.Errorf("got %.300q, want %s", got, c.want)
			}
		})
	}
	close(ended)
	if worst := <-served; worst > time.Second {
		t.Errorf("another client waited %v, want at most 1s", worst)
	}
	eventually(t, "memory is still counted", func() bool { return w.server.memory.used.Load() == 0 })
}

// TestHTTPFair checks that small requests get quick responses while other clients send large
// requests.
func TestHTTPFair(t *testing.T) {
	if !testenv.Race {
		testenv.Long(t, "computes for seconds")
	}
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	measure := func() time.Duration {
		began := time.Now()
		w.post("/classify", `{"tokens":[1,2]}`)
		return time.Since(began)
	}
	measure()
	stop := make(chan struct{})
	var greedy sync.WaitGroup
	body := `{"sequences":[` + strings.Repeat(`{"tokens":[1`+strings.Repeat(",2", 1000)+`]},`, 199) + `{"tokens":[1]}]}`
	for range 8 {
		greedy.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					w.post("/classify", body)
				}
			}
		})
	}
	eventually(t, "the queue has at most 500 jobs", func() bool {
		jobs, _, _ := queueState(w.server)
		return jobs > 500
	})
	var times []time.Duration
	for range 20 {
		times = append(times, measure())
	}
	close(stop)
	greedy.Wait()
	slices.Sort(times)
	if times[10] > 500*time.Millisecond {
		t.Errorf("median latency of a small request is %v behind %d sequences, want at most 0.5s", times[10], 8*200)
	}
}

// TestHTTPComputingTime checks that a request may compute for longer than HTTPOptions.Timeout.
func TestHTTPComputingTime(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{Timeout: 100 * time.Millisecond})
	release := blockBatches(w.server)
	time.AfterFunc(500*time.Millisecond, func() { close(release) })
	w.post("/classify", `{"tokens":[1]}`)
}

// TestHTTPCrowded checks that a connection beyond --max-clients gets status 429 or replaces a silent
// connection.
func TestHTTPCrowded(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxClients = 2
	w := startHTTP(t, o, HTTPOptions{})
	silent := []net.Conn{w.dial(), w.dial()}
	eventually(t, "the connections are not admitted", func() bool { return w.server.stats().Sessions == 2 })
	got := w.raw(rawPost("/classify", `{"tokens":[1]}`))
	if !strings.HasPrefix(got, "HTTP/1.1 429 ") || !strings.Contains(got, "the connection limit of --max-clients") {
		t.Errorf("got %q, want 429", got)
	}
	if n := w.server.stats().Errors["-32000"]; n != 1 {
		t.Errorf("got %d errors -32000, want 1", n)
	}
	for _, header := range []string{"Retry-After: 1", "Retry-After-Ms: ", "Cache-Control: no-store",
		"Connection: close", "Content-Type: application/json", "Date: "} {
		if !strings.Contains(got, "\r\n"+header) {
			t.Errorf("got %q, want header %s", got, header)
		}
	}
	time.Sleep(defaultAllowances.silent)
	w.post("/classify", `{"tokens":[1]}`) // replaces a silent connection
	if _, page := w.send("GET", "/metrics", ""); !strings.Contains(page,
		`sftseq_http_responses_total{status="429"} 1`) {
		t.Error("the metrics do not count the response 429")
	}
	closed := 0
	for _, conn := range silent {
		conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := conn.Read(make([]byte, 1)); err == io.EOF {
			closed++
		}
	}
	if closed != 1 {
		t.Errorf("%d of two silent connections were closed, want 1", closed)
	}
}

// TestHTTPBusy checks requests whose body can be read, but not kept for lack of memory. The response
// is 429 with Retry-After, and no memory stays counted.
func TestHTTPBusy(t *testing.T) {
	w := startHTTP(t, testOptions(t, "pre"), HTTPOptions{})
	m := &w.server.memory
	long := `{"tokens":[1` + strings.Repeat(" ", 2*jsonlines.Free) + "]}"
	for body, free := range map[string]int64{`{"tokens":[1]}`: 0, long: int64(len(long)) - jsonlines.Free} {
		taken := m.limit - m.used.Load() - free
		m.reserve(taken)
		r, got := w.send("POST", "/classify", body)
		m.release(taken)
		expectWebError(t, fmt.Sprintf("with memory for %d bytes", free), r, got, 429,
			"reached --max-memory", "", "rate_limit_exceeded")
		if r.Header.Get("Retry-After") != "1" || r.Header.Get("Retry-After-Ms") == "" {
			t.Errorf("got header %v, want Retry-After", r.Header)
		}
		eventually(t, "memory is still counted", func() bool {
			return m.used.Load() == 0 && w.server.readingMemory.used.Load() == 0
		})
	}
	w.post("/classify", `{"tokens":[1]}`)
}

// TestHTTPBeyondMemory checks that a body that can never fit into memory gets status 413.
func TestHTTPBeyondMemory(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory = 4 << 20
	w := startHTTP(t, o, HTTPOptions{})
	r, got := w.send("POST", "/classify", `{"tokens":[1`+strings.Repeat(" ", 3<<20)+"]}")
	expectWebError(t, "most of the memory", r, got, 413, "half of --max-memory", "", "")
}

// TestHTTPIdle checks that an idle connection is closed after --idle-timeout.
func TestHTTPIdle(t *testing.T) {
	o := testOptions(t, "pre")
	o.IdleTimeout = 300 * time.Millisecond
	w := startHTTP(t, o, HTTPOptions{})
	began := time.Now()
	got := w.raw(rawPost("/classify", `{"tokens":[1]}`))
	if took := time.Since(began); !strings.HasPrefix(got, "HTTP/1.1 200 ") ||
		took < o.IdleTimeout || took > 10*time.Second {
		t.Errorf("got %q, closed after %v, want 200, closed after %v", got, took, o.IdleTimeout)
	}
}

// TestHTTPLost checks that requests get status 503 with Retry-After while the device is lost.
func TestHTTPLost(t *testing.T) {
	o := testOptions(t, "pre")
	var devices []*failingDevice
	o.Lost = func(err error) bool { return errors.Is(err, errLost) }
	o.Load = func() (*Model, error) {
		m, err := sft.Load(goldenDir + "/pre")
		if err != nil {
			return nil, err
		}
		out, d, err := onFailingDevice(m)
		devices = append(devices, d)
		return out, err
	}
	w := startHTTP(t, o, HTTPOptions{})
	devices[0].lost.Store(true)
	r, got := w.send("POST", "/classify", `{"tokens":[1]}`)
	expectWebError(t, "without a device", r, got, 503, "the device is lost", "", "")
	if r.Header.Get("Retry-After") != "1" || r.Header.Get("Retry-After-Ms") != "1000" {
		t.Errorf("got header %v, want Retry-After of 1 second", r.Header)
	}
	w.server.recovering.Wait()
	w.post("/classify", `{"tokens":[1]}`)
}
