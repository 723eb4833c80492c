package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/index"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft"
)

// BenchmarkAttack measures how long an honest client waits for the classification of a short text,
// alternately without and with each attack. It reports the median and the 99th percentile, and the
// ratios of these times to the times without an attack. Server, attackers and honest client are
// separate processes. The attacks "busy-loop" and "http-busy-loop" only keep the machine busy. On a
// machine with other load, the percentiles differ between runs.
//
//	go test ./cmd/sftseq -run '^$' -bench Attack -benchtime 1000x
//
// For each attack, the honest client sends the -benchtime number of requests without the attack, and the
// same number during it.
func BenchmarkAttack(b *testing.B) {
	server := attackedServer(b, 100_000)
	raisePriority()
	for _, a := range attacks {
		b.Run(a.name, func(b *testing.B) {
			honest := honestLatencies
			if a.http {
				honest = honestHTTP
			}
			var alone, duringAttack []time.Duration
			const rounds = 5
			for round := range rounds {
				n := b.N*(round+1)/rounds - b.N*round/rounds
				time.Sleep(500 * time.Millisecond) // lets the last attack end
				alone = append(alone, honest(b, server, n)...)
				stop := attack(b, server, a.name)
				duringAttack = append(duringAttack, honest(b, server, n)...)
				stop()
			}
			report := func(percent int, unit string) {
				before, during := percentile(alone, percent), percentile(duringAttack, percent)
				b.ReportMetric(float64(before.Microseconds())/1000, "alone-"+unit+"-ms")
				b.ReportMetric(float64(during.Microseconds())/1000, unit+"-ms")
				b.ReportMetric(float64(during)/float64(before), unit+"-ratio")
			}
			report(50, "p50")
			report(99, "p99")
			b.ReportMetric(0, "ns/op") // not meaningful here
		})
	}
}

// raisePriority raises the priority of this process's threads if permitted: an honest client would run on
// its own machine and not compete with the server for cores.
func raisePriority() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			syscall.Setpriority(syscall.PRIO_PROCESS, id, -20)
		}
	}
}

// TestAttacks runs each attack briefly. It checks that the server responds to an honest client
// during the attack, and that it exits without an error after all attacks.
func TestAttacks(t *testing.T) {
	server := attackedServer(t, 10_000) // the largest count that a search may request
	checkAttackRequests(t, server)
	for _, a := range attacks {
		honest := honestLatencies
		if a.http {
			honest = honestHTTP
		}
		stop := attack(t, server, a.name)
		latencies := honest(t, server, 6)
		stop()
		t.Logf("%-15s median %v, longest %v", a.name, percentile(latencies, 50), percentile(latencies, 100))
	}
}

// percentile returns a percentile of latencies, which need not be sorted.
func percentile(d []time.Duration, percent int) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[(len(d)-1)*percent/100]
}

// attackedProcess is a server that runs as a separate process.
type attackedProcess struct {
	socket string // JSON-RPC socket
	web    string // HTTP address, HOST:PORT
	pid    int
	log    string // path of the file with standard error
}

// httpToken is the bearer token of the honest clients of an attacked server.
const httpToken = "honest-client-000"

// attackedServer starts a server with a small text model, whose weights are random. count is the number of
// items in the index.
func attackedServer(tb testing.TB, count int, flags ...string) attackedProcess {
	tb.Helper()
	config, _ := must.Get2(benchConfig(lra.Text.Name))(tb)
	config.NumLayers, config.HiddenSize, config.SinusoidDim, config.IntermediateSize,
		config.NumSampledTokens = 2, 64, 64, 128, 64
	config.InputWindow = nil
	dir := tb.TempDir()
	must.Succeed(tb, sft.NewModel(config, 1).Save(dir))
	saved := must.Get(sft.Load(dir))(tb)
	items := filepath.Join(dir, "items")
	fillIndex(tb, items, count, saved)
	token := filepath.Join(dir, "token")
	must.Succeed(tb, os.WriteFile(token, []byte(httpToken), 0o600))
	vacant := must.Get(net.Listen("tcp", "127.0.0.1:0"))(tb)
	vacant.Close()
	socket, web := filepath.Join(dir, "socket"), vacant.Addr().String()
	c := exec.Command(built(tb), append([]string{"serve", "--model", dir, "--index", items, "--listen",
		"unix:" + socket, "--http", web, "--http-token", token, "--log", "warn", "--device", "cpu"}, flags...)...)
	log := filepath.Join(dir, "log") // a file, because reading a pipe would take CPU time from this process
	logs := must.Get(os.Create(log))(tb)
	defer logs.Close()
	c.Stderr = logs
	must.Succeed(tb, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	tb.Cleanup(func() {
		c.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			if err != nil {
				tb.Errorf("the server: %v\n%.2000s", err, readText(tb, log))
			}
		case <-time.After(30 * time.Second):
			c.Process.Kill()
			tb.Errorf("the server does not exit\n%.2000s", readText(tb, log))
		}
	})
	for _, listener := range [][2]string{{"unix", socket}, {"tcp", web}} {
		await(tb, 30*time.Second, func() bool {
			conn, err := net.Dial(listener[0], listener[1])
			if err == nil {
				conn.Close()
			}
			return err == nil
		}, "the server does not listen")
	}
	return attackedProcess{socket, web, c.Process.Pid, log}
}

// fillIndex writes an index of random vectors for the model m. count is the number of vectors.
func fillIndex(tb testing.TB, path string, count int, m *sft.Model) {
	var tokenizer bytes.Buffer
	must.Succeed(tb, json.Compact(&tokenizer, m.Config.Tokenizer))
	x := must.Get(index.Open(path, index.Options{Model: serve.Hash(m), Tokenizer: tokenizer.String(),
		Size: m.Config.HiddenSize}))(tb)
	r := rand.New(rand.NewPCG(1, 2))
	var last func() error
	for n := range count {
		v := make([]float32, m.Config.HiddenSize)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		last = x.Add(index.Item{ID: fmt.Sprint("item ", n), Tokens: []int32{1, 2, 3}, Vector: v})
	}
	must.Succeed(tb, last())
	must.Succeed(tb, x.Close())
}

// attack starts the attackers in a separate process and returns after they have begun. stop kills
// them.
func attack(tb testing.TB, server attackedProcess, name string) (stop func()) {
	tb.Helper()
	c := exec.Command(os.Args[0], name)
	c.Env = append(os.Environ(), attackVariable+"="+server.socket+" "+server.web)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Stderr = os.Stderr
	out := must.Get(c.StdoutPipe())(tb)
	must.Succeed(tb, c.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		tb.Fatalf("the attackers: %q, %v", line, err)
	}
	// Real attackers run on their own machines, so the attackers of this test must not take cores
	// from the server.
	must.Succeed(tb, syscall.Setpriority(syscall.PRIO_PGRP, c.Process.Pid, 19))
	time.Sleep(300 * time.Millisecond)
	stop = sync.OnceFunc(func() {
		c.Process.Kill()
		c.Wait()
	})
	tb.Cleanup(stop)
	return stop
}

// shortText is the text that honest clients classify.
var shortText = strings.Repeat("a short text ", 8)

// honestLatencies classifies n short texts sequentially and returns the latency of each request.
func honestLatencies(tb testing.TB, server attackedProcess, n int) []time.Duration {
	tb.Helper()
	conn := must.Get(net.Dial("unix", server.socket))(tb)
	defer conn.Close()
	in := bufio.NewReader(conn)
	request := func(message string) time.Duration {
		conn.SetDeadline(time.Now().Add(time.Minute))
		start := time.Now()
		if _, err := io.WriteString(conn, message+"\n"); err != nil {
			tb.Fatal(err)
		}
		line, err := in.ReadString('\n')
		if err != nil || strings.Contains(line, `"error"`) {
			tb.Fatalf("the honest client got response %.300q, error %v; want one without \"error\", <nil>", line, err)
		}
		return time.Since(start)
	}
	request(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
	latencies := make([]time.Duration, n)
	for i := range latencies {
		latencies[i] = request(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sequence/classify","params":{"text":%q}}`, i+1,
			shortText))
		time.Sleep(20 * time.Millisecond)
	}
	return latencies
}
