package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// exampleView is an example as shown on the page.
type exampleView struct {
	Row              uint32
	ID               string
	Label, Predicted string
	Right            bool
	Likely           []classProbability
	Sequences        []sequenceView
}

// classProbability is a class and its predicted probability.
type classProbability struct {
	Name        string
	Probability float64
}

// sequenceView shows a sequence as an image, a drawing, a strip of positions with or without text, or
// the shaded text of a linear model.
type sequenceView struct {
	Name    string // side of a pair
	Length  int
	Pooling scale
	Image   *imagePanels
	Drawing *drawing
	Strip   *chart.Strip
	Text    []piece
	Part    bool // Text is an excerpt
	Linear  *linearView
}

// scale has the smallest and the largest weight of a shading, and the weight that a uniform
// distribution would have.
type scale struct{ Min, Max, Equal float64 }

// likelyClasses is the number of most probable classes shown for an example.
const likelyClasses = 3

// decoder returns the run's tokenizer, or a tokenizer that shows token ids if the run's is unknown.
func (r *Run) decoder() tokenizers.Tokenizer {
	if r.Tokenizer == nil {
		return tokenizers.IDs{}
	}
	return r.Tokenizer
}

func exampleViews(c *sft.Config, d tokenizers.Tokenizer, examples []Example) ([]exampleView, error) {
	var out []exampleView
	for _, e := range examples {
		predicted := sft.Argmax(e.Output.Logits)
		v := exampleView{Row: e.Row, ID: e.ID, Label: fmt.Sprint(c.Label(int(e.Label))),
			Predicted: fmt.Sprint(c.Label(predicted)), Right: predicted == int(e.Label)}
		for i, p := range metrics.Softmax(e.Output.Logits) {
			v.Likely = append(v.Likely, classProbability{fmt.Sprint(c.Label(i)), p})
		}
		slices.SortStableFunc(v.Likely, func(a, b classProbability) int {
			return cmp.Compare(b.Probability, a.Probability)
		})
		v.Likely = v.Likely[:min(len(v.Likely), likelyClasses)]
		if c.HasFeatures() {
			v.Sequences = append(v.Sequences, newFeaturedView(c, &e))
			out = append(out, v)
			continue
		}
		for i, tokens := range e.Tokens {
			s, err := newSequenceView(d, tokens, &e.Output.Explanations[i])
			if err != nil {
				return nil, err
			}
			if len(e.Tokens) > 1 {
				s.Name = []string{"First sequence", "Second sequence"}[i]
			}
			v.Sequences = append(v.Sequences, s)
		}
		out = append(out, v)
	}
	return out, nil
}

func newSequenceView(t tokenizers.Tokenizer, tokens []int32, e *sft.Explanation) (sequenceView, error) {
	if e.Pooling == nil && e.Linear != nil {
		return newLinearView(t, tokens, e.Linear), nil
	}
	v := sequenceView{Length: len(tokens), Pooling: poolingScale(e)}
	_, pixels := t.(tokenizers.Pixel)
	_, sound := t.(tokenizers.MuLaw)
	if side := int(math.Sqrt(float64(len(tokens)))); pixels && side > 1 && side*side == len(tokens) {
		var err error
		v.Image, err = newImagePanels(tokens, side, e, v.Pooling)
		return v, err
	}
	var levels []int32
	if pixels || sound { // numeric tokens, which the strip draws
		levels = tokens
	}
	v.Strip = newStrip(len(tokens), e, levels)
	if levels == nil {
		v.Text, v.Part = pieces(t, tokens, e, v.Pooling)
	}
	return v, nil
}

// newStrip returns a strip over the positions of a sequence. It shows the pooling weights and the
// tokens sampled by each layer, darker for larger mass. levels has the tokens if they are numbers,
// such as audio samples, else nil.
func newStrip(length int, e *sft.Explanation, levels []int32) *chart.Strip {
	s := &chart.Strip{Name: "sampled tokens and pooling weights by position", Length: length}
	if levels != nil {
		row := chart.StripRow{Name: "tokens", Ink: chart.NoteInk}
		for _, t := range levels {
			row.Levels = append(row.Levels, float64(t))
		}
		s.Rows = append(s.Rows, row)
	}
	for n := range e.Layers {
		l := &e.Layers[n]
		row := chart.StripRow{Name: fmt.Sprintf("layer %d", n+1), Ink: sampledInk}
		for i, position := range l.Positions {
			row.Marks = append(row.Marks, chart.StripMark{At: int(position), Darkness: relativeMass(l, i)})
		}
		s.Rows = append(s.Rows, row)
	}
	pooling := chart.StripRow{Name: "pooling", Ink: poolingInk}
	for _, w := range e.Pooling {
		pooling.Weights = append(pooling.Weights, float64(w))
	}
	s.Rows = append(s.Rows, pooling)
	return s
}

// poolingScale returns the scale of the pooling weights of a sequence.
func poolingScale(e *sft.Explanation) scale {
	return scale{Min: float64(slices.Min(e.Pooling)), Max: float64(slices.Max(e.Pooling)),
		Equal: 1 / float64(len(e.Pooling))}
}

// fraction maps a weight linearly from [Min, Max] to [0, 1].
func (s scale) fraction(weight float32) float64 {
	if s.Max <= s.Min {
		return 0
	}
	return (float64(weight) - s.Min) / (s.Max - s.Min)
}

// relativeMass returns the mass of sampled token i relative to the largest mass in its layer, from 0 to 1.
func relativeMass(l *sft.LayerExplanation, i int) float64 {
	largest := slices.Max(l.Mass)
	if largest <= 0 {
		return 0
	}
	return float64(l.Mass[i] / largest)
}
