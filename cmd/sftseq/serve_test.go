package main

import (
	"bufio"
	"bytes"
	"context"
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

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestServeAsPredict is Show 2: the same lines give the same bytes, whatever the
// batches are, errors among them.
func TestServeAsPredict(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, model := range []string{"pre", "post", "retrieval"} {
		var in strings.Builder
		in.WriteString("{\"tokens\":[1],\"tokens\":[2]}\n{\"text_a\":\"a\",\"text_a\":\"b\"}\n{\"tokens\":[]}\n{\"text\":\"1\",\"tokens\":[1]}\n{\"text_a\":5}\n")
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
			status, got, errs := program(strings.NewReader(in.String()), append([]string{"serve", "--log", "error", "--model", goldenPath(model)}, flags...)...)
			if status != 0 || errs != "" {
				t.Errorf("%s %v: status %d, %s", model, flags, status, errs)
			}
			if got != want {
				t.Errorf("%s %v: serve and predict differ\n%.500s\n%.500s", model, flags, got, want)
			}
		}
	}
}

func TestServeFlags(t *testing.T) {
	model := goldenPath("pre")
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{exitUsage, "--model is missing", nil},
		{exitUsage, `--framing "x"`, []string{"--model", model, "--framing", "x"}},
		{exitUsage, "--max-inflight 0", []string{"--model", model, "--max-inflight", "0"}},
		{exitUsage, "--max-line \"-1\", expected 1 B to 1.0 GiB", []string{"--model", model, "--max-line", "-1"}},
		{exitUsage, "--max-memory \"5\", expected 1.0 MiB to", []string{"--model", model, "--max-memory", "5"}},
		{exitUsage, "--drain -1s", []string{"--model", model, "--drain", "-1s"}},
		{exitUsage, "--max-batch-tokens 0", []string{"--model", model, "--max-batch-tokens", "0"}},
		{exitUsage, `--log "x"`, []string{"--model", model, "--log", "x"}},
		{exitUsage, "--max-clients 0, expected 1 to", []string{"--model", model, "--listen", "tcp::0", "--max-clients", "0"}},
		{exitUsage, "--idle-timeout -1s, expected 0 or more", []string{"--model", model, "--listen", "tcp::0", "--idle-timeout", "-1s"}},
		{exitUsage, "--max-clients needs --listen or --http", []string{"--model", model, "--max-clients", "2"}},
		{exitUsage, "--idle-timeout needs --listen or --http", []string{"--model", model, "--idle-timeout", "1m"}},
		{exitUsage, "--reembed needs --index", []string{"--model", model, "--reembed"}},
		{exitError, "no/model", []string{"--model", "no/model"}},
		{exitUsage, `--max-memory "much"`, []string{"--model", model, "--max-memory", "much"}},
		{exitUsage, `found "x"`, []string{"--model", model, "x"}},
		{exitUsage, `--listen "x": expected unix:PATH or tcp:HOST:PORT`, []string{"--model", model, "--listen", "x"}},
		{exitUsage, `--listen "tcp:99999": expected HOST:PORT`, []string{"--model", model, "--listen", "tcp:99999"}},
		{exitUsage, `--metrics "9090": expected HOST:PORT`, []string{"--model", model, "--metrics", "9090"}},
		{exitError, "--listen unix:/no/such/socket", []string{"--model", model, "--log", "error", "--listen", "unix:/no/such/socket"}},
		{exitError, "without shutdown", []string{"--model", model, "--log", "error"}},
	} {
		refuse(t, c.status, c.want, "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n", append([]string{"serve"}, c.args...)...)
	}
}

// TestServeProcess serves sockets, metrics and signals as a process: under load it
// is told to read the model again and then to stop; every accepted request is
// answered (Show 6).
func TestServeProcess(t *testing.T) {
	testenv.Long(t, "builds the program")
	path := built(t)
	socket := filepath.Join(t.TempDir(), "s")
	c := exec.Command(path, "serve", "--model", goldenPath("pre"), "--listen", "unix:"+socket, "--metrics", "127.0.0.1:0")
	logs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	lines := bufio.NewScanner(logs)
	metrics := ""
	for lines.Scan() && !strings.Contains(lines.Text(), "listening") {
		if m := regexp.MustCompile(`msg=metrics address=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			metrics = m[1]
		}
	}
	go io.Copy(io.Discard, logs)

	var clients, accepted sync.WaitGroup
	for range 4 {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		accepted.Add(1)
		clients.Go(func() { hammer(t, conn, accepted.Done) })
	}
	time.Sleep(100 * time.Millisecond)
	c.Process.Signal(syscall.SIGHUP)
	time.Sleep(100 * time.Millisecond)
	for path, want := range map[string]string{"/healthz": "ok", "/metrics": "sftseq_latency_seconds_count{method=\"sequence/classify\"}"} {
		r, err := http.Get("http://" + metrics + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if !strings.Contains(string(body), want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	accepted.Wait()
	c.Process.Signal(syscall.SIGTERM)
	clients.Wait()
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// hammer sends requests one after the other, then many at once, and last one that is
// answered out of turn: when its answer is there all are accepted. Each must be
// answered once, whatever the server is told then.
func hammer(t *testing.T, conn net.Conn, accepted func()) {
	defer conn.Close()
	const paced, burst = 300, 100
	const last = paced + burst + 1
	go func() {
		fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
		w := bufio.NewWriter(conn)
		for i := 1; i < last; i++ {
			length := i % 200
			if i > paced {
				length = 300
			}
			fmt.Fprintf(w, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[%d,2%s]}}\n", i, 1+i%16, strings.Repeat(",5", length))
			if i <= paced {
				w.Flush()
				time.Sleep(time.Millisecond)
			}
		}
		fmt.Fprintf(w, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"model/info\"}\n", last)
		w.Flush()
	}()
	answered, before := map[int]bool{}, 0
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var id int
		if _, err := fmt.Sscanf(lines.Text(), `{"jsonrpc":"2.0","id":%d,`, &id); err != nil || answered[id] || strings.Contains(lines.Text(), `"error"`) {
			t.Errorf("%.300q", lines.Text())
			continue
		}
		answered[id] = true
		if id == last {
			before = len(answered)
			accepted()
		}
	}
	if len(answered) != last+1 || before > last-burst/2 {
		t.Errorf("%d answers of %d, %d of them before the server was told to stop", len(answered), last+1, before)
	}
}

// pipes starts a program with its input and the lines of its output.
func pipes(t *testing.T, c *exec.Cmd) (io.WriteCloser, *bufio.Scanner) {
	t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return in, lines
}

// TestServeHangup: SIGHUP loses nothing while the server starts or drains.
func TestServeHangup(t *testing.T) {
	testenv.Long(t, "builds the program")
	const configFile = "config.json"
	model := t.TempDir()
	names, err := os.ReadDir(goldenPath("pre"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if n.Name() != configFile {
			whole, _ := filepath.Abs(filepath.Join(goldenPath("pre"), n.Name()))
			os.Symlink(whole, filepath.Join(model, n.Name()))
		}
	}
	config, err := os.ReadFile(filepath.Join(goldenPath("pre"), configFile))
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(model, configFile)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(built(t), "serve", "--model", model, "--drain", "2m") // a busy machine takes longer than usual
	var errs lockedBuffer
	c.Stderr = &errs
	in, out := pipes(t, c)
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // when the server reads it
	if err != nil {
		t.Fatal(err)
	}
	hangup := func(when int) {
		t.Helper()
		c.Process.Signal(syscall.SIGHUP)
		for end := time.Now().Add(5 * time.Second); strings.Count(errs.String(), "SIGHUP is passed over") < when; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d: %s", when, errs.String())
			}
		}
	}
	hangup(1)
	writer.Write(config)
	writer.Close()
	const n = 200
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":-1,"method":"initialize"}`)
	for i := range n {
		fmt.Fprintf(in, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[1%s]}}\n", i, strings.Repeat(",2", 4000))
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":-2,"method":"model/info"}`)
	answers := 0
	for out.Scan() {
		if answers++; strings.Contains(out.Text(), `"id":-2,`) { // all before it are accepted
			c.Process.Signal(syscall.SIGTERM)
			for !strings.Contains(errs.String(), "draining") {
				time.Sleep(time.Millisecond)
			}
			hangup(2)
		}
	}
	if err := c.Wait(); err != nil || answers != n+2 {
		t.Errorf("%v, %d answers of %d\n%s", err, answers, n+2, errs.String())
	}
}

// lockedBuffer is a buffer that may be read while it is written to.
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

// TestServeClosedOutput: when nobody takes the answers, the program says so.
func TestServeClosedOutput(t *testing.T) {
	testenv.Long(t, "builds the program")
	c := exec.Command(built(t), "serve", "--model", goldenPath("pre"), "--log", "error")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	var errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader("{\"tokens\":[1]}\n"), writer, &errs
	if err := c.Run(); c.ProcessState.ExitCode() != exitError || !strings.Contains(errs.String(), "broken pipe") {
		t.Errorf("%v: %s", err, errs.String())
	}
}

// TestServeStops: an interrupt ends a server over standard input, too.
func TestServeStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	in, typed := io.Pipe()
	defer typed.Close()
	time.AfterFunc(50*time.Millisecond, cancel)
	var errs strings.Builder
	if status := run(ctx, []string{"sftseq", "serve", "--log", "error", "--model", goldenPath("pre")}, in, io.Discard, &errs); status != 0 || errs.String() != "" {
		t.Errorf("status %d, %q", status, errs.String())
	}
}
