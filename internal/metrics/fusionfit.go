package metrics

import (
	"math"
	"slices"
)

// FusionFit has the fitted parameters of a [Fusion], and the scores on its rows.
type FusionFit struct {
	Weights     []float64
	Temperature float64       // divisor of the weighted sums; 1 for numbers
	Thresholds  []float64     // thresholds that maximise the F1 of each label; nil for other outputs
	Rows        int           // number of kept rows
	Members     []FusionScore // scores of each model alone
	Sum         FusionScore   // scores of the weighted sum
}

// FusionScore has the loss and the accuracy on rows.
type FusionScore struct {
	// Loss is the mean over rows of the cross-entropy (classes), of the mean binary cross-entropy
	// (labels), or of the mean squared error (numbers).
	Loss     float64 `json:"loss"`
	Accuracy float64 `json:"accuracy,omitempty"` // accuracy for classes; 0 for other outputs
}

// Fit fits the weights, given a prior, and the temperature of the sum. groups has the group of each
// model, from 0; nil means that each model is a group. The models of a group differ only by chance,
// such as by their seeds, so they get equal weights: separate weights would overfit few rows.
//
// For numbers, the prior is divided by its sum. If every fitted weight is 0, the prior replaces the
// weights. With at least 100 rows, Fit then compares the loss of the sum with the loss of the best single
// scaled group. Unless the loss of the sum is lower, all other groups get the weight 0 and need not run.
func (f *Fusion) Fit(prior []float64, groups []int) *FusionFit {
	if groups == nil {
		return f.fit(prior)
	}
	means, sizes := f.groupMeans(groups)
	sums := make([]float64, len(sizes))
	for m, g := range groups {
		sums[g] += prior[m]
	}
	fit := means.fit(sums)
	weights := fit.Weights
	fit.Weights, fit.Members = make([]float64, f.models), nil
	for m, g := range groups {
		fit.Weights[m] = weights[g] / float64(sizes[g])
		fit.Members = append(fit.Members, f.score(f.singleWeights(m, 1), 1))
	}
	return fit
}

// groupMeans returns a Fusion with one model per group, and the number of models of each group. The
// outputs of a group's model are the mean outputs of the models in the group.
func (f *Fusion) groupMeans(groups []int) (*Fusion, []int) {
	sizes := make([]int, slices.Max(groups)+1)
	for _, g := range groups {
		sizes[g]++
	}
	means := NewFusion(len(sizes), f.outputs, f.kind)
	for _, r := range f.rows {
		sums := make([]float64, len(sizes)*f.outputs)
		for m, g := range groups {
			for c := range f.outputs {
				sums[g*f.outputs+c] += float64(r.outputs[m*f.outputs+c])
			}
		}
		outputs := make([]float32, len(sums))
		for i, v := range sums {
			outputs[i] = float32(v / float64(sizes[i/f.outputs]))
		}
		means.rows = append(means.rows, fusionRow{outputs, r.truth})
	}
	return means, sizes
}

// fit is like [Fusion.Fit], with one group per model.
func (f *Fusion) fit(prior []float64) *FusionFit {
	if f.kind == FusedNumbers { // numbers have no temperature
		prior = normalise(prior)
	}
	fit := &FusionFit{Weights: f.Weights(prior), Rows: len(f.rows)}
	if slices.Max(fit.Weights) == 0 {
		fit.Weights = prior
	}
	fit.Temperature = f.temperature(fit.Weights)
	fit.Sum = f.score(fit.Weights, fit.Temperature)
	score, weights, temperature := FusionScore{Loss: math.Inf(1)}, []float64(nil), 1.0
	for m := range f.models {
		fit.Members = append(fit.Members, f.score(f.singleWeights(m, 1), 1))
		w := f.singleWeights(m, f.bestScale(m))
		t := f.temperature(w)
		if s := f.score(w, t); s.Loss < score.Loss {
			score, weights, temperature = s, w, t
		}
	}
	if len(f.rows) >= minFusionRows && fit.Sum.Loss >= score.Loss {
		fit.Sum, fit.Weights, fit.Temperature = score, weights, temperature
	}
	if f.kind == FusedLabels {
		fit.Thresholds = f.thresholds(fit.Weights, fit.Temperature)
	}
	return fit
}

// singleWeights returns weights that are 0 except for the given model.
func (f *Fusion) singleWeights(model int, weight float64) []float64 {
	w := make([]float64, f.models)
	w[model] = weight
	return w
}

// bestScale returns the best weight of a single model, fitted with the prior 1, or 1 if the best
// weight is 0.
func (f *Fusion) bestScale(model int) float64 {
	single := NewFusion(1, f.outputs, f.kind)
	for _, r := range f.rows {
		single.rows = append(single.rows, fusionRow{r.outputs[model*f.outputs : (model+1)*f.outputs], r.truth})
	}
	if w := single.Weights([]float64{1})[0]; w > 0 {
		return w
	}
	return 1
}

// normalise returns the weights divided by their sum.
func normalise(w []float64) []float64 {
	sum := 0.0
	for _, v := range w {
		sum += v
	}
	out := make([]float64, len(w))
	for m, v := range w {
		out[m] = v / sum
	}
	return out
}

// forEachSum calls visit with each kept row and the weighted sum of its models' outputs, divided by the
// temperature.
func (f *Fusion) forEachSum(weights []float64, temperature float64, visit func(r *fusionRow, z []float32)) {
	sum := make([]float64, f.outputs)
	for i := range f.rows {
		f.rows[i].sum(weights, sum)
		z := make([]float32, f.outputs)
		for c, v := range sum {
			z[c] = float32(v / temperature)
		}
		visit(&f.rows[i], z)
	}
}

// temperature returns the fitted temperature of the weighted sums, and 1 for numbers.
func (f *Fusion) temperature(weights []float64) float64 {
	if f.kind == FusedNumbers {
		return 1
	}
	sample := &LogitSample{}
	f.forEachSum(weights, 1, func(r *fusionRow, z []float32) {
		if f.kind == FusedClasses {
			sample.Add(int(r.truth.Labels[0]), z)
			return
		}
		for c, v := range z { // a label is a binary classification with the logits 0 and v
			_, holds := slices.BinarySearch(r.truth.Labels, int32(c))
			class := 0
			if holds {
				class = 1
			}
			sample.Add(class, []float32{0, v})
		}
	})
	return sample.Temperature()
}

// score returns the scores of the weighted sums.
func (f *Fusion) score(weights []float64, temperature float64) FusionScore {
	t := FusionTally{Kind: f.kind}
	f.forEachSum(weights, temperature, func(r *fusionRow, z []float32) { t.Add(z, r.truth) })
	return t.Score()
}

// FusionTally computes the scores of a model, or of a sum of models, row by row.
type FusionTally struct {
	Kind FusionKind

	rows, hits int
	loss       float64
}

// Add adds the outputs and the target of a row.
func (t *FusionTally) Add(outputs []float32, truth Truth) {
	t.rows++
	t.loss += t.Kind.loss(outputs, truth)
	if t.Kind == FusedClasses && slices.Index(outputs, slices.Max(outputs)) == int(truth.Labels[0]) {
		t.hits++
	}
}

// Score returns the scores of the rows, or zeros without rows.
func (t *FusionTally) Score() (s FusionScore) {
	if t.rows == 0 {
		return s
	}
	return FusionScore{Loss: t.loss / float64(t.rows), Accuracy: float64(t.hits) / float64(t.rows)}
}

// loss returns the cross-entropy of a row, the mean binary cross-entropy of its labels, or the mean
// squared error of its numbers.
func (k FusionKind) loss(z []float32, truth Truth) (sum float64) {
	switch k {
	case FusedClasses:
		return CrossEntropy(z, int(truth.Labels[0]))
	case FusedLabels:
		return BinaryCrossEntropy(z, truth.Labels) / float64(len(z))
	}
	for c, v := range z {
		d := float64(v) - truth.Numbers[c]
		sum += d * d / float64(len(z))
	}
	return sum
}

// thresholds returns the thresholds that maximise the F1 of each label.
func (f *Fusion) thresholds(weights []float64, temperature float64) []float64 {
	tally := NewMultiLabel(f.outputs)
	f.forEachSum(weights, temperature, func(r *fusionRow, z []float32) { tally.Add(z, r.truth.Labels) })
	return tally.Thresholds()
}
