package metrics

import "slices"

// FusionFit is what a [Fusion] has fitted, and the results on its rows.
type FusionFit struct {
	Weights     []float64
	Temperature float64   // by which sums are divided; 1 for numbers
	Thresholds  []float64 // thresholds of the largest F1 of each label; nil for other outputs
	Rows        int       // rows of which outputs are kept
	Members     []FusionScore
	Sum         FusionScore
}

// FusionScore is a result on the rows of a fusion.
type FusionScore struct {
	// Loss is the mean cross-entropy of a row, binary cross-entropy of a label, or squared error of a number.
	Loss     float64
	Accuracy float64 // accuracy of classes; 0 for other outputs
}

// Fit fits the weights, with a prior, and the temperature of the sum. From 100 rows on, the sum must have a lower loss
// than each model alone at its own temperature: otherwise the best model has the weight 1 and the others 0. Where every
// weight would be 0 the prior stays.
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
	best, weights, temperature := fit.Sum, fit.Weights, fit.Temperature
	for m := range f.models {
		alone := make([]float64, f.models)
		alone[m] = 1
		fit.Members = append(fit.Members, f.score(alone, 1))
		if len(f.rows) < minFusionRows {
			continue
		}
		t := f.temperature(alone)
		if s := f.score(alone, t); s.Loss <= best.Loss {
			best, weights, temperature = s, alone, t
		}
	}
	fit.Sum, fit.Weights, fit.Temperature = best, weights, temperature
	if f.kind == FusedLabels {
		fit.Thresholds = f.thresholds(weights, temperature)
	}
	return fit
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
func (f *Fusion) score(weights []float64, temperature float64) (s FusionScore) {
	n := float64(len(f.rows))
	f.sums(weights, temperature, func(r *fusionRow, z []float32) {
		switch f.kind {
		case FusedClasses:
			class := int(r.truth.Labels[0])
			s.Loss += CrossEntropy(z, class) / n
			if slices.Index(z, slices.Max(z)) == class {
				s.Accuracy += 1 / n
			}
		case FusedLabels:
			s.Loss += BinaryCrossEntropy(z, r.truth.Labels) / n / float64(f.outputs)
		case FusedNumbers:
			for c, v := range z {
				d := float64(v) - r.truth.Numbers[c]
				s.Loss += d * d / n / float64(f.outputs)
			}
		}
	})
	return s
}

// thresholds are those of labels that have the largest F1.
func (f *Fusion) thresholds(weights []float64, temperature float64) []float64 {
	tally := NewMultiLabel(f.outputs)
	f.sums(weights, temperature, func(r *fusionRow, z []float32) { tally.Add(z, r.truth.Labels) })
	return tally.Thresholds()
}
