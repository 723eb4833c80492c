package configtest

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// CloudConfig changes c to a model of point clouds with a feature "heat", normals and positions,
// and returns c.
func CloudConfig(c *config.Config) *config.Config {
	c.VocabSize, c.PadTokenID, c.Relative, c.Tokenizer = 0, nil, config.DistanceRelation,
		json.RawMessage(`{"type":"none"}`)
	c.FeatureNames = slices.Concat([]string{"heat"}, seq.NormalNames, seq.PositionNames)
	return c
}

// RandomClouds returns one point cloud per length with the features of c, values of standard
// deviation 0.5, and unit normals.
func RandomClouds(c *config.Config, random *rand.Rand, lengths ...int) (out []seq.Example) {
	for i, n := range lengths {
		e := seq.Example{Index: uint32(i), Label: int32(i % c.NumLabels)}
		for range n {
			row := make([]float32, len(c.FeatureNames))
			for j := range row {
				row[j] = float32(0.5 * random.NormFloat64())
			}
			if at := slices.Index(c.FeatureNames, "nx"); at >= 0 {
				norm := math.Sqrt(float64(row[at]*row[at] + row[at+1]*row[at+1] + row[at+2]*row[at+2]))
				for j := range 3 {
					row[at+j] = float32(float64(row[at+j]) / norm)
				}
			}
			e.Features = append(e.Features, row)
		}
		out = append(out, e)
	}
	return out
}
