package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// describe formats the formula of a molecule with sorted elements, its charge, the numbers of
// bonds by order, and the numbers of bonds and atoms in rings.
func describe(m *molecule) string {
	count, charge := map[string]int{}, 0
	var orders [aromatic]int
	bonds, atoms := 0, 0
	for _, a := range m.atoms {
		count[a.element]++
		if count["H"] += a.hydrogens; count["H"] == 0 {
			delete(count, "H")
		}
		charge += a.charge
		atoms += indicator(a.ring)
	}
	for _, b := range m.bonds {
		orders[b.order-1]++
		bonds += indicator(b.ring)
	}
	text := ""
	for _, symbol := range slices.Sorted(maps.Keys(count)) {
		text += fmt.Sprint(symbol, count[symbol])
	}
	return fmt.Sprintf("%s%+d %v %d/%d", text, charge, orders, bonds, atoms)
}

// TestParse checks the formula, bonds and rings of known molecules.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"C":                            "C1H4+0 [0 0 0 0 0] 0/0",
		"C#N":                          "C1H1N1+0 [0 0 1 0 0] 0/0",
		"CC(=O)Oc1ccccc1C(=O)O":        "C9H8O4+0 [5 2 0 0 6] 6/6",      // aspirin
		"CN1C=NC2=C1C(=O)N(C(=O)N2C)C": "C8H10N4O2+0 [11 4 0 0 0] 10/9", // caffeine
		"c1ccc2ccccc2c1":               "C10H8+0 [0 0 0 0 11] 11/10",    // naphthalene
		"c1ccccc1c1ccccc1":             "C12H10+0 [1 0 0 0 12] 12/12",   // biphenyl, with one ring number used twice
		"c1cc[nH]c1":                   "C4H5N1+0 [0 0 0 0 5] 5/5",
		"Cn1cccc1":                     "C5H7N1+0 [1 0 0 0 5] 5/5",
		"c1cc[se]c1":                   "C4H4Se1+0 [0 0 0 0 5] 5/5",
		"[Na+].[O-]c1ccccc1":           "C6H5Na1O1+0 [1 0 0 0 6] 6/6",
		"C1.C1":                        "C2H6+0 [1 0 0 0 0] 0/0", // ethane, with a ring closure across a dot
		"C%25CCCCC%25":                 "C6H12+0 [6 0 0 0 0] 6/6",
		"C=1CCCCC1":                    "C6H10+0 [5 1 0 0 0] 6/6",
		"C1CCCCC=1":                    "C6H10+0 [5 1 0 0 0] 6/6",
		"C12(CCCCC1)CCCCC2":            "C11H20+0 [12 0 0 0 0] 12/11", // two rings that share an atom
		`F/C=C\F`:                      "C2F2H2+0 [2 1 0 0 0] 0/0",
		"N[C@@H](C)C(=O)O":             "C3H7N1O2+0 [4 1 0 0 0] 0/0", // alanine
		"S(=O)(=O)(O)O":                "H2O4S1+0 [2 2 0 0 0] 0/0",
		"CN(=O)=O":                     "C1H3N1O2+0 [1 2 0 0 0] 0/0", // nitrogen of valence 5
		"C[N+](=O)[O-]":                "C1H3N1O2+0 [2 1 0 0 0] 0/0",
		"[13CH4]":                      "C1H4+0 [0 0 0 0 0] 0/0",
		"[Cu++]":                       "Cu1+2 [0 0 0 0 0] 0/0",
		"[PbH2--]":                     "H2Pb1-2 [0 0 0 0 0] 0/0",
		"[Co@OH12H-3:007]":             "Co1H1-3 [0 0 0 0 0] 0/0",
		"[C]$[C]":                      "C2+0 [0 0 0 1 0] 0/0",
		"C1:C:C:C:C:C1":                "C6H12+0 [1 0 0 0 5] 6/6", // explicit bonds are kept
		"C(F)(Cl)(=C(C)C)":             "C4Cl1F1H6+0 [4 1 0 0 0] 0/0",
	} {
		if m, err := parse(text); err != nil || describe(m) != want {
			t.Errorf("%s: %+v, %v, expected %s", text, m, err, want)
		}
	}
}

// TestRefused checks that parse returns an error for malformed SMILES.
func TestRefused(t *testing.T) {
	for _, text := range []string{"", "CX", "Cé", "C C", "C=", "C==C", "C=(C)", "C(=)C", "=C", "C.", ".C", "(C)C",
		"C()C", "C((C))C", "C(C", "C)C", "1CC1", "C(1CC1)",
		"C(C)1CC1", "C1CC", "C%5C", "C11", "C1C1", "C12CCCCC12", "C=1CCCCC#1", "[C", "[]", "[Qq]", "[1234C]", "[C+++]",
		"[CH10]", "[C:]", "Cc", "C]", "K"} {
		if m, err := parse(text); err == nil {
			t.Errorf("%q: %+v, expected an error", text, m)
		}
	}
}

// TestConvert checks that rows have features, edges in both directions and the surface area.
// Malformed molecules are reported.
func TestConvert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte("# a comment\nC=[O+],1.50\nC(C,2\n[Fe]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	if err := convert(path, &out, &log); err != nil {
		t.Fatal(err)
	}
	want := `{"id":"a.csv:2","features":[[1,0,0,0,0,0,0,0,0,0,0,0,0,1,0,2,0,0,0],[0,0,1,0,0,0,0,0,0,0,0,0,0,1,1,0,0,0,0]],"edges":[[0,1,0,1,0,0,0,0],[1,0,0,1,0,0,0,0]],"tpsa":1.50}
{"id":"a.csv:4","features":[[0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0]],"edges":[]}
`
	if out.String() != want || !strings.Contains(log.String(), "a.csv:3: left out: a branch is not closed") ||
		strings.Count(log.String(), "\n") != 1 {
		t.Errorf("rows:\n%slog:\n%sexpected rows:\n%sand a log of line 3 only", &out, &log, want)
	}
}
