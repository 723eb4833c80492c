package baseline

import (
	"math"
	"math/rand/v2"

	"github.com/sftseq/sftseq/seq"
)

// Names of the [moments] baseline: Sums for graphs, Moments for other data with features.
const (
	Moments = "moments and radii"
	Sums    = "sums and moments"
)

// momentsName returns the name of the moments baseline for a data set with features.
func momentsName(m *seq.Manifest) string {
	if m.EdgeFeatureNames != nil {
		return Sums
	}
	return Moments
}

// radii is the number of histogram bins for the distances of points from the centre, from 0 to
// twice the mean distance.
const radii = 16

// moments returns logistic regression on summary statistics of tokens with features: the mean and
// the standard deviation of each feature. For points, it adds a histogram of distances from the
// centre, which is invariant under rotation. For graphs, it adds the numbers of nodes and edges and
// the sums of their features, such as the number of atoms of each element and of bonds of each
// order.
//
// Source of the distances: Osada, Funkhouser, Chazelle and Dobkin, "Shape Distributions", ACM
// Transactions on Graphics 21, 2002 (D1).
func moments(m *seq.Manifest, classes int, limits limits) *baseline {
	sums := summedOf(m)
	var rows [][]float64
	var labels []int32
	var mean, deviation []float64
	l := newLogistic(classes)
	standard := func(row []float64) []feature {
		out := make([]feature, len(row))
		for i, v := range row {
			out[i] = feature{uint32(i), float32((v - mean[i]) / deviation[i])}
		}
		return out
	}
	return &baseline{
		name: momentsName(m), limits: limits,
		learn: func(examples []seq.Example) {
			for _, e := range examples {
				rows, labels = append(rows, sums.values(e)), append(labels, e.Label)
			}
		},
		finish: func(w *work) (int, error) {
			mean, deviation = spread(rows)
			var all [][]feature
			for _, row := range rows {
				all = append(all, standard(row))
			}
			rand.New(rand.NewPCG(2, 2)).Shuffle(len(all), func(i, j int) { // the file may be sorted by label
				all[i], all[j] = all[j], all[i]
				labels[i], labels[j] = labels[j], labels[i]
			})
			return l.train(w, all, labels, limits.updates)
		},
		countCorrect: func(examples []seq.Example) (correct int) {
			scores := make([]float64, classes)
			for _, e := range examples {
				if l.class(standard(sums.values(e)), scores) == int(e.Label) {
					correct++
				}
			}
			return correct
		},
	}
}

// spread returns the mean and the standard deviation of each column. A deviation of 0 becomes 1.
func spread(rows [][]float64) (mean, deviation []float64) {
	mean, deviation = make([]float64, len(rows[0])), make([]float64, len(rows[0]))
	for i := range mean {
		for _, row := range rows {
			mean[i] += row[i] / float64(len(rows))
		}
		for _, row := range rows {
			deviation[i] += (row[i] - mean[i]) * (row[i] - mean[i]) / float64(len(rows))
		}
		if deviation[i] = math.Sqrt(deviation[i]); deviation[i] == 0 {
			deviation[i] = 1
		}
	}
	return mean, deviation
}

// summed describes the summary statistics of a data set's sequences.
type summed struct {
	points []int // indices of the position features, then of the normals, if any
	edged  bool
	edges  int // number of edge features
}

// summedOf returns the description of the summary statistics for a data set.
func summedOf(m *seq.Manifest) summed {
	return summed{seq.Points(m.FeatureNames), m.EdgeFeatureNames != nil, len(m.EdgeFeatureNames)}
}

// values returns the summary statistics of a sequence.
func (s summed) values(e seq.Example) []float64 {
	rows := make([][]float64, len(e.Features))
	for t, row := range e.Features {
		for _, v := range row {
			rows[t] = append(rows[t], float64(v))
		}
	}
	mean, deviation := spread(rows)
	out := append(append([]float64(nil), mean...), deviation...)
	if s.edged {
		out = append(out, s.graph(e, mean)...)
	}
	if s.points == nil {
		return out
	}
	distances, middle := make([]float64, len(rows)), 0.0
	for t, row := range rows {
		for _, c := range s.points[:3] {
			distances[t] += (row[c] - mean[c]) * (row[c] - mean[c])
		}
		distances[t] = math.Sqrt(distances[t])
		middle += distances[t] / float64(len(rows))
	}
	counts := make([]float64, radii)
	for _, d := range distances {
		bin := 0
		if middle > 0 {
			bin = min(radii-1, int(radii*d/(2*middle)))
		}
		counts[bin] += 1 / float64(len(rows))
	}
	return append(out, counts...)
}

// graph returns the numbers of nodes and edges of a graph and the sums of their features. mean has
// the means of the node features.
func (s summed) graph(e seq.Example, mean []float64) []float64 {
	out := []float64{float64(len(e.Features)), float64(len(e.Edges))}
	for _, v := range mean {
		out = append(out, v*float64(len(e.Features)))
	}
	of := make([]float64, s.edges)
	for _, x := range e.Edges {
		for i, v := range x.Features {
			of[i] += float64(v)
		}
	}
	return append(out, of...)
}
