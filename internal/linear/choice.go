package linear

import (
	"context"
	"math"

	"github.com/sftseq/sftseq/internal/parallel"
)

// Choice holds the options that the validation split selects for a model of classes or labels.
type Choice struct {
	Epoch int     `json:"kept_epoch,omitempty"` // number of epochs; 0 means all
	Rate  float64 `json:"rate,omitempty"`       // initial learning rate
	// Scale multiplies the logits, which calibrates the probabilities on the validation rows.
	// 1/Scale is the temperature of Guo et al., On Calibration of Modern Neural Networks, ICML
	// 2017.
	Scale float64 `json:"scale,omitempty"`
}

// Maximum size of data for trying several learning rates. The best rate differs between small data
// sets; large data sets need no rate below the first rate.
const (
	maxSearchRows    = 10_000
	maxSearchUpdates = 1 << 26 // updated weights per epoch
)

// minScaleRows is the minimum number of validation rows for fitting a scale.
const minScaleRows = 100

// rateFactors returns factors of Options.Rate. Training tries them in order until a factor does not
// lower the validation loss.
func (f *fitting) rateFactors(columns int) []float64 {
	if f.val == nil || f.Updates > 0 || f.report.Rows > maxSearchRows ||
		f.features*int64(columns) > maxSearchUpdates {
		return []float64{1}
	}
	return []float64{1, 0.4, 0.2}
}

// scales lists the factors of the logits to try, each √2 times the previous factor. The middle factor
// is 1.
var scales = func() (out [13]float64) {
	for i := range out {
		out[i] = math.Exp2(float64(i-len(out)/2) / 2)
	}
	return out
}()

// validation is the result of a pass over the validation rows.
type validation struct {
	rows, correct int     // number of rows, and number of correct predictions
	loss          float64 // mean loss with scaled logits
	scale         float64 // factor of the logits that minimises the loss; 1 below minScaleRows rows
}

// validate measures the weights on the validation rows.
func (f *fitting) validate(ctx context.Context) (v validation, err error) {
	if f.val == nil {
		return v, nil
	}
	const chunk = 256 // rows per task
	var losses [len(scales)]float64
	err = f.val.inOrder(ctx, func(all []row) error {
		sums := make([][len(scales)]float64, (len(all)+chunk-1)/chunk)
		correct := make([]int, len(sums))
		steps := make([]*step, f.val.workers)
		err := parallel.Do(ctx, f.val.workers, len(sums), func(w, i int) error {
			if steps[w] == nil {
				steps[w] = newStep(f.config, f.table, f.bias)
			}
			for k := i * chunk; k < min(len(all), (i+1)*chunk); k++ {
				steps[w].losses(&all[k], scales[:], sums[i][:])
				if steps[w].isCorrect(&all[k]) {
					correct[i]++
				}
			}
			return nil
		})
		for i, s := range sums {
			for k, loss := range s {
				losses[k] += loss
			}
			v.correct += correct[i]
		}
		v.rows += len(all)
		return err
	})
	if v.rows == 0 {
		return v, err
	}
	v.loss, v.scale = losses[len(scales)/2], 1
	if v.rows >= minScaleRows {
		v.loss, v.scale = bestScale(losses[:])
	}
	v.loss /= float64(v.rows)
	return v, err
}

// bestScale returns the minimum loss and its scale: the vertex of the parabola through the lowest
// loss and its neighbours, over the logarithm of the scale. If the lowest loss is the first or the
// last, bestScale returns this loss and its scale.
func bestScale(losses []float64) (loss, scale float64) {
	k := 0
	for i, l := range losses {
		if l < losses[k] {
			k = i
		}
	}
	if k == 0 || k == len(losses)-1 {
		return losses[k], scales[k]
	}
	left, right := losses[k-1]-losses[k], losses[k+1]-losses[k]
	shift := 0.0 // in steps of √2; the parabola's vertex lies within half a step
	if left+right > 0 {
		shift = (left - right) / (left + right) / 2
	}
	return losses[k] - (left+right)*shift*shift/2, scales[k] * math.Exp2(shift/2)
}
