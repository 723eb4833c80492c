package table

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestSMILES: a line has a molecule, and behind white space its name.
func TestSMILES(t *testing.T) {
	text := "\xef\xbb\xbfCC ethane\n\n \tCCO\t ethyl alcohol \r\nC\n\xff\n" + strings.Repeat("C", 300) + "\nO water"
	want := []string{"1: ethane|CC", "3: ethyl alcohol|CCO", "4: ∅|C", "5! not UTF-8", "6! the line has more than 200 bytes", "7: water|O"}
	for _, name := range []string{"x.smi", "x.smiles"} {
		got, err := read(file(t, name, text), Options{Columns: []string{"name", "smiles"}, MaxField: 200})
		if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	r := must.Get(Open(t.Context(), file(t, "x.smi", text), Options{Columns: []string{"smiles"}}))(t)
	defer r.Close()
	var row Row
	if err := r.Next(&row); err != nil || row.Name != "ethane" {
		t.Errorf("the row is called %q, %v", row.Name, err)
	}
	if n := len("CC ethane"); row.Size() != n {
		t.Errorf("the row has %d bytes, expected %d: its values share the memory of the line", row.Size(), n)
	}
	must.Fail(t, `column "tpsa": expected one of ["smiles" "name"]`)(Open(t.Context(), file(t, "x.smi", text), Options{Columns: []string{"tpsa"}}))
}
