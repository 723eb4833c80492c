package modeltest

import (
	"math"
	"slices"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// ClassificationLoss returns the mean cross-entropy of the examples, and their number.
func (r Reference) ClassificationLoss(examples []seq.Example) (mean float64, terms int) {
	for _, e := range examples {
		r.row = e.Index
		logits, _ := r.Example(e)
		sum := 0.0
		for _, v := range logits {
			sum += math.Exp(v)
		}
		mean += math.Log(sum) - logits[e.Label]
	}
	return mean / float64(len(examples)), len(examples)
}

// Differences returns the gradient of a loss by central differences, per parameter name.
func (r Reference) Differences(loss func() float64) map[string][]float64 {
	const h = 1e-5
	out := map[string][]float64{}
	for name, w := range r.Weights {
		for i, kept := range w {
			w[i] = kept + h
			above := loss()
			w[i] = kept - h
			below := loss()
			w[i] = kept
			out[name] = append(out[name], (above-below)/(2*h))
		}
	}
	return out
}

// Derivative returns the derivative of a loss along a direction of a parameter, by a central
// difference.
func (r Reference) Derivative(name string, direction []float64, loss func() float64) float64 {
	const h = 1e-5
	w := r.Weights[name]
	kept := slices.Clone(w)
	at := func(h float64) float64 {
		for i, v := range kept {
			w[i] = v + h*direction[i]
		}
		return loss()
	}
	out := (at(h) - at(-h)) / (2 * h)
	copy(w, kept)
	return out
}

// FillMaskLoss returns the mean loss of the examples' masked tokens, and the number of these tokens.
func (r Reference) FillMaskLoss(examples []seq.Example) (mean float64, tokens int) {
	for _, e := range examples {
		loss, n := r.maskedLoss(e)
		mean, tokens = mean+loss, tokens+n
	}
	return mean / float64(tokens), tokens
}

// maskedLoss returns the summed loss of an example's masked tokens, and the number of these tokens.
func (r Reference) maskedLoss(e seq.Example) (loss float64, tokens int) {
	d := model.Drawing{Mode: model.LossMode, Seed: r.SamplerSeed}
	if r.Training != nil {
		d, r.row = *r.Training, e.Index
	}
	masked, positions := model.MaskTokens(r.Config, e.A, e.Index, d)
	x := r.normed(masked, e.A)
	for _, t := range positions {
		logits, sum := r.MaskedLogits(x[t]), 0.0
		for _, v := range logits {
			sum += math.Exp(v)
		}
		loss += math.Log(sum) - logits[model.TokenTargets(r.Config, e.A, []int32{t})[0]]
	}
	return loss, len(positions)
}

// Normed returns the rows that a head for tokens reads: the rows of the tokens after the last layer, with
// the final norm under pre-norm. For a chunked model they are the rows of contextual.
func (r Reference) Normed(tokens []int32) (rows [][]float64) { return r.normed(tokens, tokens) }

// normed is [Reference.Normed] for masked tokens. unmasked holds the tokens before masking, which
// determine the cuts.
func (r Reference) normed(tokens, unmasked []int32) (rows [][]float64) {
	if r.Chunks != nil {
		return r.contextual(tokens, unmasked)
	}
	rows, _ = r.Layers(tokens)
	for i := range rows {
		if r.NormPosition == "pre" {
			rows[i] = r.norm("final_norm", rows[i])
		}
	}
	return rows
}

// MaskedLogits returns the logits of the token with this row of hidden values.
func (r Reference) MaskedLogits(row []float64) []float64 {
	logits, weight := slices.Clone(r.Weights["head.out.bias"]), r.Weights["head.out.weight"]
	if r.TieEmbeddings {
		weight = r.Weights["embed.weight"]
	}
	for v := range logits {
		for c, x := range row {
			logits[v] += weight[v*len(row)+c] * x
		}
	}
	return logits
}

// MultiLabelLoss is [Reference.WeightedMultiLabelLoss] with weights of 1.
func (r Reference) MultiLabelLoss(examples []seq.Example) (mean float64, terms int) {
	return r.WeightedMultiLabelLoss(examples, slices.Repeat([]float64{1}, r.NumLabels))
}

// WeightedMultiLabelLoss returns the mean binary cross-entropy over all labels of the examples, and
// the number of its terms. The term of a positive label is multiplied by its weight.
func (r Reference) WeightedMultiLabelLoss(examples []seq.Example, weight []float64) (mean float64, terms int) {
	for _, e := range examples {
		r.row = e.Index
		logits, _ := r.Example(e)
		for label, z := range logits {
			p := 1 / (1 + math.Exp(-z))
			if slices.Contains(e.Labels, int32(label)) {
				mean -= weight[label] * math.Log(p)
			} else {
				mean -= math.Log(1 - p)
			}
			terms++
		}
	}
	return mean / float64(terms), terms
}

// LossOfNumbers returns the mean loss of the target numbers of the examples, and the number of its
// terms.
func (r Reference) LossOfNumbers(examples []seq.Example) (mean float64, terms int) {
	for _, e := range examples {
		r.row = e.Index
		logits, _ := r.Example(e)
		for i, n := range r.Numbers {
			d := math.Abs(logits[i] - (float64(e.Numbers[i])-n.Mean)/n.Deviation)
			if d <= 1 || r.RegressionLoss == config.Squared {
				mean += d * d / 2
			} else {
				mean += d - 0.5
			}
			terms++
		}
	}
	return mean / float64(terms), terms
}

// TaggingLoss returns the mean cross-entropy of the examples' labelled tokens, and the number of these
// tokens.
func (r Reference) TaggingLoss(examples []seq.Example) (mean float64, terms int) {
	for _, e := range examples {
		r.row = e.Index
		logits := r.TokenLogits(e)
		for i, label := range e.Labels {
			if label == seq.NoLabel {
				continue
			}
			row, sum := logits[i*r.NumLabels:][:r.NumLabels], 0.0
			for _, v := range row {
				sum += math.Exp(v)
			}
			mean += math.Log(sum) - row[label]
			terms++
		}
	}
	return mean / float64(terms), terms
}

// TokenLogits returns the logits of all tokens of an example, concatenated.
func (r Reference) TokenLogits(e seq.Example) (logits []float64) {
	r.features, r.pairs = e.Features, configtest.PairsOf(r.Config, e)
	for _, row := range r.Normed(e.A) {
		logits = append(logits, r.MaskedLogits(row)...)
	}
	return logits
}
