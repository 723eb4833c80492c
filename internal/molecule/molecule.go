// Package molecule makes graphs of molecules in SMILES: their atoms are the nodes, their bonds the
// edges.
package molecule

import (
	"slices"

	"github.com/sftseq/sftseq/internal/smiles"
	"github.com/sftseq/sftseq/seq"
)

// commonElements are those that have a feature each; other elements share one.
var commonElements = []string{"C", "N", "O", "S", "P", "F", "Cl", "Br", "I", "B", "Si", "Se"}

// AtomFeatureNames are the numbers of an atom: 1 for its element; how many atoms, hydrogens aside, it is
// bound to; its charge; its hydrogens; and whether it is aromatic, in a ring, and says how its
// neighbours lie around it. On which side they lie follows from the order in which they are
// written, which a graph does not have.
var AtomFeatureNames = append(slices.Clip(commonElements), "other", "degree", "charge", "hydrogens", "aromatic", "ring", "stereo")

// BondFeatureNames are the numbers of a bond: 1 for its order, and whether it is in a ring.
var BondFeatureNames = []string{"single", "double", "triple", "quadruple", "aromatic", "ring"}

// atomFeatures are those of each atom.
func atomFeatures(m *smiles.Molecule) [][]float32 {
	out := make([][]float32, len(m.Atoms))
	elements := len(commonElements)
	for i := range m.Atoms {
		a := &m.Atoms[i]
		out[i] = make([]float32, len(AtomFeatureNames))
		kind := slices.Index(commonElements, a.Element)
		if kind < 0 {
			kind = elements
		}
		out[i][kind] = 1
		copy(out[i][elements+1:], []float32{0, float32(a.Charge), float32(a.Hydrogens), one(a.Aromatic), one(a.Ring), one(a.Stereo)})
	}
	for _, b := range m.Bonds {
		out[b.A][elements+1]++
		out[b.B][elements+1]++
	}
	return out
}

// bondEdges are the bonds, in both directions.
func bondEdges(m *smiles.Molecule) []seq.Edge {
	out := make([]seq.Edge, 0, 2*len(m.Bonds))
	for _, b := range m.Bonds {
		features := make([]float32, len(BondFeatureNames))
		features[b.Order-smiles.Single] = 1
		features[len(features)-1] = one(b.Ring)
		out = append(out, seq.Edge{Source: b.A, Target: b.B, Features: features}, seq.Edge{Source: b.B, Target: b.A, Features: features})
	}
	return out
}

func one(holds bool) float32 {
	if holds {
		return 1
	}
	return 0
}
