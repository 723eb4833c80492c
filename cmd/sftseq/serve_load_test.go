package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
)

// TestServeCost measures how much CPU time per token serve needs compared with predict, using the
// ListOps model of the preset paper. Both run as processes. The test takes minutes and runs only with
// SFTSEQ_LOAD set. predict runs before and after serve, so that changes of the machine's speed
// average out.
func TestServeCost(t *testing.T) {
	if os.Getenv("SFTSEQ_LOAD") == "" {
		t.Skip("SFTSEQ_LOAD=1 measures the CPU time that the server adds to predict")
	}
	config, _ := must.Get2(benchConfig("listops"))(t)
	model := t.TempDir()
	must.Succeed(t, sft.NewModel(config, 1).Save(model))
	path := built(t)
	const n = 1000
	r := rand.New(rand.NewPCG(1, 2))
	var lines, calls strings.Builder
	calls.WriteString("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n")
	tokens := 0
	for i := range n {
		length := 500 + r.IntN(1501)
		tokens += length
		fmt.Fprintf(&lines, "{\"tokens\":[1%s]}\n", strings.Repeat(",7", length-1))
		fmt.Fprintf(&calls, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[1%s]}}\n", i+1, strings.Repeat(",7", length-1))
	}
	cost := func(input, command string, flags ...string) time.Duration {
		c := exec.Command(path, append([]string{command, "--model", model}, flags...)...)
		c.Stdin = strings.NewReader(input)
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		if err := c.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, errs.String())
		}
		if got := strings.Count(out.String(), `"logits"`); got != n {
			t.Fatalf("%s: %d responses, want %d\n%.500s", command, got, n, out.String())
		}
		cpuTime := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		t.Logf("%s: %.0f tokens per second of CPU time", command, float64(tokens)/cpuTime.Seconds())
		return cpuTime
	}
	inflight := fmt.Sprint("--max-inflight=", n)
	before := cost(lines.String(), "predict")
	served := cost(calls.String(), "serve", inflight)
	bare := cost(lines.String(), "serve")
	after := cost(lines.String(), "predict")
	predict := (before + after) / 2
	t.Logf("throughput relative to predict: requests %.3f, lines of predict %.3f", predict.Seconds()/served.Seconds(),
		predict.Seconds()/bare.Seconds())
}

// TestServeLatency measures the latency of a single request by sequence length. It runs only with
// SFTSEQ_LOAD set.
func TestServeLatency(t *testing.T) {
	if os.Getenv("SFTSEQ_LOAD") == "" {
		t.Skip("SFTSEQ_LOAD=1 measures latencies")
	}
	config, _ := must.Get2(benchConfig("listops"))(t)
	preset := t.TempDir()
	must.Succeed(t, sft.NewModel(config, 1).Save(preset))
	path := built(t)
	for name, model := range map[string]string{"small": goldenPath("pre"), "listops": preset} {
		c := exec.Command(path, "serve", "--log", "error", "--model", model)
		in, out := pipes(t, c)
		request := func(text string) (latency time.Duration) {
			start := time.Now()
			fmt.Fprintln(in, text)
			if !out.Scan() || !strings.Contains(out.Text(), `"result"`) {
				t.Fatalf("%s: request %.300q: got response %.300q, read error %v; want a response with \"result\"",
					name, text, out.Text(), out.Err())
			}
			return time.Since(start)
		}
		request(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
		for _, length := range []int{10, 100, 500, 1000, 2000} {
			const n = 101
			var latencies []time.Duration
			for range n {
				latencies = append(latencies, request(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"sequence/classify","params":{"tokens":[1%s]}}`, strings.Repeat(",7", length-1))))
			}
			slices.Sort(latencies)
			t.Logf("%s, %4d tokens: median %v, p99 %v", name, length, latencies[n/2], latencies[n*99/100])
		}
		in.Close()
		must.Check(t, c.Wait())
	}
}
