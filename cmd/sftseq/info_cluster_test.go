package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/testenv"
)

// link returns a network with a bandwidth in bytes per second and a latency.
func link(bandwidth float64, latency time.Duration) distributed.Network {
	return distributed.Network{Bandwidth: bandwidth, Latency: latency.Seconds()}
}

// relative returns |got − want|/want.
func relative(got, want float64) float64 { return math.Abs(got-want) / want }

func TestParseCluster(t *testing.T) {
	for text, want := range map[string]cluster{
		"4,10Gbit":           {4, link(1.25e9, defaultLatency)},
		"1024, 1GB ,2us":     {1024, link(1e9, 2*time.Microsecond)},
		"1,1.5MiB/s,0s":      {1, link(1.5*1024*1024, 0)},
		"2,100Mbit/s,1ms":    {2, link(12.5e6, time.Millisecond)},
		"2,800kbit":          {2, link(1e5, defaultLatency)},
		"3,25000000000B,1us": {3, link(25e9, time.Microsecond)},
	} {
		if got, err := parseCluster(text); err != nil || got.ranks != want.ranks ||
			got.network.Latency != want.network.Latency ||
			relative(got.network.Bandwidth, want.network.Bandwidth) > 1e-12 {
			t.Errorf("%q: got %+v and error %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                 "expected W,BANDWIDTH",
		"4":                "expected W,BANDWIDTH",
		"4,1GB,1us,2":      "expected W,BANDWIDTH",
		"0,1GB":            `ranks "0": expected a number from 1 to 1024`,
		"1025,1GB":         `ranks "1025": expected a number from 1 to 1024`,
		"many,1GB":         `ranks "many"`,
		"4,10":             `bandwidth "10": expected the rate at which a rank sends, such as 10Gbit (bits) or 1GB (bytes)`,
		"4,10Gb":           `bandwidth "10Gb"`,
		"4,0GB":            `bandwidth "0GB": expected at least 1 byte and at most 1,000 TB per second`,
		"4,-1GB":           `bandwidth "-1GB"`,
		"4,NaNGB":          `bandwidth "NaNGB"`,
		"4,100000000000TB": "expected at least 1 byte and at most 1,000 TB per second",
		"4,1GB,50":         `latency "50": expected a time from 0s to 1s`,
		"4,1GB,-1us":       `latency "-1us"`,
		"4,1GB,2s":         `latency "2s"`,
	} {
		if got, err := parseCluster(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v and error %v, want an error with %q", text, got, err, want)
		}
	}
}

// TestInfoCluster checks that info --cluster simulates training steps with the settings of the flags on 1, 2, 4
// and 6 ranks.
func TestInfoCluster(t *testing.T) {
	testenv.NoRace(t, "measures and simulates code that other tests cover")
	args := []string{"info", "--model", goldenPath("pre"), "--cluster", "6,10Gbit,20us", "--batch", "8", "--length",
		"1024", "--threads", "1", "--device", "cpu"}
	got := decode[modelInfo](t, printed(t, "", append(args, "--json")...))
	c := got.Cluster
	if c == nil || c.Batch != 8 || c.Length != 1024 || c.MicroBatches != 2 || c.Bandwidth != 1.25e9 ||
		c.Latency != 20e-6 || len(c.Steps) != 4 {
		t.Fatalf("unexpected configuration: %+v", c)
	}
	parameters := float64(got.Parameters[len(got.Parameters)-1].Count)
	for i, ranks := range []int{1, 2, 4, 6} {
		s := c.Steps[i]
		if s.Ranks != ranks || s.Busy != min(2, ranks) || !(s.Seconds > c.Measured.Update) ||
			(s.SentBytes > 0) != (ranks > 1) || (s.Exchange > 0) != (ranks > 1) {
			t.Errorf("got step %+v, want %d ranks, %d of them busy, more time than the update takes, and traffic "+
				"only between ranks", s, ranks, min(2, ranks))
		}
		// Each rank sums the gradients of one slice of the parameters. A rank sends its gradients of
		// all other slices, and the sums of its slice to each other rank. Alignment adds a few words,
		// so the test allows an error of 10%.
		if w := float64(ranks); ranks > 1 && relative(s.SentBytes, 2*4*parameters*(w-1)/w) > 0.1 {
			t.Errorf("%d ranks: each sends %v bytes for %v parameters, want about %v", ranks, s.SentBytes, parameters,
				2*4*parameters*(w-1)/w)
		}
	}
	if c.Steps[0].Efficiency != 1 || !(c.Steps[3].Efficiency < c.Steps[1].Efficiency) {
		t.Errorf("got steps %+v, want efficiency 1 of one rank, and a lower efficiency of 6 ranks than of 2", c.Steps)
	}
	text := printed(t, "", args...)
	contains(t, text, "batch 8 of 1024 tokens, 2 micro-batches; each rank sends 1.25 GB/s, a message takes 20.0 µs",
		"ranks  busy", "efficiency", "100.0%")
	notContains(t, printed(t, "", "info", "--model", goldenPath("pre"), "--json"), "cluster")
}

// TestInfoClusterTrained checks that the default batch is the batch of the model's training.
func TestInfoClusterTrained(t *testing.T) {
	testenv.NoRace(t, "measures and simulates code that other tests cover")
	model := t.TempDir()
	printed(t, "", "train", "custom", "--members", "sft", "--data", customData(t, "--label", "mood"),
		"--out", model, "--hidden", "8",
		"--batch", "3", "--stop-at", "1", "--device", "cpu")
	text := printed(t, "", "info", "--model", model, "--cluster", "2,1GB", "--length", "5",
		"--threads", "1", "--device", "cpu")
	contains(t, text, "batch 3 of 5 tokens, 1 micro-batches")
}

func TestInfoClusterRefuses(t *testing.T) {
	testenv.NoRace(t, "measures and simulates code that other tests cover")
	refuseAll(t, exitUsage, []string{"info", "--model", goldenPath("pre")}, []refusal{
		{"--cluster \"4\": expected W,BANDWIDTH", []string{"--cluster", "4", "--batch", "8"}},
		{"--batch is missing: expected rows per step", []string{"--cluster", "4,1GB"}},
		{"--batch 0: expected 1 to", []string{"--cluster", "4,1GB", "--batch", "0"}},
		{"--length 99999: expected 1 to 4096 tokens", []string{"--cluster", "4,1GB", "--batch",
			"8", "--length", "99999"}},
		{"--batch belongs to --cluster", []string{"--batch", "8"}},
		{"--memory \"much\"", []string{"--cluster", "4,1GB", "--batch", "8", "--memory", "much"}},
	})
}
