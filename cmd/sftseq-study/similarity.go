package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/sft"
)

var similarityStudy = &study{
	name:    "similarity",
	summary: "similarity of the tokens after each layer of a trained model",
	help: `Runs a trained model and measures the token representations after each layer: the mean pairwise
cosine similarity, the numerical rank with the tolerance of float32, and the effective rank, each
averaged over the sequences. Layer 0 is the input of the first layer.`,
	columns: []string{"layer", "cosine", "rank", "effective rank"},
	prepare: func(f *flags) measurement {
		m, rows := f.modelFlags(), 0
		f.intFlag(&rows, "rows", 32, 1, 1<<20, "rows to measure")
		return m.measurement(func(ctx context.Context, r *report) error {
			return m.measureSimilarity(ctx, r,
				min(rows, m.rows.Len()))
		})
	},
}

// similarityPoint is the result for a layer: mean, minimum and maximum over the sequences.
type similarityPoint struct {
	Layer     int    `json:"layer"`
	Cosine    spread `json:"cosine"`
	Rank      spread `json:"rank"`
	Entropy   spread `json:"entropy_rank"` // effective rank
	Width     int    `json:"width"`
	Sequences int    `json:"sequences"`
}

// measureSimilarity measures the given number of rows from the start of the split. It skips sequences of
// one token, which have no pairs.
func (m *trainedModel) measureSimilarity(ctx context.Context, r *report, rows int) error {
	scorer, err := sft.NewScorer(m.Model, m.device)
	if err != nil {
		return err
	}
	defer scorer.Close()
	width := m.Config.HiddenSize
	measures := make([][3][]float64, m.Config.NumLayers+1) // cosine, rank and effective rank of each layer
	progress := r.progress(rows, "rows")
	for i := range rows {
		examples, err := m.examples(i, 1)
		if err != nil {
			return err
		}
		out, err := scorer.HiddenStates(ctx, examples)
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		for _, states := range out[0].HiddenStates {
			if len(states[0]) < 2*width {
				continue
			}
			for l, state := range states {
				s, err := tokenSimilarity(state, width)
				if err != nil {
					return fmt.Errorf("row %d, layer %d: %w", i, l, err)
				}
				for n, v := range s {
					measures[l][n] = append(measures[l][n], v)
				}
			}
		}
		progress(1)
	}
	if measures[0][0] == nil {
		return errors.New("expected a sequence of at least two tokens, found only sequences of one token")
	}
	var layers []int
	var cosine, rank, entropy []spread
	for l, values := range measures {
		p := similarityPoint{l, newSpread(values[0]), newSpread(values[1]), newSpread(values[2]), width, len(values[0])}
		r.add(p, strconv.Itoa(l), p.Cosine.text("%.4f"), p.Rank.text("%.3g"), p.Entropy.text("%.2f"))
		layers, cosine, rank, entropy = append(layers, l), append(cosine, p.Cosine), append(rank, p.Rank),
			append(entropy, p.Entropy)
	}
	layer := chart.Axis{Label: "layer"}
	cosines, ranks := newChart("Mean cosine of two tokens", layer, chart.Axis{Label: "cosine"}),
		newChart("Rank of the tokens", layer, chart.Axis{Label: "rank", Zero: true})
	addBand(&cosines, 0, "", layers, cosine)
	addBand(&ranks, 0, "numerical, tolerance of float32", layers, rank)
	addBand(&ranks, 1, "effective", layers, entropy)
	r.title, r.charts = "Tokens after each layer of a trained model", []chart.Chart{cosines, ranks}
	r.note(`The paper: in a model whose only input is the relations of its tokens (ModelNet40, 32 clouds of
1,024 tokens, 256 channels), tokens become dissimilar from about layer 5, and their rank
approaches 256.`)
	r.note("Here: %s; %d sequences were measured; width %d.", m.describe(), len(measures[0][0]), width)
	return nil
}

// tokenSimilarity returns the mean cosine over all pairs of rows of a matrix [n, width] with n ≥ 2, its
// rank with the tolerance of float32, and its effective rank. With unit vectors u the mean cosine is
// (‖Σ u_i‖² − n) / (n(n − 1)). The cosine with a row of zeros is 0.
func tokenSimilarity(rows []float32, width int) (out [3]float64, err error) {
	n := len(rows) / width
	m := mat.NewDense(n, width, nil)
	sum, nonzero := make([]float64, width), 0
	for i := range n {
		row := m.RawRowView(i)
		for c := range row {
			row[c] = float64(rows[i*width+c])
		}
		norm := math.Sqrt(dot(row, row))
		if norm == 0 {
			continue
		}
		nonzero++
		for c, v := range row {
			sum[c] += v / norm
		}
	}
	s, err := newSpectrum(m)
	if err != nil {
		return out, err
	}
	pairs := float64(n) * float64(n-1)
	return [3]float64{(dot(sum, sum) - float64(nonzero)) / pairs, float64(s.rank(epsilon32)),
		s.effectiveRank()}, nil
}
