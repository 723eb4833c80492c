package train

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/fusion"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// Prior weights of the members of a fusion: each linear model, and all other models together.
const (
	linearPrior = 0.6
	layersPrior = 0.3
)

// fusionRows is the number of rows scored together.
const fusionRows = 256

// Member is a model of a fusion with the name of its folder.
type Member struct {
	Name string
	// Kind is equal for members that differ only in their seeds. Members of one kind get equal
	// weights.
	Kind  string
	Model *sft.Model
}

// FitFusion fits the weights and the temperature of a fusion on validation rows. It skips rows
// without a label. The weights are not negative, and equal for members of a kind. They minimise the
// mean loss (cross-entropy, binary cross-entropy of labels, squared error of standardised numbers)
// plus a ridge penalty towards the prior: 0.6 for each linear model and 0.3 shared by the other
// models. For numbers, the prior is scaled to a sum of 1. With fewer than 100 rows the weights are the
// prior. Otherwise, if a single kind of models has a loss as low as the weighted sum, the other kinds
// get the weight 0. To limit memory, FitFusion samples very large splits. Unless done is nil, FitFusion
// calls done after each part of the split, with the number of rows in the part.
func FitFusion(ctx context.Context, members []Member, rows *seq.File, device sft.Device,
	done func(int64)) (*sft.Fusion, error) {
	f := &sft.Fusion{ModelType: config.FusionType, Temperature: 1, Weights: priorWeights(members)}
	var models []*sft.Model
	for _, m := range members {
		f.Members, models = append(f.Members, m.Name), append(models, m.Model)
	}
	s, err := sft.NewFusion(models, f, device)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	c := models[0].Config
	fit := metrics.NewFusion(len(members), c.NumLabels, fusion.Kind(c))
	for at := 0; at < rows.Len(); at += fusionRows {
		var examples []seq.Example
		var truths []metrics.Truth
		var numbers []int // each example's row in the split
		for i := at; i < min(at+fusionRows, rows.Len()); i++ {
			e, err := rows.Example(i)
			if err != nil {
				return nil, err
			}
			if truth, known := fusion.Truth(c, e); known {
				examples, truths, numbers = append(examples, e), append(truths, truth), append(numbers, i)
			}
		}
		all, err := s.MemberOutputs(ctx, examples)
		if err != nil {
			return nil, fmt.Errorf("%s, from row %d: %w", rows.Name(), at, err)
		}
		for i, truth := range truths {
			z := make([][]float32, len(all))
			for m := range all {
				if z[m] = all[m][i].Logits; !fmath.Finite(z[m]) {
					return nil, fmt.Errorf("%s, row %d: the model %q has the logits %v, expected finite numbers: "+
						"train it with a lower --lr", rows.Name(), numbers[i], members[m].Name, z[m])
				}
			}
			fit.Add(z, truth)
		}
		if done != nil {
			done(int64(min(fusionRows, rows.Len()-at)))
		}
	}
	if fit.Empty() {
		return nil, errors.New("no validation row has a label: expected at least one, to fit the weights of the models")
	}
	describeFit(f, fit.Fit(f.Weights, groups(members)), fusion.Kind(c) == metrics.FusedClasses)
	return f, nil
}

// groups returns the index of each member's kind. The kinds have the indices 0, 1, … in the order of
// their first members.
func groups(members []Member) []int {
	index := map[string]int{}
	var out []int
	for _, m := range members {
		if _, found := index[m.Kind]; !found {
			index[m.Kind] = len(index)
		}
		out = append(out, index[m.Kind])
	}
	return out
}

// priorWeights returns the weights that the ridge penalty prefers.
func priorWeights(members []Member) []float64 {
	weights, layered := make([]float64, len(members)), 0
	for _, m := range members {
		if !m.Model.Config.IsLinear() {
			layered++
		}
	}
	for i, m := range members {
		if weights[i] = linearPrior; !m.Model.Config.IsLinear() {
			weights[i] = layersPrior / float64(layered)
		}
	}
	return weights
}

// roundWeight rounds a weight to 12 digits, which is more precise than the float32 logits that it
// multiplies. The weight of three seeds that share 0.3 is then 0.1, not 0.09999999999999999.
func roundWeight(w float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(w, 'g', 12, 64), 64)
	return rounded
}

// describeFit copies the weights, temperature, thresholds and scores of a fit to f, and rounds the weights. If
// classes is set, it also copies the accuracies of the members.
func describeFit(f *sft.Fusion, fit *metrics.FusionFit, classes bool) {
	f.Temperature, f.Thresholds, f.Weights = fit.Temperature, fit.Thresholds, nil
	for _, w := range fit.Weights {
		f.Weights = append(f.Weights, roundWeight(w))
	}
	f.Loss, f.Accuracy, f.Rows = fit.Sum.Loss, fit.Sum.Accuracy, fit.Rows
	for _, m := range fit.Members {
		f.Losses = append(f.Losses, m.Loss)
		if classes {
			f.Accuracies = append(f.Accuracies, m.Accuracy)
		}
	}
}
