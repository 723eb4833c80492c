package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/source"
)

// TestAnomalies checks that a note counts the rows that may have been misinterpreted and locates the first
// such row, and that usual rows get no note.
func TestAnomalies(t *testing.T) {
	spans := func(o *Options) { o.Label, o.Spans = "", "s" }
	lists := func(o *Options) {
		o.Text, o.Label, o.Tokenizer, o.Tokens, o.Vocab = "", "", nil, "t", 300
	}
	series := func(o *Options) { o.Text, o.Label, o.Tokenizer, o.Series = "", "", nil, []string{"v"} }
	normals := func(o *Options) {
		o.Text, o.Label, o.Tokenizer, o.Features, o.FeatureNames = "", "", nil, "p",
			[]string{"x", "y", "z", "nx", "ny", "nz"}
	}
	for _, c := range []struct {
		name, rows string
		change     func(o *Options)
		want       string // "" means no note
	}{
		{"inclusive ends", `{"text":"Ann met Bob","s":[{"start":0,"end":2,"label":"P"}]}`, spans,
			"1 of 1 rows has a span that begins or ends within a word"},
		{"offsets from 1", `{"text":"Ann met Bob","s":[{"start":1,"end":3,"label":"P"}]}`, spans,
			"has a span that begins or ends within a word"},
		{"white space", `{"text":"Ann met Bob","s":[{"start":3,"end":8,"label":"P"}]}`, spans,
			"has a span that begins or ends within a word"},
		{"offsets in bytes", `{"text":"Zoë met Bob x","s":[{"start":9,"end":12,"label":"P"}]}`, spans,
			"has a span that begins or ends within a word"},
		{"whole words", `{"text":"Ann met Bob, 5kg","s":[{"start":8,"end":11,"label":"P"},{"start":14,"end":16,"label":"U"}]}`, spans, ""},
		{"script without spaces", `{"text":"東京都は","s":[{"start":0,"end":2,"label":"P"}]}`, spans, ""},
		{"equal text of the span", `{"text":"Ann  met Bob","s":[{"start":0,"end":8,"label":"P","text":"Ann met"}]}`,
			spans, ""},
		{"lost characters", `{"text":"caf�","label":"a"}`, nil, "1 of 1 rows has U+FFFD in its text"},
		{"file names", `{"text":"img/a 1.png","label":"a"}` + "\n" + `{"text":"a/2.png","label":"a"}` + "\n" +
			`{"text":"a/3.PNG","label":"b"}`, nil, "2 of 3 rows have a file name as their text"},
		{"a sentence", `{"text":"see a.png","label":"a"}` + "\n" + `{"text":"b.png","label":"a"}`, nil, ""},
		{"Python bytes literal", `{"text":"b'caf\\xc3'","label":"a"}`, nil,
			"1 of 1 rows has a Python bytes literal (b'x')"},
		{"padding", `{"t":[101,7,8,102,0,0,0]}` + "\n" + `{"t":[101,7,102,0,0,0,0]}`, lists,
			"2 of 2 rows of tokens end in a repeated token, and all have the same length"},
		{"repeated tokens without padding", `{"t":[101,7,8,102,0,0,0]}` + "\n" + `{"t":[101,7,102]}`, lists, ""},
		{"timestamps", `{"v":[1700000000,1700000001,1700000002]}`, series,
			"1 of 1 rows has large numbers whose differences are too small for float32"},
		{"small steps", `{"v":[101325.01,101325.02]}`, series, "has large numbers whose differences are too small " +
			"for float32"},
		{"a constant", `{"v":[5,5,5]}`, series, ""},
		{"usual numbers", `{"v":[101325,101425,99000.5]}`, series, ""},
		{"a missing number", `{"v":[1,2,-9999]}`, series,
			"1 of 1 rows has numbers that often mark a missing value"},
		{"a large number", `{"v":[1,2,-9998]}`, series, ""},
		{"colours as normals", `{"p":[[1,2,3,10,20,30],[1,0,3,0,0,0]]}`, normals,
			"1 of 1 rows has normals (nx, ny, nz) whose length is not 1"},
		{"normals", `{"p":[[1,2,3,1,0,0],[1,0,3,0,0,0]]}`, normals, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{From: []string{writeLines(t, c.rows+"\n")}, To: filepath.Join(t.TempDir(), "d"),
				Text: "text", Label: "label",
				Tokenizer: []byte(`{"type":"byte"}`), SplitFractions: []SplitFraction{{Split: "train", Fraction: 1}}}
			if c.change != nil {
				c.change(&o)
			}
			_, skipped, err := Convert(t.Context(), o)
			must.Succeed(t, err)
			if got := skipped.String(); !strings.Contains(got, c.want) || (c.want == "") != (got == "") ||
				c.want != "" &&
					!strings.Contains(got, "; the first is "+o.From[0]+":") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestSpanText checks that a row is left out if the stated text of a span differs from the text at
// its positions.
func TestSpanText(t *testing.T) {
	from := writeLines(t, `{"text":"Ann met Bob","s":[{"start":0,"end":3,"label":"P","text":"Bob"}]}`+"\n"+
		`{"text":"Ann met Bob","s":[{"start":8,"end":11,"label":"P","text":"Bob"}]}`+"\n")
	_, skipped, err := Convert(t.Context(), Options{From: []string{from}, To: filepath.Join(t.TempDir(), "d"),
		Text: "text", Spans: "s", Tokenizer: []byte(`{"type":"byte"}`),
		SplitFractions: []SplitFraction{{Split: "train", Fraction: 1}}})
	must.Succeed(t, err)
	var kind *source.SkippedKind
	if kind = skipped.Reasons["a span whose text differs"]; kind == nil || kind.Rows != 1 ||
		!strings.Contains(kind.Places[0], from+`:1: column s: 0 to 3 is "Ann", expected "Bob"`) {
		t.Errorf("got report %s, want only row 1 left out for its span", skipped)
	}
}

// TestIntervalBlocks checks that a note warns about the gaps between BED blocks.
func TestIntervalBlocks(t *testing.T) {
	dir := t.TempDir()
	fasta, bed := filepath.Join(dir, "g.fa"), filepath.Join(dir, "b.bed")
	must.Succeed(t, os.WriteFile(fasta, []byte(">a\nACGTACGTACGTACGT\n"), 0o666))
	for blocks, want := range map[string]string{"2\t2,2\t0,8": bed +
		": intervals with several blocks (columns 10 to 12): 1; the gaps", "1\t10\t0": ""} {
		must.Succeed(t, os.WriteFile(bed, fmt.Appendf(nil, "a\t0\t10\tg\t0\t+\t0\t10\t0\t%s\n", blocks), 0o666))
		_, skipped, err := Convert(t.Context(), Options{From: []string{fasta}, To: filepath.Join(dir, "d"),
			Text: "sequence", Intervals: bed, Tokenizer: []byte(`{"type":"dna"}`),
			SplitFractions: []SplitFraction{{Split: "train", Fraction: 1}}, Replace: true})
		must.Succeed(t, err)
		if got := skipped.String(); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", blocks, got, want)
		}
	}
}

// TestOtherTokens checks that a row is counted if a row with another text has the same tokens, and exactly
// one of the two rows is in train. The texts differ in case, which only the word tokenizer ignores.
func TestOtherTokens(t *testing.T) {
	rows := `{"text":"A","split":"val"}` + "\n" + `{"text":"a","split":"test"}` + "\n" +
		`{"text":"Good film","split":"train"}` + "\n" + `{"text":"good  FILM","split":"test"}` + "\n" +
		`{"text":"bad film","split":"train"}` + "\n" + `{"text":"BAD film","split":"train"}` + "\n"
	for tokenizer, want := range map[string]int64{`{"type":"words","vocab":9}`: 1, `{"type":"byte"}`: 0} {
		from := writeLines(t, strings.ReplaceAll(rows, "  ", " "))
		_, skipped, err := Convert(t.Context(), Options{From: []string{from}, To: filepath.Join(t.TempDir(), "d"),
			Text: "text", SplitColumn: "split", Tokenizer: []byte(tokenizer)})
		must.Succeed(t, err)
		if skipped.OtherTokens.Rows != want || want > 0 && (skipped.OtherTokens.Places[0] != from+":4" ||
			!strings.Contains(skipped.String(), "1 of 6 rows have the same tokens as a row in another split")) {
			t.Errorf("%s: got report %s, want %d rows with the tokens of another row", tokenizer, skipped, want)
		}
	}
}

// TestOtherOrder checks that a pair is counted if another split has the same two texts in reverse
// order.
func TestOtherOrder(t *testing.T) {
	from := writeLines(t, `{"a":"x","b":"y","l":0,"split":"train"}`+"\n"+`{"a":"y","b":"x","l":0,"split":"test"}`+"\n"+
		`{"a":"y","b":"z","l":1,"split":"test"}`+"\n")
	_, skipped, err := Convert(t.Context(), Options{From: []string{from}, To: filepath.Join(t.TempDir(), "d"),
		Pair: []string{"a", "b"}, Label: "l", SplitColumn: "split", Tokenizer: []byte(`{"type":"byte"}`)})
	must.Succeed(t, err)
	if skipped.OtherTokens.Rows != 1 || skipped.OtherTokens.Places[0] != from+":2" {
		t.Errorf("got report %s, want row 2 counted", skipped)
	}
}
