package metrics

import (
	"math"
	"slices"
)

// FusionFit is what a [Fusion] has fitted, and the results on its rows.
type FusionFit struct {
	Weights     []float64
	Temperature float64   // by which sums are divided; 1 for numbers
	Thresholds  []float64 // thresholds of the largest F1 of each label; nil for other outputs
	Rows        int       // rows of which outputs are kept
	Members     []FusionScore
	Sum         FusionScore
}

// FusionScore is a result on rows.
type FusionScore struct {
	// Loss is the mean cross-entropy of a row, binary cross-entropy of a label, or squared error of a number.
	Loss     float64 `json:"loss"`
	Accuracy float64 `json:"accuracy,omitempty"` // accuracy of classes; 0 for other outputs
}

// Fit fits the weights, with a prior, and the temperature of the sum. From 100 rows on, the loss of the sum must be
// lower than that of each model alone, with a weight and a temperature of its own, by more than the standard error of
// the difference: otherwise the other models have the weight 0 and need not be run. Where every weight would be 0 the
// prior stays.
func (f *Fusion) Fit(prior []float64) *FusionFit {
	if f.kind == FusedNumbers { // the sum has no temperature
		prior = normalised(prior)
	}
	fit := &FusionFit{Weights: f.Weights(prior), Rows: len(f.rows)}
	if slices.Max(fit.Weights) == 0 {
		fit.Weights = prior
	}
	fit.Temperature = f.temperature(fit.Weights)
	fit.Sum = f.score(fit.Weights, fit.Temperature)
	score, alone, temperature := FusionScore{Loss: math.Inf(1)}, []float64(nil), 1.0
	for m := range f.models {
		fit.Members = append(fit.Members, f.score(f.alone(m, 1), 1))
		w := f.alone(m, f.scale(m))
		t := f.temperature(w)
		if s := f.score(w, t); s.Loss < score.Loss {
			score, alone, temperature = s, w, t
		}
	}
	if len(f.rows) >= minFusionRows && !gains(f.losses(alone, temperature), f.losses(fit.Weights, fit.Temperature)) {
		fit.Sum, fit.Weights, fit.Temperature = score, alone, temperature
	}
	if f.kind == FusedLabels {
		fit.Thresholds = f.thresholds(fit.Weights, fit.Temperature)
	}
	return fit
}

// alone are weights of which those of the other models are 0.
func (f *Fusion) alone(model int, weight float64) []float64 {
	w := make([]float64, f.models)
	w[model] = weight
	return w
}

// scale fits the weight of a model alone, with the prior 1.
func (f *Fusion) scale(model int) float64 {
	one := NewFusion(1, f.outputs, f.kind)
	for _, r := range f.rows {
		one.rows = append(one.rows, fusionRow{r.outputs[model*f.outputs : (model+1)*f.outputs], r.truth})
	}
	if w := one.Weights([]float64{1})[0]; w > 0 {
		return w
	}
	return 1
}

// gains reports whether the losses of rows are smaller after than before, by more than the standard error of the mean
// difference.
func gains(before, after []float64) bool {
	n, sum, squares := float64(len(before)), 0.0, 0.0
	for i := range before {
		d := before[i] - after[i]
		sum += d
		squares += d * d
	}
	mean := sum / n
	return mean > math.Sqrt(max(0, squares/n-mean*mean)/n)
}

// normalised divides weights by their sum.
func normalised(w []float64) []float64 {
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

// sums calls each with the sum of the models' outputs for each row, divided by a temperature.
func (f *Fusion) sums(weights []float64, temperature float64, each func(r *fusionRow, z []float32)) {
	sum := make([]float64, f.outputs)
	for i := range f.rows {
		f.rows[i].sum(weights, sum)
		z := make([]float32, f.outputs)
		for c, v := range sum {
			z[c] = float32(v / temperature)
		}
		each(&f.rows[i], z)
	}
}

// temperature fits the temperature of the sums.
func (f *Fusion) temperature(weights []float64) float64 {
	if f.kind == FusedNumbers {
		return 1
	}
	sample := &LogitSample{}
	f.sums(weights, 1, func(r *fusionRow, z []float32) {
		if f.kind == FusedClasses {
			sample.Add(int(r.truth.Labels[0]), z)
			return
		}
		for c, v := range z { // a label is one of two classes, with the logits 0 and its own
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

// score measures the sums.
func (f *Fusion) score(weights []float64, temperature float64) FusionScore {
	t := FusionTally{Kind: f.kind}
	f.sums(weights, temperature, func(r *fusionRow, z []float32) { t.Add(z, r.truth) })
	return t.Score()
}

// losses are those of the rows.
func (f *Fusion) losses(weights []float64, temperature float64) (out []float64) {
	f.sums(weights, temperature, func(r *fusionRow, z []float32) { out = append(out, f.kind.loss(z, r.truth)) })
	return out
}

// FusionTally measures a model, or a sum of models, on rows.
type FusionTally struct {
	Kind FusionKind

	rows, hits int
	loss       float64
}

// Add counts a row.
func (t *FusionTally) Add(outputs []float32, truth Truth) {
	t.rows++
	t.loss += t.Kind.loss(outputs, truth)
	if t.Kind == FusedClasses && slices.Index(outputs, slices.Max(outputs)) == int(truth.Labels[0]) {
		t.hits++
	}
}

// Score is the result on the rows; of no rows it is 0.
func (t *FusionTally) Score() (s FusionScore) {
	if t.rows == 0 {
		return s
	}
	return FusionScore{Loss: t.loss / float64(t.rows), Accuracy: float64(t.hits) / float64(t.rows)}
}

// loss is the cross-entropy of a row, the mean binary cross-entropy of its labels, or the mean squared error of its
// numbers.
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

// thresholds are those of labels that have the largest F1.
func (f *Fusion) thresholds(weights []float64, temperature float64) []float64 {
	tally := NewMultiLabel(f.outputs)
	f.sums(weights, temperature, func(r *fusionRow, z []float32) { tally.Add(z, r.truth.Labels) })
	return tally.Thresholds()
}
