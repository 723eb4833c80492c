package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/lra"
)

// peerWork is what the figures of the PyTorch program leave out.
const peerWork = `A ratio above 1 is in our favour. PyTorch's figure for train has no optimizer step,
no clipping and no dropout, and it mixes the relative terms before the softplus:
both are less work than ours.`

// pairResult is what all pairs of one measurement came to: medians, and the
// ratio of tokens a second within a pair.
type pairResult struct {
	bench.ModelResult
	Peer             string  `json:"peer"`
	PeerTokensPerSec float64 `json:"peer_tokens_per_s"`
	Pairs            int     `json:"pairs"`
	Ratio            float64 `json:"ratio"`
	RatioMin         float64 `json:"ratio_min"`
	RatioMax         float64 `json:"ratio_max"`
}

// benchAgainst measures in turns with the PyTorch program.
func benchAgainst(c *cli.Context, m *modelBench) error {
	if err := m.hasPeer(c); err != nil {
		return err
	}
	d, release, err := openBenchDevice(c)
	if err != nil {
		return err
	}
	defer release()
	peer, err := bench.FindPeer(c.String("against"), benchThreads(c))
	if err != nil {
		return fmt.Errorf("--against: %w", err)
	}
	w := m.workload(d, m.lengths[0], m.batches[0])
	ours := map[string]bench.Run{}
	for _, what := range m.what {
		if ours[what], err = w.Prepare(what); err != nil {
			return err
		}
		if err := ours[what](c.Context); err != nil { // warms up
			return err
		}
	}
	progress := newBenchProgress(c.App.ErrWriter, len(bench.Variants())+m.reps)
	opponents, err := choosePeers(c.Context, peer, m.what, progress)
	if err != nil {
		return err
	}
	seconds, rates, ratios := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	var torch string
	for i := range m.reps {
		err := progress.measure(fmt.Sprintf("pair %d", i+1), func() error {
			for _, what := range m.what {
				s, err := bench.Seconds(c.Context, ours[what], 1, 2*time.Second)
				if err != nil {
					return err
				}
				seconds[what] = append(seconds[what], s)
			}
			figures, version, err := peerSeconds(c.Context, peer, opponents...)
			if err != nil {
				return err
			}
			torch = version
			for _, what := range m.what {
				rate := bench.PeerBatch * bench.PeerLength / figures[what]
				rates[what] = append(rates[what], rate)
				ratios[what] = append(ratios[what], float64(w.Tokens())/seconds[what][i]/rate)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	report := newResults(c, 1, "what", "tokens/s", "PyTorch tokens/s", "ratio", "least", "most")
	opponent := fmt.Sprintf("PyTorch %s, the fastest of %v", torch, opponents)
	for _, what := range m.what {
		ratio := bench.SpreadOf(ratios[what])
		ours, err := m.result(c, w, what, bench.Measurement{Seconds: bench.SpreadOf(seconds[what]).Median})
		if err != nil {
			return err
		}
		r := pairResult{Peer: opponent, PeerTokensPerSec: bench.SpreadOf(rates[what]).Median, Pairs: m.reps,
			ModelResult: ours,
			Ratio:       ratio.Median, RatioMin: ratio.Min, RatioMax: ratio.Max}
		if err := report.add(r, r.What, bench.FormatRate(r.TokensPerSec), bench.FormatRate(r.PeerTokensPerSec),
			bench.FormatDigits(r.Ratio), bench.FormatDigits(r.RatioMin), bench.FormatDigits(r.RatioMax)); err != nil {
			return err
		}
	}
	return report.finish(fmt.Sprintf("%s; threads %d, pairs %d; %s", opponent, benchThreads(c), m.reps, w.Device.Name()), peerWork)
}

// hasPeer refuses what the PyTorch program does not measure.
func (m *modelBench) hasPeer(c *cli.Context) error {
	switch {
	case c.String("config") != lra.ListOps.Name:
		return usage(c, "--against: only --config %s has a peer", lra.ListOps.Name)
	case c.IsSet("k"), !slices.Equal(m.lengths, []int{bench.PeerLength}), len(m.batches) != 1:
		return usage(c, "--against: the peer measures --length %d with the published k, one --batch at a time", bench.PeerLength)
	case len(m.config.Convolutions) > 0:
		return usage(c, "--against: the PyTorch program has no convolutions")
	case c.IsSet("plot"), m.profile:
		return usage(c, "--against goes neither with --plot nor with --profile")
	}
	return nil
}

// choosePeers measures the program's variants once, and takes the fastest of them
// for each figure: one variant, or two.
func choosePeers(ctx context.Context, peer *bench.Peer, whats []string, progress *benchProgress) ([]bench.Variant, error) {
	best, fastest := map[string]float64{}, map[string]bench.Variant{}
	for _, v := range bench.Variants() {
		err := progress.measure(fmt.Sprintf("PyTorch, %v", v), func() error {
			seconds, _, err := peerSeconds(ctx, peer, v)
			for _, what := range whats {
				if at, ok := best[what]; err == nil && (!ok || seconds[what] < at) {
					best[what], fastest[what] = seconds[what], v
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var out []bench.Variant
	for _, what := range whats {
		if v := fastest[what]; !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out, nil
}

// peerSeconds measures variants: for each figure, the seconds of the fastest. One
// that a busy machine chose wrongly so does no harm as long as another is there.
func peerSeconds(ctx context.Context, peer *bench.Peer, variants ...bench.Variant) (seconds map[string]float64, torch string, err error) {
	seconds = map[string]float64{bench.Forward: math.Inf(1), bench.Train: math.Inf(1)}
	for _, v := range variants {
		forward, backward, figures, err := peer.ListOps(ctx, v)
		if err != nil {
			return nil, "", fmt.Errorf("--against: %w", err)
		}
		torch = figures.Torch
		seconds[bench.Forward] = min(seconds[bench.Forward], forward)
		seconds[bench.Train] = min(seconds[bench.Train], backward)
	}
	return seconds, torch, nil
}
