package molecule

import (
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/graphlines"
)

// TestNewReader: the names of its features say whether a model reads molecules, and how long its walks
// are; another one is told what it has in place of the first name that differs.
func TestNewReader(t *testing.T) {
	walked := append(slices.Clip(AtomFeatureNames), graphlines.WalkNames(4)...)
	for _, c := range []struct {
		features, edges []string
		steps           int
		want            string
	}{
		{AtomFeatureNames, BondFeatureNames, 0, ""},
		{walked, BondFeatureNames, 4, ""},
		{nil, nil, 0, "the model reads tokens"},
		{[]string{"x", "y"}, BondFeatureNames, 0, "feature 0: expected C, found x"},
		{AtomFeatureNames[:3], BondFeatureNames, 0, "feature 3: expected S, found none"},
		{append(slices.Clip(walked), "mass"), BondFeatureNames, 0, "feature 23: expected rw5, found mass"},
		{AtomFeatureNames, nil, 0, "edge feature 0: expected single, found none"},
		{AtomFeatureNames, append(slices.Clip(BondFeatureNames), "length"), 0, "edge feature 6: expected none, found length"},
	} {
		r, err := NewReader(c.features, c.edges)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, expected %s", c.features, err, c.want)
			}
		} else if err != nil || r.steps != c.steps {
			t.Errorf("%q: %+v, %v", c.features, r, err)
		}
	}
}

// TestReaderBounds: who waits for a molecule does not wait long for its walks, however its atoms are
// bound, and a model without walks reads any.
func TestReaderBounds(t *testing.T) {
	star := "C" + strings.Repeat("(C)", 3999)
	walks := &Reader{steps: 24}
	for text, want := range map[string]string{
		star:                      "a molecule of 4000 atoms, one of them with many bonds: expected a smaller one, as the model reads random walks of 24 steps",
		strings.Repeat("C", 4001): "a molecule of 4001 atoms: expected at most 4000, as the model reads random walks",
	} {
		if _, _, err := walks.Read(text); err == nil || err.Error() != want {
			t.Errorf("%.20s: %v, want %s", text, err, want)
		}
		if features, _, err := (&Reader{}).Read(text); err != nil || len(features) < 4000 {
			t.Errorf("%.20s, without walks: %d atoms, %v", text, len(features), err)
		}
	}
	if features, _, err := walks.Read(strings.Repeat("C", 4000)); err != nil || len(features) != 4000 {
		t.Errorf("a chain: %d atoms, %v", len(features), err)
	}
}
