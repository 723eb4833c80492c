package graph

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/graphlines"
	"github.com/sftseq/sftseq/internal/molecule"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// molecular are the options of the command with molecules in a file with a name.
func molecular(t testing.TB, name, text string) Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	o := usual(path)
	o.SMILES = "smiles"
	return o
}

// examples are the rows for training, with their ids.
func examples(t *testing.T, d *seq.Dataset) (*seq.Spec, []seq.Example) {
	t.Helper()
	r, err := d.Reader("train")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]seq.Example, rows.Len())
	for i := range out {
		out[i] = rows.Example(i)
	}
	return r.Spec(), out
}

// TestMolecules: atoms are nodes with their features, bonds edges in both directions, and what cannot
// be used is left out with its reason.
func TestMolecules(t *testing.T) {
	o := molecular(t, "x.csv", "smiles,tpsa,key\nC=O,17.07,f\nCX,1,x\nC,?,y\n,1,z\nc1cc[nH]c1,15.79,p\nC,,w\n[O-][C@@H](F)[Hg+],1,q\n")
	o.Numbers, o.ID = []string{"tpsa"}, "key"
	d, left, err := Convert(t.Context(), filepath.Join(t.TempDir(), "data"), o)
	if err != nil {
		t.Fatal(err)
	}
	spec, rows := examples(t, d)
	if len(rows) != 3 || fmt.Sprint(spec.FeatureNames) != fmt.Sprint(molecule.AtomFeatureNames) || fmt.Sprint(spec.EdgeFeatureNames) != fmt.Sprint(molecule.BondFeatureNames) {
		t.Fatalf("%d rows, %+v", len(rows), spec)
	}
	const elements = "0 0 0 0 0 0 0 0 0 0 " // from S on
	want := "[[1 0 0 " + elements + "1 0 2 0 0 0] [0 0 1 " + elements + "1 0 0 0 0 0]] [{0 1 [0 1 0 0 0 0]} {1 0 [0 1 0 0 0 0]}] [17.07] f"
	if got := fmt.Sprint(rows[0].Features, rows[0].Edges, rows[0].Numbers, " ", rows[0].ID); got != want {
		t.Errorf("formaldehyde is\n%s, expected\n%s", got, want)
	}
	if got, want := fmt.Sprint(rows[1].Features[3]), "[0 1 0 "+elements+"2 0 1 1 1 0]"; got != want || len(rows[1].Edges) != 10 || fmt.Sprint(rows[1].Edges[9].Features) != "[0 0 0 0 1 1]" {
		t.Errorf("pyrrole's nitrogen is %s, expected %s; edges %v", got, want, rows[1].Edges)
	}
	if got, want := fmt.Sprint(rows[2].Features), "[[0 0 1 "+elements+"1 -1 0 0 0 0] [1 0 0 "+elements+"3 0 1 0 0 1] [0 0 0 0 0 1 0 0 0 0 0 0 0 1 0 0 0 0 0] [0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 0 0 0 0]]"; got != want {
		t.Errorf("the third is\n%s, expected\n%s", got, want)
	}
	for _, want := range []string{"1 of 7 rows left out: no molecule in SMILES\n", "x.csv:3: column smiles: sign 2: expected an atom, such as C, c or [Na+], found 'X'",
		"1 of 7 rows left out: no finite number\n", "1 of 7 rows left out: no molecule\n", "1 of 7 rows left out: no number\n"} {
		if !strings.Contains(left.String(), want) {
			t.Errorf("left out are\n%s, expected\n%s", left, want)
		}
	}
	o.Strict = true
	if _, _, err := Convert(t.Context(), t.TempDir(), o); err == nil || !strings.Contains(err.Error(), "x.csv:3: no molecule in SMILES: column smiles: sign 2") {
		t.Errorf("strict: %v", err)
	}
}

// TestMolecularClasses: classes of several kinds of tables, their splits and ids.
func TestMolecularClasses(t *testing.T) {
	for name, text := range map[string]string{
		"x.tsv":   "smiles\tlabel\tpart\nCC\tyes\ttrain\nCO\tno\tdev\nCN\t\ttest\n",
		"x.jsonl": `{"smiles":"CC","label":"yes","part":"train"}` + "\n" + `{"smiles":"CO","label":"no","part":"val"}` + "\n" + `{"smiles":"CN","part":"val"}`,
	} {
		o := molecular(t, name, text)
		o.SplitField = "part"
		d, left, err := Convert(t.Context(), filepath.Join(t.TempDir(), "data"), o)
		if err != nil || d.Manifest.Splits["train"].Rows != 1 || d.Manifest.Splits["val"].Rows != 1 || fmt.Sprint(d.Manifest.LabelNames) != "[no yes]" || left.Left() != 1 {
			t.Errorf("%s: %+v, %v, %v", name, d, left, err)
		}
	}
	o := molecular(t, "x.smi", "CC ethane\nC\tno name\nN\n")
	o.Label = "name"
	d, left, err := Convert(t.Context(), filepath.Join(t.TempDir(), "data"), o)
	if err != nil || left.Left() != 1 || d.Manifest.Splits["train"].Rows != 2 {
		t.Fatalf("%v, %v", left, err)
	}
	if _, rows := examples(t, d); rows[1].ID != "no name" || rows[1].Label != 1 {
		t.Errorf("%+v", rows[1])
	}
	for text, want := range map[string]string{
		"smiles,label\nX,a\n":          "no row of 1 can be used",
		"smiles\nC\n":                  `column "label": expected one of ["smiles"]`,
		"smiles,label\n":               "expected a graph a line, found none",
		"smiles,label,part\nC,a,huh\n": "x.csv:2: part: expected train, val or test",
	} {
		o := molecular(t, "x.csv", text)
		if strings.Contains(text, "part") {
			o.SplitField = "part"
		}
		dir := filepath.Join(t.TempDir(), "data")
		if _, _, err := Convert(t.Context(), dir, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %s", text, err, want)
		}
		if _, err := os.Stat(filepath.Join(dir, seq.ManifestName)); err == nil {
			t.Errorf("%q: a data set is there", text)
		}
	}
}

// TestMolecularLabels: the first label says whether molecules have a class or any number of labels,
// which are lists, or texts that are split; one that is missing leaves its row out, a list of none does not.
func TestMolecularLabels(t *testing.T) {
	rows := func(name, text, separator string) (*seq.Spec, []seq.Example, *source.Skipped) {
		o := molecular(t, name, text)
		o.LabelSeparator = separator
		d, left, err := Convert(t.Context(), filepath.Join(t.TempDir(), "data"), o)
		if err != nil {
			t.Fatal(err)
		}
		spec, rows := examples(t, d)
		return spec, rows, left
	}
	spec, got, left := rows("x.jsonl", `{"smiles":"C","label":["toxic","acid"]}
{"smiles":"CC","label":[]}
{"smiles":"CN"}
{"smiles":"CO","label":"toxic"}
`, "")
	if spec.Task != seq.MultiLabel || fmt.Sprint(spec.LabelNames) != "[acid toxic]" || left.Left() != 1 ||
		len(got) != 3 || fmt.Sprint(got[0].Labels, got[1].Labels, got[1].Labels == nil, got[2].Labels) != "[0 1] [] false [1]" {
		t.Errorf("%+v, %+v, %s", spec, got, left)
	}
	spec, got, _ = rows("x.csv", "smiles,label\nC,toxic; acid\nCC,;\nCO,acid\n", ";")
	if spec.Task != seq.MultiLabel || len(got) != 3 || fmt.Sprint(got[0].Labels, got[1].Labels, got[2].Labels) != "[0 1] [] [0]" {
		t.Errorf("%+v, %+v", spec, got)
	}
	spec, got, left = rows("x.jsonl", `{"smiles":"C","label":"toxic"}`+"\n"+`{"smiles":"CC","label":["toxic"]}`+"\n", "")
	if spec.Task != seq.Classification || len(got) != 1 || !strings.Contains(left.String(), "a list of labels") {
		t.Errorf("%+v, %+v, %s", spec, got, left)
	}
}

// FuzzMolecules: whatever rows of a table are molecules fit into a data set, with their random walks.
func FuzzMolecules(f *testing.F) {
	f.Add("smiles,label\nCC(=O)O,acid\nC1CC1,ring\n", uint8(3))
	f.Add("smiles,label\n[H]C,a\n\"C\nC\",b\n", uint8(0))
	f.Add("smiles,label,smiles\nC,a,C\n", uint8(1))
	path := filepath.Join(f.TempDir(), "x.csv")
	f.Fuzz(func(t *testing.T, text string, steps uint8) {
		defer testenv.FuzzLimits(t, 64<<20+40_000*len(text))()
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		o := usual(path)
		o.SMILES, o.RandomWalk = "smiles", int(steps%8)
		s, err := survey(t.Context(), &o)
		if err != nil {
			return
		}
		err = o.rows(source.NewSkipped()).Each(t.Context(), func(x *graphlines.Row) error {
			if !x.Number(s.spec.Task, s.labels) {
				return errChanged
			}
			if err := graphlines.AppendWalk(t.Context(), x.Features, x.Edges, o.RandomWalk); err != nil {
				return err
			}
			return seq.NewBlock(&s.spec).Append(x.Example)
		})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
