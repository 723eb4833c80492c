package convert

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// idsOf returns the ids of a split's rows.
func idsOf(t *testing.T, d *seq.Dataset, split string) (ids []string) {
	t.Helper()
	path := must.Get(d.Path(split))(t)
	r := must.Get(seq.Open(path))(t)
	defer r.Close()
	for {
		rows, err := r.Next()
		if err == io.EOF {
			return ids
		}
		must.Succeed(t, err)
		for i := range rows.Len() {
			ids = append(ids, rows.ID(i))
		}
	}
}

// TestIDs checks that the id of a row is the value of its id column, otherwise the name of its
// record or file, otherwise its location. Skipped rows must not shift the ids of later rows.
func TestIDs(t *testing.T) {
	csv := writeFile(t, "a.csv", "key,label,text\nk1,x,one\nk2,x,\n,y,\"mul\nti\"\nk4,x,four\n")
	other := writeFile(t, "b.jsonl",
		"{\"text\":\"five\",\"label\":\"x\",\"key\":7}\n{\"text\":\"six\",\"label\":\"x\"}\n")
	fasta := writeFile(t, "c.fa", ">s1 first\nAC\n>s2\nGT\n>\nGG\n")
	sounds := t.TempDir()
	for _, name := range []string{"dog/1.wav", "cat/1.wav", "cat/2\xff.wav"} {
		os.MkdirAll(filepath.Join(sounds, filepath.Dir(name)), 0o777)
		os.WriteFile(filepath.Join(sounds, name), []byte(name), 0o666)
	}
	within := []string{"cat/1.wav", "cat/2\uFFFD.wav", "dog/1.wav"}
	for _, c := range []struct {
		name   string
		change func(o *Options)
		from   []string
		want   []string
	}{
		{"locations", func(*Options) {}, []string{csv, other}, []string{"a.csv:2", "a.csv:4", "a.csv:6",
			"b.jsonl:1", "b.jsonl:2"}},
		{"id column", func(o *Options) { o.ID = "key" }, []string{csv, other},
			[]string{"k1", "a.csv:4", "k4", "7", "b.jsonl:2"}},
		{"id column is the label", func(o *Options) { o.ID = "label" }, []string{csv}, []string{"x", "y", "x"}},
		{"split column", func(o *Options) { o.ID, o.SplitColumn, o.Label = "key", "label", "" },
			[]string{other}, []string{"7", "b.jsonl:2"}},
		{"pair", func(o *Options) { o.ID, o.Pair, o.Text = "key", []string{"text", "text"}, "" }, []string{csv},
			[]string{"k1", "a.csv:4", "k4"}},
		{"the same file twice", func(*Options) {}, []string{other, other},
			[]string{other + ":1", other + ":2", other + ":1", other + ":2"}},
		{"FASTA", func(o *Options) { o.Text, o.Label = "sequence", "" }, []string{fasta},
			[]string{"s1", "s2", "c.fa:5"}},
		{"Parquet", func(o *Options) { o.Label, o.MaxLength = "", 5 },
			[]string{"../table/testdata/others/polars-zstd.parquet"},
			[]string{"polars-zstd.parquet:1", "polars-zstd.parquet:9", "polars-zstd.parquet:17"}},
		{"a folder", func(o *Options) { o.Text, o.Label = "content", "class" }, []string{sounds},
			[]string{"cat/1.wav", "cat/2\uFFFD.wav", "dog/1.wav"}},
		{"folders within each other", func(o *Options) { o.Text, o.Label = "content", "" },
			[]string{sounds, sounds + "/cat", sounds + "/dog"}, append(within, within...)},
		{"two folders", func(o *Options) { o.Text, o.Label = "content", "" },
			[]string{sounds + "/cat", sounds + "/dog"}, []string{"cat/1.wav", "cat/2\uFFFD.wav", "dog/1.wav"}},
	} {
		o := textOptions(t, c.from...)
		c.change(&o)
		split := "train"
		if o.SplitColumn != "" {
			split = "x"
		}
		d, _ := mustConvert(t, o)
		if got := idsOf(t, d, split); !slices.Equal(got, c.want) {
			t.Errorf("%s: got ids %q, want %q", c.name, got, c.want)
		}
	}
}

// TestIDsOfLateLabels checks that rows keep their ids if a label that occurs only in late rows changes the
// numbers of the labels, so that the conversion writes the files again.
func TestIDsOfLateLabels(t *testing.T) {
	var text strings.Builder
	text.WriteString("text,label,key\n")
	var want []string
	for i := range 20000 {
		fmt.Fprintf(&text, "a text of some bytes %d,%d,k%d\n", i, 100-i/19000, i)
		want = append(want, fmt.Sprintf("k%d", i))
	}
	o := textOptions(t, writeFile(t, "a.csv", text.String()))
	o.ID, o.head = "key", 1
	d, skipped := mustConvert(t, o)
	if got := idsOf(t, d, "train"); !slices.Equal(got, want) ||
		!slices.Equal(d.Manifest.LabelNames, []string{"99", "100"}) {
		t.Errorf("got %d ids and labels %q, want k0 to k19999 and 99, 100", len(got), d.Manifest.LabelNames)
	}
	if skipped.SameID.Rows != 0 {
		t.Errorf("got %d duplicate ids, want 0", skipped.SameID.Rows)
	}
}

// TestSameIDs checks that rows with duplicate ids are kept and are counted with their locations,
// and that locations used as ids do not count as duplicates. An unknown id column must be an error.
func TestSameIDs(t *testing.T) {
	from := writeFile(t, "a.csv", "key,label,text\nk,x,one\nj,x,two\nk,x,three\n,x,four\n,x,five\nk,x,\nk,x,six\n")
	o := textOptions(t, from)
	o.ID = "key"
	d, skipped := mustConvert(t, o)
	want := "2 of 7 rows repeat the id of an earlier row, and are kept: their ids are not unique\n  " +
		from + ":4\n  " + from + ":8\n"
	if got := skipped.String(); !strings.Contains(got, want) {
		t.Errorf("got report %s, want %s in it", got, want)
	}
	if got := idsOf(t, d, "train"); !slices.Equal(got, []string{"k", "j", "k", "a.csv:5", "a.csv:6", "k"}) {
		t.Errorf("got ids %q, want k, j, k, a.csv:5, a.csv:6, k", got)
	}
	o = textOptions(t, from)
	o.ID = "absent"
	must.Fail(t, `column "absent": expected one of`)(Convert(context.Background(), o))
}
