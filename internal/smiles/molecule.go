// Package smiles reads molecules in the notation SMILES, by the grammar of OpenSMILES 1.0
// (http://opensmiles.org/opensmiles.html), as graphs of atoms and bonds. It knows no chemistry
// beyond that: what is written as aromatic is, and valences only say how many hydrogens are
// implied.
package smiles

// Atom is one of a molecule.
type Atom struct {
	Element   string // "C"; "*" for any
	Isotope   int    // its mass number; 0 where none is stated
	Charge    int
	Hydrogens int  // bound to it that are no atoms of their own
	Aromatic  bool // written in lower case
	Stereo    bool // it says how its neighbours lie around it (@ and the like)
	Ring      bool // it is in a ring
	bracket   bool // it states its hydrogens
	place     int  // of its first sign, from 1
}

// Order is what kind a bond is of.
type Order int8

// The orders of bonds. Those that say on which side of a double bond an atom lies (/ and \) are single.
const (
	implied Order = iota
	Single
	Double
	Triple
	Quadruple
	Aromatic
)

// Bond connects two atoms of a molecule. Two atoms have at most one.
type Bond struct {
	A, B  int32 // their places, from 0
	Order Order
	Ring  bool // it is in a ring
}

// Molecule is atoms and bonds, in the order in which they are written.
type Molecule struct {
	Atoms []Atom
	Bonds []Bond
}

// elements are the symbols of all, by atomic number from 1.
var elements = []string{
	"H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar",
	"K", "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr",
	"Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe",
	"Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu",
	"Hf", "Ta", "W", "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn",
	"Fr", "Ra", "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr",
	"Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og",
}

// Symbols that may be written without brackets, and those of aromatic atoms with and without them.
// Of two that begin alike the longer one comes first.
var (
	organic         = []string{"Cl", "Br", "B", "C", "N", "O", "S", "P", "F", "I"}
	aromaticOrganic = []string{"b", "c", "n", "o", "s", "p"}
	aromaticBracket = []string{"se", "as", "b", "c", "n", "o", "s", "p"}
)

// valences are the normal ones of the atoms that are written without brackets.
var valences = map[string][]int{
	"B": {3}, "C": {4}, "N": {3, 5}, "O": {2}, "P": {3, 5}, "S": {2, 4, 6},
	"F": {1}, "Cl": {1}, "Br": {1}, "I": {1},
}
