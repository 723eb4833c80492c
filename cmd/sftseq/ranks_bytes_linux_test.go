package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// bytesSent returns the number of bytes that a host's network interface has transmitted.
func (n *network) bytesSent(t *testing.T, host int) float64 {
	t.Helper()
	out := must.Get(exec.Command("ip", "netns", "exec", fmt.Sprintf("sftseq-host%d", host), "cat",
		fmt.Sprintf("/sys/class/net/sfteth%d/statistics/tx_bytes", host)).Output())(t)
	bytes := must.Get(strconv.ParseFloat(strings.TrimSpace(string(out)), 64))(t)
	return bytes
}

// TestBytesOfRanks checks that each of W ranks sends 4P(F+1)(W−1)/W bytes per step, for P parameters
// and F partial sums of the gradient on each rank (docs/adr/0027-ranks-move-bytes.md). The network
// interfaces count the bytes.
func TestBytesOfRanks(t *testing.T) {
	testenv.Long(t, "starts many processes")
	testenv.NeedPrograms(t, "mpirun.openmpi")
	net := newNetwork(t, 4)
	program, data := built(t), filepath.Join(t.TempDir(), "data")
	// Nine rows of these lengths form a micro-batch. Four micro-batches split over two or four ranks
	// without a remainder, so F is 1.
	succeed(t, "", "data", "generate", "listops", "--out", data, "--train", "72", "--val", "4", "--test", "4",
		"--min-length", "460", "--max-length", "510")
	run := func(ranks, steps int) (bytes []float64, out string) {
		out = filepath.Join(t.TempDir(), "out")
		before := make([]float64, ranks)
		for r := range before {
			before[r] = net.bytesSent(t, r+1)
		}
		text, err := runWithin(t, net.mpirun(t, ranks, program, "train", "listops", "--data", data, "--out", out,
			"--stages", "none", "--steps", strconv.Itoa(steps), "--batch", "36",
			"--hidden", "64", "--layers", "2", "--k", "8", "--eval-every", "1000", "--log-every", "1000",
			"--threads", "1"), 3*time.Minute)
		if err != nil {
			t.Fatalf("error %v, output:\n%s", err, text)
		}
		for r := range before {
			bytes = append(bytes, net.bytesSent(t, r+1)-before[r])
		}
		return bytes, out
	}
	for _, w := range []float64{2, 4} {
		short, _ := run(int(w), 3)
		long, out := run(int(w), 13)
		var info struct {
			Parameters []struct{ Count float64 } `json:"parameters"`
		}
		must.Succeed(t, json.Unmarshal([]byte(succeed(t, "", "info", "--model", out, "--json")), &info))
		const f = 1
		p := info.Parameters[len(info.Parameters)-1].Count // the total
		want := 4 * p * (f + 1) * (w - 1) / w
		for r := range long {
			got := (long[r] - short[r]) / 10
			t.Logf("rank %d of %v: %.0f bytes a step, expected %.0f: %.3f", r, w, got, want, got/want)
			if math.Abs(got/want-1) > 0.05 {
				t.Errorf("rank %d of %v: got %.0f bytes a step, want %.0f (within 5%%)", r, w, got, want)
			}
		}
	}
}
