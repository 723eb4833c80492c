package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/units"
)

func benchRuntimeCommand() *cli.Command {
	return &cli.Command{
		Name:  "runtime",
		Usage: "measure one layer, as in the paper's runtime table",
		UsageText: `sftseq bench runtime [--against PATH] [--threads N] [--plot FILE] [--json]

Example: sftseq bench runtime --plot runtime.svg`,
		Description: fmt.Sprintf(`Measures the forward pass of one layer on %d sequences of %d tokens, with 256
channels, 16 heads and an MLP of 1,024, normalised after: our SFT layer with k
sampled tokens, with the relative encoding and without, and our vanilla layer
(dot product, softmax, every token). Two layers are timed and divided by two, as
the PyTorch program does; embedding, pooling and head are counted in.

--against runs PyTorch's own transformer layer in turns with all of these, --reps
times each, and prints the median of the ratios of each pair.`, bench.TableBatch, bench.TableLength),
		Flags: benchFlags(
			&cli.IntFlag{Name: "reps", Value: 5, Usage: "pairs with --against"},
			plotFlag("draw seconds over k"), againstFlag()),
		Action: benchRuntime,
	}
}

// layerResult is one row of the table: the seconds of a layer, and against
// PyTorch also how often they are those of its transformer.
type layerResult struct {
	Layer    string      `json:"layer"`
	Relative string      `json:"relative"`
	K        int         `json:"k"`
	Length   int         `json:"length"`
	Batch    int         `json:"batch"`
	Threads  int         `json:"threads"`
	Device   string      `json:"device"`
	Seconds  float64     `json:"seconds"`
	Against  *layerPairs `json:"against,omitempty"`
}

type layerPairs struct {
	Peer        string   `json:"peer"`
	PeerSeconds float64  `json:"peer_seconds"`               // of PyTorch's transformer layer
	PeerSFT     *float64 `json:"peer_sft_seconds,omitempty"` // of the program's layer with the same k and the relative encoding
	Pairs       int      `json:"pairs"`
	Ratio       float64  `json:"ratio"` // ours / PyTorch's transformer, in seconds
	RatioMin    float64  `json:"ratio_min"`
	RatioMax    float64  `json:"ratio_max"`
}

// tableVariant is the program's fastest way to compute its layer.
var tableVariant = bench.Variant{Relative: "sin", Score: "loop"}

// runtimeBench collects the times of each round.
type runtimeBench struct {
	layers      []bench.Layer
	runs        []bench.Run
	seconds     [][]float64 // of each layer, a value a round
	transformer []float64   // PyTorch's
	sft         map[int][]float64
	torch       string
}

func benchRuntime(c *cli.Context) error {
	if err := checkPicture(c, "plot"); err != nil {
		return err
	}
	d, release, err := openBenchDevice(c)
	if err != nil {
		return err
	}
	defer release()
	rounds, peer := 1, (*bench.Peer)(nil)
	if c.IsSet("against") {
		if rounds = c.Int("reps"); rounds < 1 {
			return usage(c, "--reps %d, expected at least 1", rounds)
		}
		if peer, err = bench.FindPeer(c.String("against"), benchThreads(c)); err != nil {
			return fmt.Errorf("--against: %w", err)
		}
	} else if c.IsSet("reps") {
		return usage(c, "--reps is the number of pairs with --against")
	}
	b, err := newRuntimeBench(d)
	if err != nil {
		return err
	}
	steps := len(b.layers)
	if peer != nil {
		steps++
	}
	progress := newBenchProgress(c.App.ErrWriter, rounds*steps)
	for range rounds {
		if err := b.round(c.Context, peer, progress); err != nil {
			return err
		}
	}
	if err := b.print(c, d); err != nil {
		return err
	}
	if c.IsSet("plot") {
		return b.plot(c.String("plot"))
	}
	return nil
}

func newRuntimeBench(d tensor.Device) (*runtimeBench, error) {
	b := &runtimeBench{layers: bench.Layers(), sft: map[int][]float64{}}
	b.seconds = make([][]float64, len(b.layers))
	for _, l := range b.layers {
		f, err := l.Prepare(d)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", l, err)
		}
		b.runs = append(b.runs, f)
	}
	return b, nil
}

// round measures every layer once, and PyTorch's.
func (b *runtimeBench) round(ctx context.Context, peer *bench.Peer, progress *benchProgress) error {
	for i, l := range b.layers {
		err := progress.measure(l.String(), func() error {
			s, err := bench.LayerSeconds(ctx, b.runs[i])
			b.seconds[i] = append(b.seconds[i], s)
			return err
		})
		if err != nil {
			return err
		}
	}
	if peer == nil {
		return nil
	}
	return progress.measure("PyTorch's layers", func() error {
		transformer, sft, figures, err := peer.Table(ctx, tableVariant)
		if err != nil {
			return fmt.Errorf("--against: %w", err)
		}
		b.transformer, b.torch = append(b.transformer, transformer), figures.Torch
		for k, s := range sft {
			b.sft[k] = append(b.sft[k], s)
		}
		return nil
	})
}

// print writes the table, with PyTorch's columns if it was measured.
func (b *runtimeBench) print(c *cli.Context, d tensor.Device) error {
	columns, notes := []string{"layer", "relative", "k", "time"}, []string{d.Name()}
	if b.transformer != nil {
		columns = append(columns, "to PyTorch's transformer", "least", "most", "PyTorch's SFT")
		notes = []string{fmt.Sprintf("%s; PyTorch %s, threads %d, pairs %d; a layer of its transformer takes %s", d.Name(), b.torch, benchThreads(c),
			len(b.transformer), units.Seconds(bench.SpreadOf(b.transformer).Median)),
			"A ratio below 1 is in our favour. PyTorch's SFT is the program's layer, " + tableVariant.String() + "."}
	}
	report := newResults(c, 2, columns...)
	for i, l := range b.layers {
		r := layerResult{Layer: l.Kind, Relative: l.Relative, K: l.K, Length: bench.TableLength, Batch: bench.TableBatch,
			Threads: benchThreads(c), Device: d.Name(), Seconds: bench.SpreadOf(b.seconds[i]).Median, Against: b.pairs(i)}
		row := []string{l.Kind, strings.TrimSuffix(l.Relative, "_hadamard"), strconv.Itoa(l.K), units.Seconds(r.Seconds)}
		if p := r.Against; p != nil {
			row = append(row, units.Digits(p.Ratio), units.Digits(p.RatioMin), units.Digits(p.RatioMax), "")
			if p.PeerSFT != nil {
				row[len(row)-1] = units.Seconds(*p.PeerSFT)
			}
		}
		if err := report.add(r, row...); err != nil {
			return err
		}
	}
	return report.finish(notes...)
}

// pairs compares layer i with PyTorch's transformer, round by round.
func (b *runtimeBench) pairs(i int) *layerPairs {
	if b.transformer == nil {
		return nil
	}
	var ratios []float64
	for round, s := range b.seconds[i] {
		ratios = append(ratios, s/b.transformer[round])
	}
	ratio := bench.SpreadOf(ratios)
	p := &layerPairs{Peer: "PyTorch " + b.torch, PeerSeconds: bench.SpreadOf(b.transformer).Median, Pairs: len(ratios),
		Ratio: ratio.Median, RatioMin: ratio.Min, RatioMax: ratio.Max}
	if l := b.layers[i]; l.Kind == "sft" && l.Relative != "none" {
		s := bench.SpreadOf(b.sft[l.K]).Median
		p.PeerSFT = &s
	}
	return p
}

// plot draws seconds over k; the vanilla layer, which has none, is level.
func (b *runtimeBench) plot(path string) error {
	var places []int
	lines, names := map[string][]chart.Datum{}, []string{}
	for i, l := range b.layers {
		if l.Kind != "sft" {
			continue
		}
		name := "SFT, relative " + strings.TrimSuffix(l.Relative, "_hadamard")
		if lines[name] == nil {
			names = append(names, name)
		}
		lines[name] = append(lines[name], chart.Datum{X: float64(l.K), Y: bench.SpreadOf(b.seconds[i]).Median})
		if !slices.Contains(places, l.K) {
			places = append(places, l.K)
		}
	}
	level := func(name string, y float64) {
		names = append(names, name)
		for _, k := range places {
			lines[name] = append(lines[name], chart.Datum{X: float64(k), Y: y})
		}
	}
	for i, l := range b.layers {
		if l.Kind == "vanilla" {
			level("vanilla", bench.SpreadOf(b.seconds[i]).Median)
		}
	}
	if b.transformer != nil {
		level("PyTorch's transformer", bench.SpreadOf(b.transformer).Median)
	}
	p := benchChart("k", "time of a layer (s)", places)
	for _, name := range names {
		p.Series = append(p.Series, chart.Series{Name: name, Points: lines[name]})
	}
	return saveBenchChart("Time of a layer by k", p, path)
}
