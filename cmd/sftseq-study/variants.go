package main

import (
	"fmt"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// convergenceStudy compares three attention variants (the paper's Fig. 6).
var convergenceStudy = trainingStudy("convergence", "learning curves of the paper's attention and of softmax",
	`Trains three models that differ only in their attention and sample every token: leaky
probability, maxout score and relative encoding; softmax, dot product and relative encoding;
softmax and dot product without relative encoding.`,
	"Learning curves by attention",
	`The paper (Fig. 6): leaky/maxout learns faster than softmax/dot, and both learn faster than
softmax/dot without relative encoding, on ModelNet40 over 256 epochs; it reports no numbers and no
variance over seeds.`,
	func(t *training) ([]variant, error) {
		attention := func(score, probability string) func(m *sft.Config) {
			return func(m *sft.Config) { m.Score, m.Probability, m.NumSampledTokens = score, probability, t.longest }
		}
		softmax := attention("dot", "softmax")
		return []variant{
			{"leaky, maxout, relative", "leaky", attention("maxout", "leaky_relu")},
			{"softmax, dot, relative", "softmax", softmax},
			{"softmax, dot", "vanilla", func(m *sft.Config) { softmax(m); m.Relative = config.NoRelation }},
		}, nil
	})

// samplingStudy compares models with different numbers of sampled tokens (the paper's Fig. 7).
var samplingStudy = trainingStudy("sampling", "learning curves for each number of sampled tokens",
	"Trains a model for each number of sampled tokens.",
	"Learning curves by sampled tokens",
	`The paper (Fig. 7): 0.4%, 6.25%, 12.5%, 25% and 50% of 1,024 points of ModelNet40, 256 epochs.
Sampling more tokens speeds up learning. The final test accuracy with 50% is no higher than with
25%; with 0.4% it is "reasonable".`,
	func(t *training) (out []variant, err error) {
		for _, k := range t.sampled {
			if k > t.longest {
				return nil, usagef("--k %d: expected at most %d, the length of the longest sequence", k, t.longest)
			}
			out = append(out, variant{fmt.Sprintf("k %d (%.3g%%)", k, 100*float64(k)/float64(t.longest)),
				fmt.Sprintf("k-%d", k), func(m *sft.Config) { m.NumSampledTokens = k }})
		}
		return out, nil
	})

// relativeStudy compares models with and without relative positions (the paper's Table 5).
var relativeStudy = trainingStudy("relative", "accuracy with and without a relative position encoding",
	`Trains a model with the data set's relative position encoding and a model without one. If the
tokens have features, such as the coordinates and normals of points, the study trains three
models: one reads the features and the relative positions, one only the features, one only
the relative positions.`,
	"Learning curves with and without a relative position encoding",
	`The paper (Table 5) compares relative positions alone with absolute positions, and finds absolute
positions, the second number of each pair, better: 87.2 and 91.1 on ModelNet40, 78.3 and 81.3 on
ShapeNetPart, 0.67 and 0.69 on Peptides-func, 0.2661 and 0.2655 on Peptides-struct (mean absolute
error, lower is better), 0.20 and 0.22 on PascalVOC-SP.`,
	func(t *training) ([]variant, error) {
		unchanged, noRelation := func(*sft.Config) {}, func(m *sft.Config) { m.Relative = config.NoRelation }
		if !t.config.HasFeatures() {
			return []variant{{"relative", "relative", unchanged}, {"none", "none", noRelation}}, nil
		}
		return []variant{{"features and relative positions", "both", unchanged}, {"features", "features", noRelation},
			{"relative positions", "relation", func(m *sft.Config) { m.Input = config.OnesInput }}}, nil
	})
