package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestServeAsPredict is Show 2: the same lines give the same bytes, whatever the
// batches are, errors among them.
func TestServeAsPredict(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, model := range []string{"pre", "post", "retrieval"} {
		var in strings.Builder
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
		_, want, _ := program(strings.NewReader(in.String()), "predict", "--model", golden(model))
		for _, flags := range [][]string{nil, {"--max-batch-tokens", "100", "--max-wait", "0s"}, {"--threads", "1"}} {
			status, got, errs := program(strings.NewReader(in.String()), append([]string{"serve", "--log", "error", "--model", golden(model)}, flags...)...)
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
	model := golden("pre")
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{exitUsage, "--model is missing", nil},
		{exitUsage, `--framing "x"`, []string{"--model", model, "--framing", "x"}},
		{exitUsage, "--max-inflight 0", []string{"--model", model, "--max-inflight", "0"}},
		{exitUsage, "--max-line -1", []string{"--model", model, "--max-line", "-1"}},
		{exitUsage, "--max-memory 5", []string{"--model", model, "--max-memory", "5"}},
		{exitUsage, "--drain -1s", []string{"--model", model, "--drain", "-1s"}},
		{exitUsage, "--max-batch-tokens 0", []string{"--model", model, "--max-batch-tokens", "0"}},
		{exitUsage, `--log "x"`, []string{"--model", model, "--log", "x"}},
		{exitUsage, "--reembed needs --index", []string{"--model", model, "--reembed"}},
		{exitError, "no/model", []string{"--model", "no/model"}},
		{exitError, "--listen x", []string{"--model", model, "--listen", "x"}},
		{exitError, "without shutdown", []string{"--model", model, "--log", "error"}},
	} {
		refuse(t, c.status, c.want, "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n", append([]string{"serve"}, c.args...)...)
	}
}

// TestServeProcess serves sockets, metrics and signals as a process: under load it
// is told to read the model again and then to stop; every accepted request is
// answered (Show 6).
func TestServeProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	path := built(t)
	socket := filepath.Join(t.TempDir(), "s")
	c := exec.Command(path, "serve", "--model", golden("pre"), "--listen", "unix:"+socket, "--metrics", "127.0.0.1:0")
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

	var clients sync.WaitGroup
	for range 4 {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		clients.Go(func() { hammer(t, conn) })
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
	c.Process.Signal(syscall.SIGTERM)
	clients.Wait()
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// hammer sends requests until the server closes the connection, and expects an
// answer to each that was accepted: as it reads in order, to all up to some number.
func hammer(t *testing.T, conn net.Conn) {
	defer conn.Close()
	go func() {
		fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
		for i := 1; ; i++ {
			if _, err := fmt.Fprintf(conn, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[%d,2%s]}}\n", i, 1+i%16, strings.Repeat(",5", i%200)); err != nil {
				return
			}
			time.Sleep(500 * time.Microsecond)
		}
	}()
	answered, largest := map[int]bool{}, 0
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var id int
		if _, err := fmt.Sscanf(lines.Text(), `{"jsonrpc":"2.0","id":%d,`, &id); err != nil || answered[id] {
			t.Errorf("%q", lines.Text())
			continue
		}
		answered[id] = true
		largest = max(largest, id)
		if strings.Contains(lines.Text(), `"error"`) && !strings.Contains(lines.Text(), "-32000") {
			t.Errorf("%.300s", lines.Text())
		}
	}
	if len(answered) != largest+1 || largest < 20 {
		t.Errorf("%d answers up to id %d", len(answered), largest)
	}
}

// TestServeStops: an interrupt ends a server over standard input, too.
func TestServeStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	in, typed := io.Pipe()
	defer typed.Close()
	time.AfterFunc(50*time.Millisecond, cancel)
	var errs strings.Builder
	if status := run(ctx, []string{"sftseq", "serve", "--log", "error", "--model", golden("pre")}, in, io.Discard, &errs); status != 0 || errs.String() != "" {
		t.Errorf("status %d, %q", status, errs.String())
	}
}
