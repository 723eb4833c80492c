package smiles

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// formula is C2H6O and the like, in the order of Hill, with the charge behind.
func formula(m *Molecule) string {
	count := map[string]int{}
	charge := 0
	for _, a := range m.Atoms {
		count[a.Element]++
		count["H"] += a.Hydrogens
		charge += a.Charge
	}
	var out strings.Builder
	add := func(symbol string) {
		if n := count[symbol]; n > 1 {
			fmt.Fprint(&out, symbol, n)
		} else if n == 1 {
			out.WriteString(symbol)
		}
		delete(count, symbol)
	}
	add("C")
	add("H")
	for _, symbol := range []string{"*", "As", "B", "Br", "Cl", "Co", "Cu", "F", "Fe", "I", "N", "Na", "O", "P", "Pb", "S", "Se", "Si"} {
		add(symbol)
	}
	for symbol := range count {
		if count[symbol] > 0 {
			out.WriteString("?" + symbol)
		}
	}
	if charge != 0 {
		fmt.Fprintf(&out, "%+d", charge)
	}
	return out.String()
}

// tally are the bonds of each order, and how many bonds and atoms are in rings.
func tally(m *Molecule) string {
	var orders [6]int
	bonds, atoms := 0, 0
	for _, b := range m.Bonds {
		orders[b.Order]++
		if b.Ring {
			bonds++
		}
	}
	for _, a := range m.Atoms {
		if a.Ring {
			atoms++
		}
	}
	return fmt.Sprintf("%v %d/%d", orders[1:], bonds, atoms)
}

// TestMolecules: known molecules have their sum formula, atoms, bonds by order (single, double, triple,
// quadruple, aromatic) and bonds and atoms in rings.
func TestMolecules(t *testing.T) {
	for _, c := range []struct {
		text, formula string
		atoms         int
		bonds         string
	}{
		{"C", "CH4", 1, "[0 0 0 0 0] 0/0"},
		{"CCO", "C2H6O", 3, "[2 0 0 0 0] 0/0"},
		{"C#N", "CHN", 2, "[0 0 1 0 0] 0/0"},
		{"CC(=O)Oc1ccccc1C(=O)O", "C9H8O4", 13, "[5 2 0 0 6] 6/6"},             // aspirin
		{"CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "C8H10N4O2", 14, "[11 4 0 0 0] 10/9"}, // caffeine
		{"c1ccc2ccccc2c1", "C10H8", 10, "[0 0 0 0 11] 11/10"},                  // naphthalene
		{"c1ccccc1c1ccccc1", "C12H10", 12, "[1 0 0 0 12] 12/12"},               // biphenyl, a number used twice
		{"c1ccccc1-c2ccccc2", "C12H10", 12, "[1 0 0 0 12] 12/12"},
		{"c1ccncc1", "C5H5N", 6, "[0 0 0 0 6] 6/6"},
		{"c1cc[nH]c1", "C4H5N", 5, "[0 0 0 0 5] 5/5"},
		{"Cn1cccc1", "C5H7N", 6, "[1 0 0 0 5] 5/5"},
		{"c1ccoc1", "C4H4O", 5, "[0 0 0 0 5] 5/5"},
		{"c1ccsc1", "C4H4S", 5, "[0 0 0 0 5] 5/5"},
		{"c1cc[se]c1", "C4H4Se", 5, "[0 0 0 0 5] 5/5"},
		{"O=c1cc[nH]cc1", "C5H5NO", 7, "[0 1 0 0 6] 6/6"},
		{"[Na+].[O-]c1ccccc1", "C6H5NaO", 8, "[1 0 0 0 6] 6/6"}, // sodium phenoxide
		{"C1.C1", "C2H6", 2, "[1 0 0 0 0] 0/0"},                 // ethane, by a ring closure across a dot
		{"C%25CCCCC%25", "C6H12", 6, "[6 0 0 0 0] 6/6"},
		{"C=1CCCCC=1", "C6H10", 6, "[5 1 0 0 0] 6/6"},
		{"C=1CCCCC1", "C6H10", 6, "[5 1 0 0 0] 6/6"},
		{"C1CCCCC=1", "C6H10", 6, "[5 1 0 0 0] 6/6"},
		{"C0CC0", "C3H6", 3, "[3 0 0 0 0] 3/3"},
		{"C12(CCCCC1)CCCCC2", "C11H20", 11, "[12 0 0 0 0] 12/11"}, // two rings with an atom in common
		{"F/C=C/F", "C2H2F2", 4, "[2 1 0 0 0] 0/0"},
		{`F/C=C\F`, "C2H2F2", 4, "[2 1 0 0 0] 0/0"},
		{"N[C@@H](C)C(=O)O", "C3H7NO2", 6, "[4 1 0 0 0] 0/0"}, // alanine
		{"S(=O)(=O)(O)O", "H2O4S", 5, "[2 2 0 0 0] 0/0"},
		{"CS(C)=O", "C2H6OS", 4, "[2 1 0 0 0] 0/0"},
		{"OP(=O)(O)O", "H3O4P", 5, "[3 1 0 0 0] 0/0"},
		{"CN(=O)=O", "CH3NO2", 4, "[1 2 0 0 0] 0/0"}, // nitrogen of valence 5
		{"C[N+](=O)[O-]", "CH3NO2", 4, "[2 1 0 0 0] 0/0"},
		{"[H]C([H])([H])[H]", "CH4", 1, "[0 0 0 0 0] 0/0"},
		{"[H][H]", "H2", 2, "[1 0 0 0 0] 0/0"},
		{"[2H]C", "CH4", 2, "[1 0 0 0 0] 0/0"},
		{"[13CH4]", "CH4", 1, "[0 0 0 0 0] 0/0"},
		{"[NH4+]", "H4N+1", 1, "[0 0 0 0 0] 0/0"},
		{"[Cu++]", "Cu+2", 1, "[0 0 0 0 0] 0/0"},
		{"[Fe+3]", "Fe+3", 1, "[0 0 0 0 0] 0/0"},
		{"[PbH2--]", "H2Pb-2", 1, "[0 0 0 0 0] 0/0"},
		{"[Co@OH12H-3:007]", "HCo-3", 1, "[0 0 0 0 0] 0/0"},
		{"[C]$[C]", "C2", 2, "[0 0 0 1 0] 0/0"},
		{"*C", "CH3*", 2, "[1 0 0 0 0] 0/0"},
		{"C1:C:C:C:C:C1", "C6H12", 6, "[1 0 0 0 5] 6/6"}, // what is stated is taken
		{"BrBr", "Br2", 2, "[1 0 0 0 0] 0/0"},
		{"ClB(Cl)I", "BCl2I", 4, "[3 0 0 0 0] 0/0"},
		{"C(F)(Cl)(=C(C)C)", "C4H6ClF", 6, "[4 1 0 0 0] 0/0"},
		{"C(.O)C", "C2H8O", 3, "[1 0 0 0 0] 0/0"}, // ethane and water
	} {
		m, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := formula(m); got != c.formula || len(m.Atoms) != c.atoms || tally(m) != c.bonds {
			t.Errorf("%s: %s, %d atoms, %s, expected %s, %d, %s", c.text, got, len(m.Atoms), tally(m), c.formula, c.atoms, c.bonds)
		}
	}
}

// TestAtoms: what an atom says of itself.
func TestAtoms(t *testing.T) {
	for text, want := range map[string]string{
		"[13C@@H-]":    "C 13 -1 H1 stereo",
		"[C@]":         "C 0 +0 H0 stereo",
		"[C@TH1]":      "C 0 +0 H0 stereo",
		"[C@SP3H2+15]": "C 0 +15 H2 stereo",
		"[OH3+]":       "O 0 +1 H3",
		"[999U]":       "U 999 +0 H0",
		"[H+]":         "H 0 +1 H0",
		"[Sc]":         "Sc 0 +0 H0",
		"[*H0]":        "* 0 +0 H0",
	} {
		m, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		a := m.Atoms[0]
		got := fmt.Sprintf("%s %d %+d H%d", a.Element, a.Isotope, a.Charge, a.Hydrogens)
		if a.Stereo {
			got += " stereo"
		}
		if got != want {
			t.Errorf("%s: %s, expected %s", text, got, want)
		}
	}
}

// TestFolded: bonds are between the atoms that are left.
func TestFolded(t *testing.T) {
	m, err := Parse("[H]OC([H])=[O+][H]")
	if err != nil || fmt.Sprint(m.Bonds) != "[{0 1 1 false} {1 2 2 false}]" || formula(m) != "CH3O2+1" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestRefused: what is no molecule is named with its place.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                "sign 1: expected an atom, found the end",
		"CX":              "sign 2: expected an atom, such as C, c or [Na+], found 'X'",
		"Cé":              "sign 2: expected an atom, such as C, c or [Na+], found 'é'",
		"C\xff":           "sign 2: expected an atom, such as C, c or [Na+], found '�'",
		"C C":             "sign 2: expected an atom, such as C, c or [Na+], found ' '",
		"C=":              "sign 3: expected an atom, found the end",
		"C==C":            "sign 3: expected an atom, such as C, c or [Na+], found '='",
		"C=(C)":           "sign 3: expected an atom, such as C, c or [Na+], found '('",
		"C(=)C":           "sign 4: expected an atom, such as C, c or [Na+], found ')'",
		"C=.C":            "sign 3: expected an atom, such as C, c or [Na+], found '.'",
		"=C":              "sign 1: expected an atom, found '='",
		"C.":              "sign 3: expected an atom, found the end",
		"C..C":            "sign 3: expected an atom, found '.'",
		".C":              "sign 1: expected an atom, found '.'",
		"C.=C":            "sign 3: expected an atom, found '='",
		"(C)C":            "sign 1: expected an atom, found '('",
		"C()C":            "sign 3: expected an atom, found ')'",
		"C((C))C":         "sign 3: expected an atom, found '('",
		"C(C":             "sign 2: expected a ) that closes the branch, found none",
		"C)C":             "sign 2: expected a ( before it, found ')'",
		"C(C.)C":          "sign 5: expected an atom, found ')'",
		"C(.":             "sign 4: expected an atom, found the end",
		"1CC1":            "sign 1: expected an atom, found '1'",
		"C(1CC1)":         "sign 3: expected an atom, found '1'",
		"C(C)1CC1":        "sign 5: expected an atom, found '1'",
		"C(=1CC1)":        "sign 4: expected an atom, found '1'",
		"C.1CC1":          "sign 3: expected an atom, found '1'",
		"C1CC":            "sign 2: expected ring closure 1 twice, found it once",
		"C%5C":            "sign 4: expected a digit of a ring closure, two behind %, found 'C'",
		"C11":             "sign 3: expected ring closure 1 at two atoms, found both at one",
		"C1C1":            "sign 4: expected one bond between two atoms, found two",
		"C12CCCCC12":      "sign 10: expected one bond between two atoms, found two",
		"C=1CCCCC#1":      "sign 10: expected the bond that ring closure 1 has at sign 3, found another one",
		"[C":              "sign 3: expected a ] that ends the atom, found the end",
		"[]":              "sign 2: expected the symbol of an element, found ']'",
		"[Qq]":            "sign 2: expected the symbol of an element, found 'Q'",
		"[Cx]":            "sign 3: expected a ] that ends the atom, found 'x'",
		"[1234C]":         "sign 5: expected an isotope of at most 3 digits, found '4'",
		"[C@TH3]":         "sign 6: expected a chirality from 1 to 2, found '3'",
		"[C@TB123]":       "sign 8: expected a chirality of at most 2 digits, found '3'",
		"[C+16]":          "sign 5: expected a charge up to 15, found '6'",
		"[C+++]":          "sign 5: expected a ] that ends the atom, found '+'",
		"[CH10]":          "sign 5: expected a ] that ends the atom, found '0'",
		"[HH]":            "sign 3: expected no hydrogen of a hydrogen, found 'H'",
		"[C:]":            "sign 4: expected a number, the class of the atom, found ']'",
		"Cc":              "sign 2: expected an aromatic atom in a ring, found it outside of any",
		"CC[N+":           "sign 6: expected a ] that ends the atom, found the end",
		"C]":              "sign 2: expected an atom, such as C, c or [Na+], found ']'",
		"K":               "sign 1: expected an atom, such as C, c or [Na+], found 'K'",
		"C%(100)CC%(100)": "sign 3: expected a digit of a ring closure, two behind %, found '('",
	} {
		if m, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: %+v, %v, expected %s", text, m, err, want)
		}
	}
}

// TestDeep: a text of many brackets and a long ring take no stack.
func TestDeep(t *testing.T) {
	const n = 200_000
	m, err := Parse(strings.Repeat("C(", n) + "C" + strings.Repeat(")", n))
	if err != nil || len(m.Atoms) != n+1 || len(m.Bonds) != n {
		t.Errorf("%d atoms, %v", len(m.Atoms), err)
	}
	m, err = Parse("C1" + strings.Repeat("C", n) + "C1")
	if err != nil || len(m.Bonds) != n+2 || !m.Bonds[n/2].Ring || !m.Atoms[n/2].Ring {
		t.Errorf("%v", err)
	}
}

// FuzzParse: whatever is read as a molecule has bonds among its atoms, and no atom that is bound twice to
// another one.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"CC(=O)Oc1ccccc1C(=O)O", "[13C@@H-]1C%12.C1=C%12", "[H]C([H])[2H]", "F/C=C/F", "c1cc[nH]c1", "C(((", "[Co@OH12H-3:7]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		defer testenv.FuzzLimits(t, 64<<20+2000*len(text))()
		m, err := Parse(text)
		if err != nil {
			return
		}
		if len(m.Atoms) == 0 {
			t.Errorf("%q has no atoms", text)
		}
		seen := map[[2]int32]bool{}
		for _, b := range m.Bonds {
			pair := [2]int32{min(b.A, b.B), max(b.A, b.B)}
			if b.A == b.B || pair[0] < 0 || int(pair[1]) >= len(m.Atoms) || b.Order < Single || b.Order > Aromatic || seen[pair] {
				t.Errorf("%q: bond %+v of %d atoms", text, b, len(m.Atoms))
			}
			seen[pair] = true
			if b.Ring && !(m.Atoms[b.A].Ring && m.Atoms[b.B].Ring) {
				t.Errorf("%q: bond %+v is in a ring, and an atom of it is not", text, b)
			}
		}
		for _, a := range m.Atoms {
			if a.Element == "" || a.Hydrogens < 0 || a.Aromatic && !a.Ring {
				t.Errorf("%q: atom %+v", text, a)
			}
		}
	})
}
