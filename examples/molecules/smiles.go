package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// molecule contains atoms and bonds in the order of the text.
type molecule struct {
	atoms []atom
	bonds []bond
}

type atom struct {
	element           string // "C", or "*" for any
	charge, hydrogens int    // hydrogens excludes hydrogens that are separate atoms
	aromatic          bool   // written in lower case
	stereo            bool   // has a chirality
	ring              bool
	bracket           bool // written in brackets, which state the number of hydrogens
}

type bond struct {
	a, b  int // indices of atoms
	order int
	ring  bool
}

// Orders of bonds. Single bonds include / and \.
const (
	implied = iota
	single
	double
	triple
	quadruple
	aromatic
)

// token matches one token of OpenSMILES 1.0 (http://opensmiles.org/opensmiles.html): an atom with or without
// brackets, a ring closure, a bond, a parenthesis or a dot. Isotopes and atom classes are read and dropped.
var token = regexp.MustCompile(`^(?:\[\d{0,3}(\*|se|as|[bcnops]|[A-Z][a-z]?)(@(?:@|(?:TH|AL|SP|TB|OH)\d\d?)?)?(H\d?)?(\+\+|--|[+-]\d{0,2})?(?::\d+)?\]` +
	`|(Cl|Br|[BCNOPSFI*bcnops])|(?:%(\d\d)|(\d))|([-=#$:/\\])|[().])`)

const symbols = " * H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru" +
	" Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn" +
	" Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og "

// follows maps each kind of token to the kinds that may follow it: "a" is an atom, "b" a bond, "r"
// a ring closure, and other characters stand for themselves. "" is the start.
var follows = map[string]string{"": "a", "a": "abr().", "b": "ar", "r": "abr().", "(": "ab.", ")": "ab().", ".": "a"}

// parse reads a molecule in SMILES.
func parse(text string) (*molecule, error) {
	m, rings := &molecule{}, map[int]bond{} // first atom and order of each open ring closure
	var branches []int                      // atoms before the open parentheses
	last, order, previous := -1, implied, ""
	for at := 0; at < len(text); {
		t := token.FindStringSubmatch(text[at:])
		if t == nil {
			return nil, fmt.Errorf("character %d: expected an atom, a bond or a ring closure, found %.10q", at+1,
				text[at:])
		}
		kind := t[0]
		switch {
		case t[1] != "" || t[5] != "":
			kind = "a"
		case t[6] != "" || t[7] != "":
			kind = "r"
		case t[8] != "":
			kind = "b"
		}
		if !strings.Contains(follows[previous], kind) || kind == ")" && len(branches) == 0 {
			return nil, fmt.Errorf("character %d: unexpected %q", at+1, t[0])
		}
		switch kind {
		case "a":
			a, err := newAtom(t)
			if err != nil {
				return nil, fmt.Errorf("character %d: %w", at+1, err)
			}
			m.atoms = append(m.atoms, a)
			if next := len(m.atoms) - 1; last >= 0 {
				m.bonds = append(m.bonds, bond{a: last, b: next, order: order})
			}
			last, order = len(m.atoms)-1, implied
		case "b":
			order = []int{single, double, triple, quadruple, aromatic, single, single}[strings.Index(`-=#$:/\`, t[8])]
		case "r":
			if err := m.close(rings, t[6]+t[7], last, order); err != nil {
				return nil, fmt.Errorf("character %d: %w", at+1, err)
			}
			order = implied
		case "(":
			branches = append(branches, last)
		case ")":
			last, branches = branches[len(branches)-1], branches[:len(branches)-1]
		case ".":
			last = -1
		}
		previous = kind
		at += len(t[0])
	}
	switch {
	case !strings.Contains("ar)", previous) || previous == "":
		return nil, errors.New("expected an atom, found the end")
	case len(branches) > 0:
		return nil, errors.New("a branch is not closed")
	case len(rings) > 0:
		return nil, errors.New("a ring is not closed")
	}
	return m, m.complete()
}

// newAtom returns the atom of a token.
func newAtom(t []string) (a atom, err error) {
	symbol := t[1] + t[5]
	a.element = strings.ToUpper(symbol[:1]) + symbol[1:]
	a.aromatic, a.stereo, a.bracket = symbol != a.element, t[2] != "", t[1] != ""
	if !strings.Contains(symbols, " "+a.element+" ") {
		return a, fmt.Errorf("expected an element, found %q", a.element)
	}
	if t[3] != "" {
		a.hydrogens = number(t[3][1:], 1)
	}
	if t[4] != "" {
		a.charge = number(strings.Trim(t[4], "+-"), len(strings.TrimRight(t[4], "0123456789")))
		if t[4][0] == '-' {
			a.charge = -a.charge
		}
	}
	return a, nil
}

// number parses digits, or returns fallback if digits is empty.
func number(digits string, fallback int) int {
	if n, err := strconv.Atoi(digits); err == nil {
		return n
	}
	return fallback
}

// close opens a ring closure, or closes an open one with a bond between the two atoms.
func (m *molecule) close(rings map[int]bond, digits string, last, order int) error {
	n := number(digits, 0)
	first, opened := rings[n]
	if !opened {
		rings[n] = bond{a: last, order: order}
		return nil
	}
	delete(rings, n)
	sameAtoms := func(b bond) bool { return b.a == first.a && b.b == last || b.a == last && b.b == first.a }
	switch {
	case order != implied && first.order != implied && order != first.order:
		return fmt.Errorf("the two bonds of ring closure %d differ", n)
	case first.a == last || slices.ContainsFunc(m.bonds, sameAtoms):
		return fmt.Errorf("ring closure %d connects an atom to itself, or two atoms that already have a bond", n)
	}
	m.bonds = append(m.bonds, bond{a: first.a, b: last, order: max(order, first.order)})
	return nil
}

// complete derives the implied properties: rings, bond orders and hydrogens.
func (m *molecule) complete() error {
	for i := range m.bonds {
		b := &m.bonds[i]
		if b.ring = m.inRing(i); b.ring {
			m.atoms[b.a].ring, m.atoms[b.b].ring = true, true
		}
	}
	taken := make([]int, len(m.atoms)) // valences used by bonds
	for i := range m.bonds {
		b := &m.bonds[i]
		if b.order == implied {
			b.order = single
			if b.ring && m.atoms[b.a].aromatic && m.atoms[b.b].aromatic {
				b.order = aromatic
			}
		}
		valence := b.order
		if b.order == aromatic {
			valence = 1
		}
		taken[b.a] += valence
		taken[b.b] += valence
	}
	for i := range m.atoms {
		a := &m.atoms[i]
		if a.aromatic && !a.ring {
			return fmt.Errorf("atom %d is aromatic but not in a ring", i+1)
		}
		if !a.bracket {
			a.hydrogens = implicit(a, taken[i])
		}
	}
	return nil
}

// inRing reports whether the atoms of bond i are also connected without the bond.
func (m *molecule) inRing(i int) bool {
	reached := make([]bool, len(m.atoms))
	reached[m.bonds[i].a] = true
	for grown := true; grown; {
		grown = false
		for j, b := range m.bonds {
			if j != i && reached[b.a] != reached[b.b] {
				reached[b.a], reached[b.b], grown = true, true, true
			}
		}
	}
	return reached[m.bonds[i].b]
}

// valences maps elements to the normal valences of atoms without brackets.
var valences = map[string][]int{"B": {3}, "C": {4}, "N": {3, 5}, "O": {2}, "P": {3, 5}, "S": {2, 4, 6}, "F": {1},
	"Cl": {1}, "Br": {1}, "I": {1}}

// implicit returns the number of hydrogens of an atom without brackets. taken is the valence that its
// bonds use. The hydrogens fill the lowest normal valence of the element that is at least taken. An
// aromatic atom always has the lowest valence, and shares one more electron with its ring.
func implicit(a *atom, taken int) int {
	for _, valence := range valences[a.element] {
		switch {
		case a.aromatic:
			return max(0, valence-taken-1)
		case valence >= taken:
			return valence - taken
		}
	}
	return 0
}
