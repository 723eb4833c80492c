package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// Prior weights of the members of a fusion: of a linear model, and of all others together.
const (
	linearPrior = 0.6
	layersPrior = 0.3
)

// fusionRows is the number of rows that are scored together.
const fusionRows = 256

// Member is a model of a fusion and the name of its folder.
type Member struct {
	Name  string
	Model *sft.Model
}

// FitFusion fits the weights and the temperature of a fusion on validation rows. Rows without a label are skipped. The
// weights, which are not negative, minimise the mean cross-entropy plus a ridge penalty towards 0.6 for a linear model
// and 0.3 shared by the others; fewer than 100 rows keep these. Done receives the number of rows scored; nil disables
// it.
func FitFusion(ctx context.Context, members []Member, rows *seq.File, device sft.Device,
	done func(int64)) (*sft.Fusion, error) {
	f := &sft.Fusion{ModelType: config.FusionType, Weights: make([]float64, len(members)), Temperature: 1}
	layered := 0
	for _, m := range members {
		f.Members = append(f.Members, m.Name)
		if !m.Model.Config.IsLinear() {
			layered++
		}
	}
	for i, m := range members {
		if f.Weights[i] = linearPrior; !m.Model.Config.IsLinear() {
			f.Weights[i] = layersPrior / float64(layered)
		}
	}
	var models []*sft.Model
	for _, m := range members {
		models = append(models, m.Model)
	}
	s, err := sft.NewFusion(models, f, device)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	fit := metrics.NewFusion(len(members), members[0].Model.Config.NumLabels, metrics.FusedClasses)
	var logits [][][]float32 // of each row, and member
	var classes []int32
	for at := 0; at < rows.Len(); at += fusionRows {
		var examples []seq.Example
		for i := at; i < min(at+fusionRows, rows.Len()); i++ {
			e, err := rows.Example(i)
			if err != nil {
				return nil, err
			}
			if e.Label != seq.NoLabel {
				examples = append(examples, e)
			}
		}
		all, err := s.MemberOutputs(ctx, examples)
		if err != nil {
			return nil, fmt.Errorf("%s, from row %d: %w", rows.Name(), at, err)
		}
		for i, e := range examples {
			z := make([][]float32, len(all))
			for m := range all {
				z[m] = all[m][i].Logits
			}
			fit.Add(z, metrics.Truth{Labels: []int32{e.Label}})
			logits, classes = append(logits, z), append(classes, e.Label)
		}
		if done != nil {
			done(int64(min(fusionRows, rows.Len()-at)))
		}
	}
	if len(classes) == 0 {
		return nil, errors.New("no validation row has a label: expected at least one, to fit the weights of the models")
	}
	setWeights(f, fit)
	measure(f, logits, classes)
	return f, nil
}

// setWeights fits the weights, with the present ones as the prior. Where every model misleads all would be 0: the prior
// stays, and the temperature flattens the sum.
func setWeights(f *sft.Fusion, fit *metrics.Fusion) {
	if weights := fit.Weights(f.Weights); slices.Max(weights) > 0 {
		f.Weights = weights
	}
}

// measure sets the temperature and the losses.
func measure(f *sft.Fusion, logits [][][]float32, classes []int32) {
	sample := &metrics.LogitSample{}
	for i, z := range logits {
		sample.Add(int(classes[i]), f.Sum(z))
	}
	f.Temperature = sample.Temperature()
	f.Losses, f.Loss = make([]float64, len(f.Members)), 0
	for i, z := range logits {
		for m := range z {
			f.Losses[m] += metrics.CrossEntropy(z[m], int(classes[i])) / float64(len(logits))
		}
		f.Loss += metrics.CrossEntropy(f.Sum(z), int(classes[i])) / float64(len(logits))
	}
}
