package convert

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestFeatures checks that rows of features have labels, ids and splits like rows of text, and that
// unusable rows are counted with their locations.
func TestFeatures(t *testing.T) {
	path := writeFile(t, "a.jsonl", `{"key":"p","points":[[0,0,1],[1,2,3]],"class":"pear"}
{"key":"q","points":[[0,0,2]],"class":"apple"}
{"key":"r","points":[[0,0,null]],"class":"fig"}
{"key":"s","points":[[0,0]],"class":"pear"}
{"key":"t","points":[],"class":"pear"}
{"key":"u","class":"pear"}
{"key":"v","points":"x","class":"pear"}
{"key":"w","points":[[0,0,3]]}
{"key":"x","points":[[0,0,2]],"class":"pear"}
{"key":"y","points":[[1,1,1],[2,2,2],[3,3,3]],"class":"pear"}
`)
	o := textOptions(t, path)
	o.Text, o.Tokenizer, o.Features, o.FeatureNames, o.Label, o.ID, o.MaxLength = "", nil, "points",
		[]string{"x", "y", "z"}, "class", "key", 2
	d, skipped := mustConvert(t, o)
	if m := d.Manifest; !reflect.DeepEqual(m.LabelNames, []string{"apple", "pear"}) ||
		!reflect.DeepEqual(m.FeatureNames, o.FeatureNames) || m.VocabSize != 0 {
		t.Errorf(`got labels %q, features %q and vocabulary size %d; want ["apple" "pear"], %q and 0`, m.LabelNames,
			m.FeatureNames, m.VocabSize, o.FeatureNames)
	}
	r := must.Get(d.Reader("train"))(t)
	defer r.Close()
	rows, err := r.Next()
	if err != nil || rows.Len() != 3 {
		t.Fatalf("got %v and error %v, want 3 rows", rows, err)
	}
	if e := rows.Example(0); e.ID != "p" || e.Label != 1 ||
		!reflect.DeepEqual(e.Features, [][]float32{{0, 0, 1}, {1, 2, 3}}) {
		t.Errorf("row 0: got id %q, label %d and features %v; want p, 1 and [[0 0 1] [1 2 3]]", e.ID, e.Label,
			e.Features)
	}
	if e := rows.Example(2); e.ID != "x" || e.Label != 1 {
		t.Errorf("row 2: got id %q and label %d, want x and 1", e.ID, e.Label)
	}
	report := strings.ReplaceAll(skipped.String(), path, "a")
	const want = `1 of 10 rows left out: empty features
  a:5
1 of 10 rows left out: more than 2 tokens
  a:10: found 3
1 of 10 rows left out: no features
  a:6
1 of 10 rows left out: no label
  a:8
1 of 10 rows left out: no list of features
  a:7: found "x"
1 of 10 rows left out: the row cannot be read
  a:3: column points: index 0: number 2: expected a number, found null
1 of 10 rows left out: the row does not fit into a data set
  a:4: column features: index 0: expected 3 numbers, found 2
1 of 10 rows repeat the features of an earlier row, 1 of them with another label, and are kept
  a:9
`
	if report != want {
		t.Errorf("got report\n%s\nwant\n%s", report, want)
	}
	var lines []string
	for i := range 200 {
		lines = append(lines, `{"points":[[`+strings.Repeat("1", i%9+1)+`,`+strings.Repeat("2",
			i%13+1)+`,3]],"class":"a"}`)
	}
	o = textOptions(t, writeFile(t, "b.jsonl", strings.Join(lines, "\n")))
	o.Text, o.Tokenizer, o.Features, o.FeatureNames, o.Label, o.SplitFractions = "", nil, "points",
		[]string{"x", "y", "z"},
		"class", []SplitFraction{{Split: "train", Fraction: 0.5}, {Split: "val", Fraction: 0.5}}
	if d, _ := mustConvert(t, o); d.Manifest.Splits["val"].Rows < 50 || d.Manifest.Splits["train"].Rows < 50 {
		t.Errorf("got %+v, want at least 50 of 200 rows in each split", d.Manifest.Splits)
	}
}
