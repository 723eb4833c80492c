package molecule

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/graphlines"
	"github.com/sftseq/sftseq/internal/smiles"
	"github.com/sftseq/sftseq/seq"
)

// Graph is a molecule in SMILES: the features of its atoms, and its bonds, each in both directions.
func Graph(text string) ([][]float32, []seq.Edge, error) {
	read, err := smiles.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	return atomFeatures(read), bondEdges(read), nil
}

// Reader makes of molecules what a model reads that has learned from molecules.
type Reader struct{ steps int } // of a random walk, whose probabilities it reads, too

// NewReader is for a model of features and edges with these names. It reports what another model
// reads in place of molecules.
func NewReader(features, edges []string) (*Reader, error) {
	if features == nil {
		return nil, errors.New("the model reads tokens: expected one that was trained on molecules as data convert graph --smiles makes them")
	}
	steps := max(0, len(features)-len(AtomFeatureNames))
	atoms := append(slices.Clip(AtomFeatureNames), graphlines.WalkNames(steps)...)
	for _, names := range []struct {
		what        string
		want, found []string
	}{{"feature", atoms, features}, {"edge feature", BondFeatureNames, edges}} {
		for i := range max(len(names.want), len(names.found)) {
			if want, found := nameAt(names.want, i), nameAt(names.found, i); want != found {
				return nil, fmt.Errorf("the model was not trained on molecules as data convert graph --smiles makes them: %s %d: expected %s, found %s", names.what, i, want, found)
			}
		}
	}
	return &Reader{steps}, nil
}

// nameAt is a name in an error.
func nameAt(names []string, i int) string {
	if i >= len(names) {
		return "none"
	}
	return names[i]
}

// mostWalked bounds the atoms of a molecule whose random walks somebody waits for: their time can
// grow with the square.
const mostWalked = 4_000

// mostAdditions bounds what those walks take, about a tenth of a second: along the bonds of an atom with
// thousands they would take many.
const mostAdditions = 50_000_000

// Read is [Graph] with the probabilities of random walks where the model reads them.
func (r *Reader) Read(text string) ([][]float32, []seq.Edge, error) {
	features, edges, err := Graph(text)
	if err != nil || r.steps == 0 {
		return features, edges, err
	}
	if len(features) > mostWalked {
		return nil, nil, fmt.Errorf("a molecule of %d atoms: expected at most %d, as the model reads random walks", len(features), mostWalked)
	}
	err = graphlines.AppendWalkWithin(context.Background(), features, edges, r.steps, mostAdditions)
	if errors.Is(err, graphlines.ErrTooLong) {
		return nil, nil, fmt.Errorf("a molecule of %d atoms, one of them with many bonds: expected a smaller one, as the model reads random walks of %d steps", len(features), r.steps)
	}
	return features, edges, err
}

// Memory is the most that reading a molecule of n bytes takes, which has at most as many atoms, and
// as many bonds.
func (r *Reader) Memory(n int) int64 {
	const floats, row, edge = 4, 24, 32
	atom := row + floats*2*(len(AtomFeatureNames)+r.steps) // twice, as a walk makes lists longer
	bond := 2 * (floats*len(BondFeatureNames) + 2*edge)
	const parsed = 512 // an atom and a bond as the parser has them, with lists that grow
	return int64(n) * int64(atom+bond+parsed)
}
