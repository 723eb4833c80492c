package bench

import (
	"math"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// DefaultEdges is the default average number of edges per node.
const DefaultEdges = 10

// Streams of random numbers. The number of a stream takes the place of the layer in the generator's
// counter. Each comment has the element e of the counter and the words that are used.
const (
	drawToken       uint32 = iota // e = position; first word
	drawLabel                     // e = position, 0 for the example's label; first word
	drawNumber                    // e = index; first word
	drawPoint                     // e = position; first and second word determine the direction
	drawFeature                   // e = position · features + index; first word
	drawEdge                      // e = edge; first word determines the source, second word the target
	drawEdgeFeature               // e = edge · features + index; first word
)

// draws generates the random numbers of an example.
type draws struct{ example uint32 }

func (d draws) words(stream uint32, e int) [4]uint32 {
	return philox.Words(seed, philox.Counter(uint32(e), 0, stream, philox.StreamGenerate, d.example, 0))
}

// below returns a uniform integer in 0 … n−1, up to a bias of n·2⁻³².
func below(word uint32, n int) int32 { return int32(uint64(word) * uint64(n) >> 32) }

// between returns a uniform number in −1 … 1.
func (d draws) between(stream uint32, e int) float32 {
	return 2*philox.Uniform(d.words(stream, e)[0]) - 1
}

// Label and Number implement [task.Draws].
func (d draws) Label(position, labels int) int32 {
	return below(d.words(drawLabel, position)[0], labels)
}

func (d draws) Number(position int) float64 { return float64(d.between(drawNumber, position)) }

// Examples returns the examples of the batch, the same in each call.
func (w *Workload) Examples() []seq.Example {
	c := w.Config
	out := make([]seq.Example, w.Settings.Batch)
	for i := range out {
		d := draws{uint32(i)}
		out[i] = seq.Example{Index: uint32(i), Label: d.Label(0, c.NumLabels)}
		task.Of(c).Draw(&out[i], w.Length, d)
		if !c.HasFeatures() {
			out[i].A = d.tokens(c, w.Length)
			if half := w.Length / 2; c.Sequences() == 2 {
				out[i].A, out[i].B = out[i].A[:half], out[i].A[half:]
			}
			continue
		}
		out[i].Features = d.features(c.FeatureNames, w.Length)
		if c.Edged() {
			out[i].Edges = d.edges(len(c.EdgeFeatureNames), w.Length, w.edges())
		}
	}
	return out
}

// edges returns the number of edges of an example.
func (w *Workload) edges() int {
	if !w.Config.Edged() {
		return 0
	}
	return w.Length * w.EdgesPerNode
}

// tokens returns n token ids that are valid for both prediction and training.
func (d draws) tokens(c *sft.Config, n int) []int32 {
	words := c.VocabSize
	if c.MaskTokenID != nil {
		words-- // the mask, the last id, must not occur in training examples
	}
	if c.PadTokenID != nil {
		words-- // one id fewer, because the pad id is skipped below
	}
	out := make([]int32, n)
	for i := range out {
		out[i] = below(d.words(drawToken, i)[0], words)
		if pad := c.PadTokenID; pad != nil && out[i] >= *pad {
			out[i]++
		}
	}
	return out
}

// features returns features of n tokens. Positions are uniformly distributed on the unit sphere,
// and normals equal positions. Other features are uniform in −1 … 1.
func (d draws) features(names []string, n int) [][]float32 {
	columns := seq.Points(names)
	values, out := make([]float32, n*len(names)), make([][]float32, n)
	for i := range out {
		row := values[i*len(names) : (i+1)*len(names) : (i+1)*len(names)]
		for c := range row {
			row[c] = d.between(drawFeature, i*len(names)+c)
		}
		if columns != nil {
			p := sphere(d.words(drawPoint, i))
			for c, column := range columns {
				row[column] = p[c%len(p)]
			}
		}
		out[i] = row
	}
	return out
}

// sphere returns a uniformly distributed direction.
func sphere(words [4]uint32) [3]float32 {
	z := 2*float64(philox.Uniform(words[0])) - 1
	sin, cos := math.Sincos(2 * math.Pi * float64(philox.Uniform(words[1])))
	r := math.Sqrt(1 - z*z)
	return [3]float32{float32(r * cos), float32(r * sin), float32(z)}
}

// edges returns n edges of a graph with the given number of nodes, each with the given number of
// features. Sources and targets are uniformly distributed.
func (d draws) edges(features, nodes, n int) []seq.Edge {
	values, out := make([]float32, n*features), make([]seq.Edge, n)
	for i := range out {
		words := d.words(drawEdge, i)
		row := values[i*features : (i+1)*features : (i+1)*features]
		for c := range row {
			row[c] = d.between(drawEdgeFeature, i*features+c)
		}
		out[i] = seq.Edge{Source: below(words[0], nodes), Target: below(words[1], nodes), Features: row}
	}
	return out
}
