package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// TestServeAsPredict checks that serve prints the same bytes as predict for the same lines,
// malformed lines included, whatever the batch size.
func TestServeAsPredict(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, model := range []string{"pre", "post", "retrieval", "regression", "tagging", "multilabel"} {
		var in strings.Builder
		in.WriteString("{\"tokens\":[1],\"tokens\":[2]}\n{\"text_a\":\"a\",\"text_a\":\"b\"}\n{\"tokens\":[]}\n" +
			"{\"text\":\"1\",\"tokens\":[1]}\n{\"text_a\":5}\n")
		for i := range 150 {
			sequence := func() string { return fmt.Sprintf("[%d%s]", 1+r.IntN(16), strings.Repeat(",3", r.IntN(300))) }
			switch {
			case i == 0 && model == "retrieval" || i%40 != 0 && model == "retrieval":
				fmt.Fprintf(&in, "{\"tokens_a\":%s,\"text_b\":\"<a> & b %d\"}\n", sequence(), i)
			case i%40 == 39:
				in.WriteString("{\"tokens\":[0]}\nnot JSON\n\n{}\n")
			default:
				fmt.Fprintf(&in, "{\"id\":\"<%d>\",\"tokens\":%s}\n", i, sequence())
			}
		}
		_, want, _ := program(strings.NewReader(in.String()), "predict", "--model", goldenPath(model))
		for _, flags := range [][]string{nil, {"--max-batch-tokens", "100", "--max-wait", "0s"}, {"--threads", "1"}} {
			status, got, errs := program(strings.NewReader(in.String()),
				append([]string{"serve", "--log", "error", "--model", goldenPath(model)}, flags...)...)
			if status != 0 || errs != "" {
				t.Errorf("%s %v: got status %d, standard error %q; want 0, \"\"", model, flags, status, errs)
			}
			equal(t, got, want, model, flags)
		}
	}
}

// TestServeFlags checks the errors for invalid flags of serve.
func TestServeFlags(t *testing.T) {
	refuse(t, exitUsage, "--model is missing", "", "serve")
	refuse(t, exitError, "no/model", "", "serve", "--model", "no/model")
	serve := []string{"serve", "--model", goldenPath("pre")}
	refuseAll(t, exitUsage, serve, []refusal{
		{`--framing "x"`, []string{"--framing", "x"}},
		{"--max-inflight 0", []string{"--max-inflight", "0"}},
		{"--max-line \"-1\": expected a size from 1 B to 1.0 GiB", []string{"--max-line", "-1"}},
		{"--max-memory \"5\": expected a size from 1.0 MiB to", []string{"--max-memory", "5"}},
		{"--drain -1s", []string{"--drain", "-1s"}},
		{"--max-batch-tokens 0", []string{"--max-batch-tokens", "0"}},
		{`--log "x"`, []string{"--log", "x"}},
		{"--max-clients 0: expected 1 to", []string{"--listen", "tcp::0", "--max-clients", "0"}},
		{"--idle-timeout -1s: expected 0s or more", []string{"--listen", "tcp::0", "--idle-timeout", "-1s"}},
		{"--max-clients needs --listen or --http", []string{"--max-clients", "2"}},
		{"--idle-timeout needs --listen or --http", []string{"--idle-timeout", "1m"}},
		{"--reembed needs --index", []string{"--reembed"}},
		{`--max-memory "much"`, []string{"--max-memory", "much"}},
		{`found "x"`, []string{"x"}},
		{`--listen "x": expected unix:PATH or tcp:HOST:PORT`, []string{"--listen", "x"}},
		{`--listen "tcp": expected unix:PATH or tcp:HOST:PORT`, []string{"--listen", "tcp"}},
		{`--listen "tcp:99999": expected unix:PATH or tcp:HOST:PORT`, []string{"--listen", "tcp:99999"}},
		{`--listen "tcp::99999": expected a port from 0 to 65535`, []string{"--listen", "tcp::99999"}},
		{`--metrics "9090": expected HOST:PORT`, []string{"--metrics", "9090"}},
	})
	serve = append(serve, "--log", "error")
	refuse(t, exitError, "--listen unix:/no/such/socket", "", append(serve, "--listen", "unix:/no/such/socket")...)
	refuse(t, exitError, "without shutdown", "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n", serve...)
}

// TestServeProcess tests the socket, the metrics and the signals of a server process. Under load the server
// receives SIGHUP, which reloads the model, and then SIGTERM. Every accepted request gets a response.
func TestServeProcess(t *testing.T) {
	path := built(t)
	socket := filepath.Join(t.TempDir(), "s")
	c := exec.Command(path, "serve", "--model", goldenPath("pre"), "--listen", "unix:"+socket,
		"--metrics", "127.0.0.1:0")
	log := untilListening(t, c)
	metrics := regexp.MustCompile(`msg=metrics address=(\S+)`).FindStringSubmatch(log)
	if metrics == nil {
		t.Fatalf("no address of metrics in %s", log)
	}

	var clients, accepted sync.WaitGroup
	for range 4 {
		conn := must.Get(net.Dial("unix", socket))(t)
		accepted.Add(1)
		clients.Go(func() { sendRequests(t, conn, accepted.Done) })
	}
	time.Sleep(100 * time.Millisecond)
	c.Process.Signal(syscall.SIGHUP)
	time.Sleep(100 * time.Millisecond)
	for path, want := range map[string]string{"/healthz": "ok",
		"/metrics": "sftseq_latency_seconds_count{method=\"sequence/classify\"}"} {
		r := must.Get(http.Get("http://" + metrics[1] + path))(t)
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		contains(t, string(body), want)
	}
	accepted.Wait()
	c.Process.Signal(syscall.SIGTERM)
	clients.Wait()
	must.Check(t, c.Wait())
}

// sendRequests sends 300 requests at intervals of a millisecond, then 100 in a burst and a model/info
// request. The response to model/info shows that all requests were accepted, and must arrive while more
// than 50 of them are pending. Each request must get one response in spite of the signals.
func sendRequests(t *testing.T, conn net.Conn, accepted func()) {
	defer conn.Close()
	const sequential, burst = 300, 100
	const last = sequential + burst + 1
	go func() {
		fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
		w := bufio.NewWriter(conn)
		for i := 1; i < last; i++ {
			length := i % 200
			if i > sequential {
				length = 300
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"method":"sequence/classify","params":{"tokens":[%d,2%s]}}`+"\n",
				i, 1+i%16, strings.Repeat(",5", length))
			if i <= sequential {
				w.Flush()
				time.Sleep(time.Millisecond)
			}
		}
		fmt.Fprintf(w, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"model/info\"}\n", last)
		w.Flush()
	}()
	responses, before := map[int]bool{}, 0
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var id int
		if _, err := fmt.Sscanf(lines.Text(), `{"jsonrpc":"2.0","id":%d,`, &id); err != nil || responses[id] ||
			strings.Contains(lines.Text(), `"error"`) {
			t.Errorf("got response %.300q, want a result with an id that was not used before", lines.Text())
			continue
		}
		responses[id] = true
		if id == last {
			before = len(responses)
			accepted()
		}
	}
	if len(responses) != last+1 || before > last-burst/2 {
		t.Errorf("got %d responses, want %d; %d of them up to the response to model/info, want at most %d", len(responses), last+1, before,
			last-burst/2)
	}
}

// pipes starts a command and returns its standard input and a scanner of its output.
func pipes(t *testing.T, c *exec.Cmd) (io.WriteCloser, *bufio.Scanner) {
	t.Helper()
	in := must.Get(c.StdinPipe())(t)
	out := must.Get(c.StdoutPipe())(t)
	must.Succeed(t, c.Start())
	t.Cleanup(func() { c.Process.Kill() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return in, lines
}

// lockedBuffer is a buffer that is safe for concurrent use.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestServeClosedOutput checks that serve reports a broken pipe if standard output is closed.
func TestServeClosedOutput(t *testing.T) {
	c := exec.Command(built(t), "serve", "--model", goldenPath("pre"), "--log", "error")
	reader, writer := must.Get2(os.Pipe())(t)
	reader.Close()
	var errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader("{\"tokens\":[1]}\n"), writer, &errs
	if err := c.Run(); c.ProcessState.ExitCode() != exitError || !strings.Contains(errs.String(), "broken pipe") {
		t.Errorf("got %v: %s, want exit status %d and the error broken pipe", err, errs.String(), exitError)
	}
}
