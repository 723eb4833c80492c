// Package pairs classifies pairs of texts by the words and n-grams that both texts have, as a
// search engine compares a query with documents (Salton and Buckley, Information Processing &
// Management 24, 1988).
//
// Each view has the text's n-grams of one kind, such as words or sequences of five bytes, hashed to slots
// (package ngram). Let t_aj be the count of slot j's n-grams in text a, N the number of distinct
// training texts, and n_j the number of distinct training texts with slot j:
//
//	idf_j = ln((N + 1) / (n_j + 1)),  x_aj = (1 + ln t_aj)·idf_j
//
// Because the compared texts may not be training texts, n_j is raised to at least 1 in the norms of x_a and
// x_b, and to at least 2 in all other formulas, which use only slots of both texts. A negative idf_j becomes 0.
//
// A view has two features: the cosine of x_a and x_b, and the largest idf_j of a slot in both
// texts, divided by 10. The first view, such as the words, has further features. Shared words are
// grouped by the range of idf_j (0 to 1, 1 to 2, … and from 11) and by whether all occurrences in
// both texts are capitalised within a sentence. Each of these 24 groups has ln(1 + its number of
// shared words) and its contribution to the cosine. The last feature is the length, ln((w_a + 1)(w_b + 1))/20
// for texts of w_a and w_b words.
//
// The standardised features are the input of a perceptron with a hidden layer of rectified linear
// units. The outputs of the perceptron are the logits of the classes.
package pairs

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/ngram"
)

// Config and the tensors of a [Model] together define a comparison. Config is a part of config.json.
type Config struct {
	Units  string `json:"units"`        // words, bytes or tokens, as in package ngram
	Slots  int    `json:"slots"`        // slots per view, a power of two from 2¹⁰ to 2²²
	Texts  int    `json:"texts"`        // number of distinct training texts
	Hidden int    `json:"hidden_units"` // number of hidden units, 1 to 1,024
	// Weights multiply the logits of the n-grams and the logits of the comparison before both are
	// summed.
	Weights [2]float64 `json:"weights"`
}

// Indices of [Config.Weights].
const (
	OfNGrams = iota
	OfComparison
)

// Limits of [Config].
const (
	maxSlots  = 1 << 22
	maxHidden = 1 << 10
	maxTexts  = 1<<31 - 2
	maxWeight = 1e6
)

// NewConfig returns the default configuration for units.
func NewConfig(units string) *Config {
	return &Config{Units: units, Slots: 1 << 21, Texts: 1, Hidden: 32, Weights: [2]float64{1, 1}}
}

// Validate returns an error for the first key with an unsupported value.
func (c *Config) Validate() error {
	if views[c.Units] == nil {
		return fmt.Errorf("units: expected words, bytes or tokens, found %q", c.Units)
	}
	if c.Slots < ngram.MinSlots || c.Slots > maxSlots || c.Slots&(c.Slots-1) != 0 {
		return fmt.Errorf("slots: expected a power of two from %d to %d, found %d", ngram.MinSlots, maxSlots, c.Slots)
	}
	if c.Texts < 1 || c.Texts > maxTexts {
		return fmt.Errorf("texts: expected 1 to %d, found %d", maxTexts, c.Texts)
	}
	if c.Hidden < 1 || c.Hidden > maxHidden {
		return fmt.Errorf("hidden_units: expected 1 to %d, found %d", maxHidden, c.Hidden)
	}
	for i, w := range c.Weights {
		if !(w >= 0 && w <= maxWeight) {
			return fmt.Errorf("weights[%d]: expected 0 to %g, found %v", i, maxWeight, w)
		}
	}
	return nil
}

// Model is a trained comparison. It is safe for concurrent use.
type Model struct {
	Config
	texts [][]int32 // number of training texts with an n-gram in the slot, by view and slot
	head  *head
}

// Outputs returns the number of logits: the number of classes, or 1 for two classes. The single logit
// belongs to class 1; the logit of class 0 is 0.
func (m *Model) Outputs() int { return m.head.outputs }

// Predictor computes the logits of pairs. It is not safe for concurrent use.
type Predictor struct {
	model    *Model
	compare  *comparer
	features []float64
	hidden   []float64
	logits   []float64
}

// NewPredictor returns a predictor of the model.
func (m *Model) NewPredictor() *Predictor {
	return &Predictor{model: m, compare: newComparer(&m.Config, m.texts), features: make([]float64, m.head.inputs),
		hidden: make([]float64, m.Hidden), logits: make([]float64, m.head.outputs)}
}

// Logits returns the logits of a pair of texts. The next call overwrites the result.
func (p *Predictor) Logits(a, b []int32) []float64 {
	p.compare.features(a, b, p.features)
	p.model.head.standardise(p.features)
	p.model.head.forward(p.features, p.hidden, p.logits)
	return p.logits
}
