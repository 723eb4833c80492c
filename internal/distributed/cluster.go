package distributed

import (
	"math/bits"
)

// Network describes the full-duplex link of each rank.
type Network struct {
	Bandwidth float64 // bytes per second and rank
	Latency   float64 // seconds per message
}

// ClusterFigures are times measured on one machine, in seconds.
type ClusterFigures struct {
	Alone    float64 `json:"seconds_per_token_alone"`    // seconds of a micro-batch that has the device to itself
	Together float64 `json:"seconds_per_token_together"` // seconds while the device runs as many micro-batches as it has slots
	Update   float64 `json:"seconds_per_update"`
	Copy     float64 `json:"seconds_per_word_copied"` // between the device and a new buffer, in either direction
	Add      float64 `json:"seconds_per_word_added"`
}

// ClusterBatch is the batch of a step and the size of the model.
type ClusterBatch struct {
	MicroBatches []int // tokens of each
	Parameters   int
	Results      int // words of the losses and logits of all examples
}

// ClusterStep is the prediction for a number of ranks.
type ClusterStep struct {
	Ranks      int     `json:"ranks"`
	Busy       int     `json:"busy"` // number of ranks with micro-batches
	Seconds    float64 `json:"seconds"`
	SentBytes  float64 `json:"sent_bytes"`        // by the rank that sends most
	Exchange   float64 `json:"exchange_fraction"` // fraction of the seconds
	Efficiency float64 `json:"efficiency"`        // speedup over one rank, divided by the number of ranks
}

// PredictSteps returns the time of a training step on each number of ranks, computed from measurements of
// one machine and the bandwidth and latency of the network.
//
// A step on W ranks takes
//
//	seconds = max over ranks(compute) + update + exchange
//
// and each rank computes the micro-batches that [Deal] gives it:
//
//	compute = max(alone · tokens of its largest micro-batch, together · tokens of all of them)
//
// where alone is the seconds a token of one micro-batch that has the machine to itself, and
// together that of as many as the device's slots. The update is that of AdamW, which every rank makes
// of all weights. One process has no exchange. That of W > 1 ranks, with P parameters, F sums
// that a rank brings ([Frontier]), ΣF of all ranks, a latency α and a bandwidth β in
// bytes a second, adds up
//
//	a small gather      ⌈log₂ W⌉·α
//	an all-to-all       (W−1)·α + 4·P·F·(W−1)/W / β
//	an all-gather       (W−1)·α + 4·(P + R)·(W−1)/W / β
//	copies on the host  copy · (F·P + ΣF·P/W + P/W + P)
//	sums on the host    add · (ΣF − 1)·P/W
//
// R are the words of the results that follow the shares: the loss and the logits of each
// example. The all-to-all takes as long as the rank with the largest F sends: none receives more.
// These are the costs of pairwise exchange and of a ring, in which the messages of a rank follow
// one another, and of a gather of short messages by doubling (Thakur, Rabenseifner and Gropp,
// Optimization of Collective Communication Operations in MPICH, 2005). A library that sends all
// messages concurrently waits less for latency.
//
// Not modelled are: ranks that share a machine; ranks, links or steps of unequal speed, so that
// nobody waits for a slow one; networks in which the ranks together have less bandwidth than
// each alone; copies that MPI makes, and whether its thread shares a core with the work;
// reading data, evaluations and checkpoints; the hash of the weights every 100 steps; batches of
// mixed lengths.
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

// step predicts a step, and the part of its seconds that the exchange takes.
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

// compute returns the time of a rank for its micro-batches.
func (f ClusterFigures) compute(tokens []int) float64 {
	largest, total := 0, 0
	for _, n := range tokens {
		largest, total = max(largest, n), total+n
	}
	return max(f.Alone*float64(largest), f.Together*float64(total))
}

const wordBytes = 4

// transfer returns the time of the three collectives, and the bytes sent by the rank that sends
// most. The argument sums has the number of sums of each rank.
func transfer(b ClusterBatch, n Network, sums []int) (seconds, sent float64) {
	ranks, moved := len(sums), 0
	for r, own := range sums {
		share := Cut(b.Parameters, ranks, r+1) - Cut(b.Parameters, ranks, r)
		moved = max(moved, own*(b.Parameters-share))
	}
	w := float64(ranks)
	sent = wordBytes * (float64(moved) + float64(b.Parameters+b.Results)*(w-1)/w)
	messages := float64(bits.Len(uint(ranks-1)) + 2*(ranks-1))
	return messages*n.Latency + sent/n.Bandwidth, sent
}

// host returns the time for copying messages between the device and the host, and for completing
// the tree for one rank's share of the words.
func (f ClusterFigures) host(parameters int, sums []int, total int) float64 {
	p, most := float64(parameters), 0
	for _, n := range sums {
		most = max(most, n)
	}
	share := p / float64(len(sums))
	return f.Copy*(float64(most)*p+float64(total)*share+share+p) + f.Add*float64(total-1)*share
}

// Doubling returns the numbers of ranks 1, 2, 4, … below last, and last.
func Doubling(last int) (ranks []int) {
	for w := 1; w < last; w *= 2 {
		ranks = append(ranks, w)
	}
	return append(ranks, last)
}
