package distributed

import (
	"math/bits"
)

// Network describes the full-duplex link of each rank.
type Network struct {
	Bandwidth float64 // bytes per second in each direction
	Latency   float64 // seconds per message
}

// ClusterFigures are times measured on one machine, in seconds.
type ClusterFigures struct {
	Alone    float64 `json:"seconds_per_token_alone"`    // seconds per token of a single running micro-batch
	Together float64 `json:"seconds_per_token_together"` // seconds per token with a running micro-batch in every slot
	Update   float64 `json:"seconds_per_update"`
	Copy     float64 `json:"seconds_per_word_copied"` // between the device and a new host buffer, in either direction
	Add      float64 `json:"seconds_per_word_added"`
}

// ClusterBatch is the batch of a step and the size of the model.
type ClusterBatch struct {
	MicroBatches []int // tokens of each micro-batch
	Parameters   int
	Results      int // words of the losses and logits of all examples
}

// ClusterStep is the predicted training step for a number of ranks.
type ClusterStep struct {
	Ranks      int     `json:"ranks"`
	Busy       int     `json:"busy"` // number of ranks with micro-batches
	Seconds    float64 `json:"seconds"`
	SentBytes  float64 `json:"sent_bytes"`        // bytes sent by the rank that sends most
	Exchange   float64 `json:"exchange_fraction"` // fraction of the step's time spent in the exchange
	Efficiency float64 `json:"efficiency"`        // speedup over one rank, divided by the number of ranks
}

// PredictSteps returns the predicted time of a training step for each number of ranks. It uses
// measurements of one machine and the bandwidth and latency of the network.
//
// A step on W ranks takes
//
//	seconds = max over ranks(compute) + update + exchange
//
// and each rank computes the micro-batches that [Deal] assigns to it:
//
//	compute = max(alone · tokens of its largest micro-batch, together · its tokens)
//
// where alone is the time per token of a micro-batch that has the machine to itself, and together
// the time per token of concurrent micro-batches in all slots of the device. The update is that of
// AdamW, which every rank computes for all weights. A single process has no exchange. For W > 1
// ranks, P parameters, at most F sums per rank ([Frontier]), ΣF sums of all ranks, a latency α and a
// bandwidth β in bytes per second, the exchange takes
//
//	a small gather      ⌈log₂ W⌉·α
//	an all-to-all       (W−1)·α + 4·P·F·(W−1)/W / β
//	an all-gather       (W−1)·α + 4·(P + R)·(W−1)/W / β
//	copies on the host  copy · (F·P + ΣF·P/W + P/W + P)
//	sums on the host    add · (ΣF − 1)·P/W
//
// R is the number of words of the results, the loss and the logits of each example, which the
// all-gather sends together with the summed gradients. The all-to-all takes as long as a rank with
// F sums needs to send them; no rank receives more. These are the costs of a gather by doubling, an
// all-to-all by pairwise exchange and an all-gather in a ring (Thakur, Rabenseifner and Gropp,
// Optimization of Collective Communication Operations in MPICH, 2005). In the last two, a rank sends
// its messages one after another. A library that sends messages concurrently has less latency.
//
// The model ignores: ranks that share a machine; ranks, links and steps that are slower than
// measured; networks with less total bandwidth than the sum of their links; copies made by MPI; the
// core that the MPI thread shares with the computation; reading data, evaluations and checkpoints;
// the comparison of the ranks' weights; batches of mixed lengths.
func PredictSteps(b ClusterBatch, f ClusterFigures, n Network, ranks []int) []ClusterStep {
	alone, _ := step(b, f, n, 1)
	var out []ClusterStep
	for _, w := range ranks {
		s, exchange := step(b, f, n, w)
		s.Exchange = exchange / s.Seconds
		s.Efficiency = alone.Seconds / s.Seconds / float64(w)
		out = append(out, s)
	}
	return out
}

// step predicts a step and returns the time of its exchange in seconds.
func step(b ClusterBatch, f ClusterFigures, n Network, ranks int) (s ClusterStep, exchange float64) {
	s.Ranks = ranks
	cuts := Deal(b.MicroBatches, ranks)
	sums, total := make([]int, ranks), 0
	compute := 0.0
	for r := range ranks {
		mine := b.MicroBatches[cuts[r]:cuts[r+1]]
		if len(mine) > 0 {
			s.Busy++
		}
		compute = max(compute, f.compute(mine))
		sums[r] = len(Frontier(len(b.MicroBatches), cuts[r], cuts[r+1]))
		total += sums[r]
	}
	if ranks > 1 {
		exchange, s.SentBytes = transfer(b, n, sums)
		exchange += f.host(b.Parameters, sums, total)
	}
	s.Seconds = compute + f.Update + exchange
	return s, exchange
}

// compute returns the time in seconds that a rank needs for its micro-batches.
func (f ClusterFigures) compute(tokens []int) float64 {
	largest, total := 0, 0
	for _, n := range tokens {
		largest, total = max(largest, n), total+n
	}
	return max(f.Alone*float64(largest), f.Together*float64(total))
}

const wordBytes = 4

// transfer returns the time of the three collectives, and the bytes sent by the rank that sends
// most. sums is the number of sums per rank.
func transfer(b ClusterBatch, n Network, sums []int) (seconds, sent float64) {
	ranks, maxWords := len(sums), 0
	for r, own := range sums {
		share := Cut(b.Parameters, ranks, r+1) - Cut(b.Parameters, ranks, r)
		maxWords = max(maxWords, own*(b.Parameters-share))
	}
	w := float64(ranks)
	sent = wordBytes * (float64(maxWords) + float64(b.Parameters+b.Results)*(w-1)/w)
	messages := float64(bits.Len(uint(ranks-1)) + 2*(ranks-1))
	return messages*n.Latency + sent/n.Bandwidth, sent
}

// host returns the time for copying messages between the device and the host, and for adding up one
// rank's share of the words.
func (f ClusterFigures) host(parameters int, sums []int, total int) float64 {
	p, maxSums := float64(parameters), 0
	for _, n := range sums {
		maxSums = max(maxSums, n)
	}
	share := p / float64(len(sums))
	return f.Copy*(float64(maxSums)*p+float64(total)*share+share+p) + f.Add*float64(total-1)*share
}

// Doubling returns numbers of ranks: the powers of two below the parameter last, then last itself.
func Doubling(last int) (ranks []int) {
	for w := 1; w < last; w *= 2 {
		ranks = append(ranks, w)
	}
	return append(ranks, last)
}
