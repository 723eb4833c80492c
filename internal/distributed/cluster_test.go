package distributed

import (
	"math"
	"slices"
	"testing"
)

// batchOf returns a batch of micro-batches with equal numbers of tokens.
func batchOf(microBatches, tokens, parameters, results int) ClusterBatch {
	return ClusterBatch{MicroBatches: slices.Repeat([]int{tokens}, microBatches),
		Parameters: parameters, Results: results}
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*max(math.Abs(want), 1e-6) }

// TestOneRank checks that one rank exchanges nothing, even if the network is slow, and the time of its step.
func TestOneRank(t *testing.T) {
	f := ClusterFigures{Alone: 2e-6, Together: 1e-6, Update: 0.5, Copy: 1, Add: 1}
	s := PredictSteps(batchOf(8, 5000, 1000, 10), f, Network{Bandwidth: 1, Latency: 1}, []int{1})[0]
	if s.Busy != 1 || s.SentBytes != 0 || s.Exchange != 0 || s.Efficiency != 1 || !near(s.Seconds, 8*5000*1e-6+0.5) {
		t.Errorf("got %+v, want one busy rank, no exchange and %v seconds", s, 8*5000*1e-6+0.5)
	}
	// A single micro-batch has the device to itself.
	if s = PredictSteps(batchOf(1, 5000, 1000, 10), f, Network{Bandwidth: 1},
		[]int{1})[0]; !near(s.Seconds, 5000*2e-6+0.5) {
		t.Errorf("one micro-batch: got %+v, want %v seconds", s, 5000*2e-6+0.5)
	}
}

// TestFreeExchange checks that with an infinitely fast network and host, a step takes the time of
// the rank with the most tokens plus the update.
func TestFreeExchange(t *testing.T) {
	f := ClusterFigures{Alone: 1e-6, Together: 1e-6, Update: 0.001}
	free := Network{Bandwidth: math.Inf(1)}
	for _, c := range []struct{ microBatches, ranks, maxMicroBatches, busy int }{{8, 2, 4, 2}, {8, 4, 2, 4}, {8, 8, 1,
		8},
		{6, 4, 2, 4}, {3, 16, 1, 3}} {
		s := PredictSteps(batchOf(c.microBatches, 4096, 1000, 10), f, free, []int{c.ranks})[0]
		want := float64(c.maxMicroBatches)*4096*1e-6 + 0.001
		if efficiency := (float64(c.microBatches)*4096*1e-6 + 0.001) / want / float64(c.ranks); s.Busy != c.busy ||
			!near(s.Seconds, want) || s.Exchange != 0 || !near(s.Efficiency, efficiency) {
			t.Errorf("%+v: got %+v, want %v seconds, efficiency %v and no exchange", c, s, want, efficiency)
		}
	}
}

// TestPredictedExchange checks the parts of an exchange of four ranks with a single sum each.
func TestPredictedExchange(t *testing.T) {
	const p, results = 1000, 40
	b := batchOf(4, 4096, p, results)
	for name, c := range map[string]struct {
		figures ClusterFigures
		network Network
		want    float64
	}{
		"bandwidth": {ClusterFigures{}, Network{Bandwidth: 100}, (4*p*3./4 + 4*(p+results)*3./4) / 100},
		"latency":   {ClusterFigures{}, Network{Bandwidth: math.Inf(1), Latency: 0.5}, 0.5 * (2 + 3 + 3)},
		"copies":    {ClusterFigures{Copy: 2}, Network{Bandwidth: math.Inf(1)}, 2 * (p + 4*p/4 + p/4 + p)},
		"sums":      {ClusterFigures{Add: 2}, Network{Bandwidth: math.Inf(1)}, 2 * 3 * p / 4},
	} {
		s := PredictSteps(b, c.figures, c.network, []int{4})[0]
		if !near(s.Seconds, c.want) || s.Exchange != 1 || !near(s.SentBytes, 4*p*3./4+4*(p+results)*3./4) {
			t.Errorf("%s: got %+v, want %v seconds, all in the exchange, and %v sent bytes", name, s, c.want,
				4*p*3./4+4*(p+results)*3./4)
		}
	}
	f := ClusterFigures{Alone: 1, Together: 1}
	s := PredictSteps(b, f, Network{Bandwidth: 100}, []int{4})[0]
	if exchange := (4*p*3./4 + 4*(p+results)*3./4) / 100; !near(s.Exchange, exchange/(4096+exchange)) {
		t.Errorf("got %+v, want the fraction %v of exchange", s, exchange/(4096+exchange))
	}
}

// TestFrontiersAreSent checks that a rank sends all sums of its frontier.
func TestFrontiersAreSent(t *testing.T) {
	// The size of micro-batch 0 puts leaves 1 and 2 on the other rank. The leaves are not siblings, so
	// this rank sends two sums.
	b := batchOf(3, 4096, 1000, 0)
	b.MicroBatches[0] = 3 * 4096
	s := PredictSteps(b, ClusterFigures{}, Network{Bandwidth: 1}, []int{2})[0]
	if want := 4. * (2*500 + 500); !near(s.SentBytes, want) || !near(s.Seconds, want) {
		t.Errorf("got %+v, want %v bytes and %[2]v seconds", s, want)
	}
	// A rank without micro-batches sends no sums, but takes part in the exchange.
	s = PredictSteps(batchOf(1, 4096, 1000, 0), ClusterFigures{}, Network{Bandwidth: 1}, []int{2})[0]
	if want := 4. * (500 + 500); s.Busy != 1 || !near(s.Seconds, want) {
		t.Errorf("got %+v, want one busy rank and %v seconds", s, want)
	}
}

// TestEfficiencyFalls checks that efficiency falls with the number of ranks, and that a step takes
// at least the time of its largest micro-batch plus the update.
func TestEfficiencyFalls(t *testing.T) {
	f := ClusterFigures{Alone: 2e-6, Together: 1e-6, Update: 0.01, Copy: 1e-9, Add: 1e-9}
	steps := PredictSteps(batchOf(512, 4096, 1_000_000, 5000), f,
		Network{Bandwidth: 1e9, Latency: 5e-5}, Doubling(1024))
	for i, s := range steps {
		if i > 0 && s.Efficiency >= steps[i-1].Efficiency || s.Seconds < 2e-6*4096+0.01 || s.Busy != min(s.Ranks, 512) {
			t.Errorf("got %+v after %+v, want a lower efficiency, %d busy ranks and at least %v seconds", s,
				steps[max(0, i-1)], min(s.Ranks, 512), 2e-6*4096+0.01)
		}
	}
}

func TestDoubling(t *testing.T) {
	for last, want := range map[int][]int{1: {1}, 2: {1, 2}, 6: {1, 2, 4, 6}, 8: {1, 2, 4, 8}} {
		if got := Doubling(last); !slices.Equal(got, want) {
			t.Errorf("Doubling(%d) = %v, want %v", last, got, want)
		}
	}
}
