package convert

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

// writeFile writes a file to a new directory and returns its path.
func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// textOptions returns the options for a table of text with labels.
func textOptions(t testing.TB, from ...string) Options {
	return Options{From: from, To: filepath.Join(t.TempDir(), "set"), Name: "own", Text: "text", Label: "label",
		Tokenizer: []byte(`{"type":"byte"}`), SplitFractions: []SplitFraction{{Split: "train", Fraction: 1}}}
}

// contents returns the rows of all splits: "train: text (label)", or "train: text | text (label)" for
// pairs.
func contents(t testing.TB, d *seq.Dataset) (rows []string) {
	t.Helper()
	text := func(tokens []int32) string {
		out := make([]byte, len(tokens))
		for i, id := range tokens {
			out[i] = byte(id - 1)
		}
		return string(out)
	}
	must.Succeed(t, d.Verify())
	for _, split := range d.Manifest.SplitNames() {
		f := must.Get(d.Open(split))(t)
		defer f.Close()
		for i := range f.Len() {
			e := must.Get(f.Example(i))(t)
			row := split + ": " + text(e.A)
			if e.B != nil {
				row += " | " + text(e.B)
			}
			if e.Label != seq.NoLabel {
				row += " (" + d.Manifest.LabelNames[e.Label] + ")"
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// mustConvert calls Convert and fails the test on an error.
func mustConvert(t testing.TB, o Options) (*seq.Dataset, *source.Skipped) {
	t.Helper()
	return must.Get2(Convert(context.Background(), o))(t)
}

// TestConvert checks that rows of several files and formats keep their order and that labels are
// sorted. Unusable rows must be counted with their locations and must not add a label.
func TestConvert(t *testing.T) {
	csv := writeFile(t, "a.csv", "label,text\npear,one\napple,two\nfig,\n,three\npear,\"mul\nti\"\nbroken\n")
	json := writeFile(t, "b.jsonl",
		"{\"text\":\"four\",\"label\":\"quince\"}\n{\"label\":\"grape\"}\n{\"text\":[1],\"label\":\"grape\"}\n{\"text\":\"five\",\"label\":\"apple\"}\n")
	d, skipped := mustConvert(t, textOptions(t, csv, json))
	want := []string{"train: one (pear)", "train: two (apple)", "train: mul\nti (pear)",
		"train: four (quince)", "train: five (apple)"}
	if got := contents(t, d); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Equal(d.Manifest.LabelNames, []string{"apple", "pear", "quince"}) {
		t.Errorf("got labels %q, want apple, pear and quince", d.Manifest.LabelNames)
	}
	report := skipped.String()
	for _, line := range []string{
		"1 of 10 rows left out: empty text\n  " + csv + ":4\n",
		"1 of 10 rows left out: no label\n  " + csv + ":5\n",
		"2 of 10 rows left out: no text\n  " + json + ":2\n  " + json + ":3: found a list (read token ids with " +
			"--tokens text --vocab N, or numbers with --series text)\n",
		"1 of 10 rows left out: the row cannot be read\n  " + csv + ":8: expected 2 columns, found 1\n",
	} {
		if !strings.Contains(report, line) {
			t.Errorf("got report %s, want %s in it", report, line)
		}
	}
	if skipped.Left() != 5 || skipped.Read != 10 {
		t.Errorf("left out %d of %d rows, want 5 of 10", skipped.Left(), skipped.Read)
	}
}

// TestLabels checks that numeric labels are sorted by value, and that given names keep their order
// and exclude all other labels.
func TestLabels(t *testing.T) {
	from := writeFile(t, "a.csv", "label,text\n10,a\n9,b\n-1,c\n10,d\n")
	d, _ := mustConvert(t, textOptions(t, from))
	if !slices.Equal(d.Manifest.LabelNames, []string{"-1", "9", "10"}) {
		t.Errorf("got labels %q, want -1, 9 and 10", d.Manifest.LabelNames)
	}
	o := textOptions(t, from)
	o.Labels = []string{"10", "9", "8"}
	d, skipped := mustConvert(t, o)
	if got := contents(t, d); !slices.Equal(got, []string{"train: a (10)", "train: b (9)", "train: d (10)"}) ||
		!slices.Equal(d.Manifest.LabelNames, o.Labels) {
		t.Errorf("got rows %q and labels %q, want the rows labelled 10 and 9", got, d.Manifest.LabelNames)
	}
	if k := skipped.Reasons["the label is not in --labels"]; k == nil || k.Rows != 1 ||
		!strings.HasSuffix(k.Places[0], `a.csv:4: expected one of 10, 9, 8, found "-1"`) {
		t.Errorf("got report %v, want only the row labelled -1 left out", skipped)
	}
	o = textOptions(t, from)
	o.Label = ""
	if d, _ = mustConvert(t, o); d.Manifest.LabelNames != nil || len(contents(t, d)) != 4 {
		t.Errorf("without labels: got rows %q", contents(t, d))
	}
}

// TestSplitFractions checks that equal texts are always in the same split, that the splits have
// about the requested sizes, and that another seed produces other splits.
func TestSplitFractions(t *testing.T) {
	var text strings.Builder
	text.WriteString("text,label\n")
	for i := range 6000 {
		fmt.Fprintf(&text, "row %d,%d\n", i%3000, i%7)
	}
	from := writeFile(t, "a.csv", text.String())
	var results []string
	for _, seed := range []uint64{0, 1} {
		o := textOptions(t, from)
		o.SplitFractions, o.Seed = nil, seed
		d, _ := mustConvert(t, o)
		splits := map[string]string{}
		for _, row := range contents(t, d) {
			split, rest, _ := strings.Cut(row, ": ")
			text, _, _ := strings.Cut(rest, " (")
			if before, ok := splits[text]; ok && before != split {
				t.Fatalf("the text %s is in the splits %s and %s", text, before, split)
			}
			splits[text] = split
		}
		count := map[string]int{}
		for _, split := range splits {
			count[split]++
		}
		if len(splits) != 3000 || count["train"] < 2600 || count["train"] > 2800 || count["val"] < 100 ||
			count["val"] > 200 || count["test"] < 100 {
			t.Errorf("got %d texts in splits of %v, want 3000: 2600 to 2800 train, 100 to 200 val, at least 100 test",
				len(splits), count)
		}
		results = append(results, fmt.Sprint(slices.Sorted(maps.Keys(count)), d.Manifest.Splits["val"].Checksum))
	}
	if results[0] == results[1] {
		t.Error("got equal splits for two seeds, want different splits")
	}
}

// TestDeterministic checks that the files do not depend on the order in which workers finish.
func TestDeterministic(t *testing.T) {
	var text strings.Builder
	text.WriteString("text,label\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "row %d %s,class %d\n", i, strings.Repeat("x", i%50), (i*7919)%13)
	}
	from, sums := writeFile(t, "a.csv", text.String()), map[string]bool{}
	for range 4 {
		o := textOptions(t, from)
		o.SplitFractions = nil
		d, _ := mustConvert(t, o)
		sums[d.Fingerprint()] = true
	}
	if len(sums) != 1 {
		t.Errorf("got %d different data sets, want 1", len(sums))
	}
}

// TestLateLabels checks that the files do not depend on whether labels are found before or after the
// files were begun. A failure after the files were begun must leave no file.
func TestLateLabels(t *testing.T) {
	var text strings.Builder
	text.WriteString("text,label\n")
	for i := range 30000 { // more than one chunk
		fmt.Fprintf(&text, "row %d,class %d\n", i, 9-i/3000)
	}
	from, sums := writeFile(t, "a.csv", text.String()), map[string]bool{}
	for _, head := range []int{1, 100 << 10, headBytes} {
		o := textOptions(t, from)
		o.SplitFractions, o.head = nil, head
		d, _ := mustConvert(t, o)
		sums[d.Fingerprint()] = true
		if len(contents(t, d)) != 30000 || len(d.Manifest.LabelNames) != 10 || d.Manifest.LabelNames[0] != "class 0" {
			t.Errorf("head of %d bytes: got manifest %v, want 30000 rows and 10 sorted labels", head, d.Manifest)
		}
		if files, _ := os.ReadDir(o.To); len(files) != 4 {
			t.Errorf("got files %v, want 4 files", files)
		}
	}
	if len(sums) != 1 {
		t.Errorf("got %d different data sets, want 1", len(sums))
	}
	o := textOptions(t, writeFile(t, "a.csv", text.String()+",\n"))
	o.head, o.Strict = 1, true
	must.Fail(t, "a.csv:30002: empty text")(Convert(context.Background(), o))
	must.Fail(t, "", "the directory remains")(os.Stat(o.To))
}

// TestFailedReplacement checks that a failed replacement leaves the old data set unchanged.
func TestFailedReplacement(t *testing.T) {
	o := textOptions(t, writeFile(t, "a.csv", "text,label\na,1\nb,2\n"))
	before, _ := mustConvert(t, o)
	o.From = []string{writeFile(t, "b.csv", "text,label\n"+strings.Repeat("a,1\n", 2*chunkRows)+",2\n")}
	o.Strict, o.Replace, o.head = true, true, 1
	if _, _, err := Convert(context.Background(), o); err == nil {
		t.Fatal("Convert returned no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o.Strict = false
	out := output{converter: &converter{options: o, skipped: source.NewSkipped(), labels: newLabels(nil)},
		splits: map[string]*seq.SplitWriter{}, splitsFound: map[string]bool{}, texts: newRepeats()}
	out.spec = seq.Spec{Task: seq.Classification, VocabSize: 257}
	block := seq.NewBlock(&out.spec)
	must.Succeed(t, block.Append(seq.Example{A: []int32{1}, Label: seq.NoLabel}))
	must.Succeed(t, out.write(&chunk{out: &converted{rows: 1, splits: []string{"train"},
		blocks: map[string]*seq.Block{"train": block}}}))
	if _, err := out.finish(ctx); !errors.Is(err, context.Canceled) { // the context is cancelled before finish
		t.Errorf("got error %v, want context.Canceled", err)
	}
	out.abort()
	after, err := seq.OpenDataset(o.To)
	if err != nil || after.Fingerprint() != before.Fingerprint() {
		t.Errorf("got a changed data set and error %v, want the old data set", err)
	}
}

// TestReadErrorIsLast checks that the rows before a read error are always counted. In strict mode,
// an earlier unusable row is the error instead.
func TestReadErrorIsLast(t *testing.T) {
	from := writeFile(t, "a.csv", "text,label\n,1\n"+strings.Repeat("a,1\n", 3*chunkRows)+"\"open,2\nb,1\n")
	for range 3 {
		o := textOptions(t, from)
		if _, skipped, err := Convert(context.Background(), o); err == nil ||
			!strings.Contains(err.Error(), "is not closed") || skipped.Read != 3*chunkRows+1 || skipped.Left() != 1 {
			t.Errorf("got %d rows and error %v, want %d rows and an unclosed quote", skipped.Read, err, 3*chunkRows+1)
		}
		o.Strict = true
		must.Fail(t, "a.csv:2: empty text")(Convert(context.Background(), o))
	}
}

// TestCancelWhileInputWaits checks that cancellation does not wait for input that never arrives.
func TestCancelWhileInputWaits(t *testing.T) {
	r, w := must.Get2(os.Pipe())(t)
	defer w.Close()
	os.Stdin = r // not restored, because the abandoned reader may still use it
	must.Get(w.WriteString("text,label\na,1\n"))(t)
	o := textOptions(t, "-")
	o.Format = "csv"
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	must.FailWith(t, context.DeadlineExceeded)(Convert(ctx, o))
	w.Close() // ends the abandoned reader
}

// TestReplacedSplits checks that replacing a data set removes its old splits and leftover files.
func TestReplacedSplits(t *testing.T) {
	o := textOptions(t, writeFile(t, "a.csv", "text,label,part\na,1,train\nb,2,test\n"))
	o.SplitColumn = "part"
	mustConvert(t, o)
	must.Succeed(t, os.WriteFile(filepath.Join(o.To, ".val.arrow.1x2y.tmp"), nil, 0o666))
	o.From, o.Replace = []string{writeFile(t, "a.csv", "text,label,part\na,1,train\n")}, true
	mustConvert(t, o)
	files, err := os.ReadDir(o.To)
	if err != nil || len(files) != 2 {
		t.Errorf("got files %v and error %v, want 2 files", files, err)
	}
}

// TestRepeated checks that repeated texts are kept and are counted with their locations.
func TestRepeated(t *testing.T) {
	from := writeFile(t, "a.csv", "text,label\na,1\nb,1\na,2\nc,1\na,1\n,1\n,1\nb,1\nd,1\na,3\n")
	d, skipped := mustConvert(t, textOptions(t, from))
	want := []string{from + ":4", from + ":6", from + ":9"}
	if skipped.Repeated.Rows != 4 || !slices.Equal(skipped.Repeated.Places, want) || len(contents(t, d)) != 8 {
		t.Errorf("got repeated texts %+v of %d rows, want 4 of 8, first at %q", skipped.Repeated, len(contents(t, d)),
			want)
	}
	if text := skipped.String(); !strings.Contains(text,
		"4 of 10 rows repeat the text of an earlier row, 2 of them with another label, and are kept\n  "+from+":4\n") ||
		!strings.Contains(text, "and 1 more") {
		t.Errorf("got report %s, want 4 of 10 rows that repeat a text", text)
	}
	o := textOptions(t, writeFile(t, "a.csv", "q,a,label\nx,y,1\nx,z,1\nx,y,2\n"))
	o.Text, o.Pair = "", []string{"q", "a"}
	if _, skipped := mustConvert(t, o); skipped.Repeated.Rows != 1 {
		t.Errorf("pairs: got repeated texts %+v, want 1", skipped.Repeated)
	}
	// With a split column, only training rows have a digest. It must not be reused for the next rows.
	o = textOptions(t, writeFile(t, "a.csv", "text,label,part\na,1,train\nb,1,test\nc,1,test\nb,2,train\n"))
	o.SplitColumn = "part"
	if _, skipped := mustConvert(t, o); skipped.Repeated.Rows != 1 ||
		!strings.HasSuffix(skipped.Repeated.Places[0], "a.csv:5") {
		t.Errorf("with a split column: got repeated texts %+v, want line 5", skipped.Repeated)
	}
}

// TestOtherSplit checks that rows are counted whose text also occurs in another split, for instance if
// a table is used for both train and test.
func TestOtherSplit(t *testing.T) {
	for table, want := range map[string]int64{
		"text,label,part\na,1,train\nb,2,train\na,1,test\nb,2,test\na,1,test\n": 3,
		"text,label,part\na,1,train\na,2,train\nb,1,val\nc,2,test\nc,2,test\n":  0,
		"text,label,part\na,1,test\na,2,train\nb,1,val\nc,2,train\nb,2,test\n":  2,
	} {
		o := textOptions(t, writeFile(t, "a.csv", table))
		o.SplitColumn = "part"
		_, skipped := mustConvert(t, o)
		if skipped.OtherSplit.Rows != want {
			t.Errorf("%q: got %+v, want %d", table, skipped.OtherSplit, want)
		}
		reported := strings.Contains(skipped.String(), "have the text of a row in another split")
		if reported != (want > 0) {
			t.Errorf("%q: reported: %v, want %v", table, reported, want > 0)
		}
	}
}

// TestRepeats checks that the hash table finds every hash that was added before it was full, and no
// other hash.
func TestRepeats(t *testing.T) {
	r := newRepeats()
	random := rand.New(rand.NewPCG(1, 2))
	hashes := make([]uint64, maxTexts+1000)
	for i := range hashes {
		hashes[i] = random.Uint64()
		if before, _ := r.add(hashes[i], i%maxSplits); before {
			t.Fatalf("hash %d: got known, want new", i)
		}
	}
	for i, h := range hashes {
		if before, first := r.add(h, maxSplits-1); before != (i < maxTexts) || before && first != i%maxSplits {
			t.Fatalf("hash %d of at most %d known hashes: got known %v with tag %d", i, maxTexts, before, first)
		}
	}
}

// TestRepeatedLabels checks that a repeated text is counted if its class, label set, number or tags
// differ from the targets of the text's first row, and only then.
func TestRepeatedLabels(t *testing.T) {
	label := func(*Options) {}
	for name, c := range map[string]struct {
		table  string
		change func(*Options)
		want   int64
	}{
		"classes":       {"text,label\na,1\na,2\na,1\nb,2\nb,2\n", label, 1},
		"a class often": {"text,label\na,1\n" + strings.Repeat("a,1\na,2\n", 30), label, 30},
		"three classes": {"text,label\na,1\na,2\na,3\n", label, 2},
		"label sets": {"text,label\na,x;y\na,y;x\na,x\nb,\nb,x\n",
			func(o *Options) { o.LabelSeparator = ";" }, 2},
		"numbers": {"text,label\na,1\na,1.0\na,2\n",
			func(o *Options) { o.Label, o.Numbers = "", []string{"label"} }, 1},
		"no labels":         {"text,label\na,1\na,2\n", func(o *Options) { o.Label = "" }, 0},
		"a column of split": {"text,label,part\na,1,train\na,2,test\n", func(o *Options) { o.SplitColumn = "part" }, 1},
	} {
		o := textOptions(t, writeFile(t, "a.csv", c.table))
		c.change(&o)
		if _, skipped := mustConvert(t, o); skipped.OtherLabel != c.want {
			t.Errorf("%s: %d rows with another label, want %d", name, skipped.OtherLabel, c.want)
		}
	}
	o := textOptions(t, writeFile(t, "a.jsonl", strings.Repeat(`{"text":["a","b"],"tags":["B-X","O"]}`+"\n",
		2)+`{"text":["a","b"],"tags":["B-X","B-X"]}`))
	o.Label, o.Tags = "", "tags"
	if _, skipped := mustConvert(t, o); skipped.Repeated.Rows != 2 || skipped.OtherLabel != 1 {
		t.Errorf("tags: %d rows with another label of %d, want 1 of 2", skipped.OtherLabel, skipped.Repeated.Rows)
	}
	o = textOptions(t, writeFile(t, "a.fasta", ">1 x\nAC\n>2 y\nAC\n"))
	o.Text, o.Label = "sequence", "description"
	const want = "1 of 2 rows repeat the sequence of an earlier row, 1 of them with another label, and are kept\n"
	if _, skipped := mustConvert(t, o); !strings.HasPrefix(skipped.String(), want) {
		t.Errorf("FASTA: %s, want %s", skipped, want)
	}
}

// TestSortNames checks that names are sorted by value if all are finite or infinite numbers, and as
// text otherwise.
func TestSortNames(t *testing.T) {
	for _, want := range [][]string{
		{"-20", "-1", "0.5", "1", "2.5", "10"}, {"1", "1.0", "1e1", "11"}, {"-inf", "0", "inf"},
		{"1", "10", "2", "x"}, {"1", "NaN", "nan"},
	} {
		got := slices.Clone(want)
		slices.Reverse(got)
		if sortNames(got); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestSplitNames checks that splitOf recognises usual names of splits and keeps other names.
func TestSplitNames(t *testing.T) {
	for name, want := range map[string]string{"Train": "train", "training": "train", "DEV": "val", "Validation": "val",
		"TEST": "test", "testing": "test", "fold-3": "fold-3"} {
		if got := splitOf(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestTooManyLabels checks that a label column with too many distinct values ends the conversion.
func TestTooManyLabels(t *testing.T) {
	var text strings.Builder
	text.WriteString("text,label\n")
	for i := range seq.MaxLabelNames + 1 {
		fmt.Fprintf(&text, "a,%d\n", i)
	}
	must.Fail(t, "too many labels: expected at most 65536 classes, found more")(Convert(context.Background(),
		textOptions(t, writeFile(t, "a.csv", text.String()))))
}

// TestInputs checks the conversion of pairs with a split column, and of lists of tokens.
func TestInputs(t *testing.T) {
	o := textOptions(t, writeFile(t, "a.csv",
		"q,a,label,part\nx,y,1,train\nx,z,0,validation\nu,v,1,test\nu,,1,test\nw,w,1,no such/split\n"))
	o.Text, o.Pair, o.SplitColumn = "", []string{"q", "a"}, "part"
	d, skipped := mustConvert(t, o)
	if got := contents(t, d); !slices.Equal(got, []string{"train: x | y (1)", "val: x | z (0)", "test: u | v (1)"}) ||
		d.Manifest.Task != seq.Retrieval {
		t.Errorf("got task %s and rows %q, want 3 pairs for retrieval", d.Manifest.Task, got)
	}
	if skipped.Reasons["no split"] == nil || skipped.Reasons["empty text"] == nil {
		t.Errorf("got report %v, want rows without a split and with an empty text", skipped)
	}
	o.Val, o.Replace = 0.5, true
	if d, _ = mustConvert(t, o); d.Manifest.Splits["val"].Rows < 1 || d.Manifest.Splits["test"].Rows != 1 {
		t.Errorf("half of the train rows for validation: got %q, want at least 1 val row and 1 test row",
			contents(t, d))
	}
	o = textOptions(t, writeFile(t, "a.jsonl",
		"{\"ids\":[98,99],\"label\":true}\n{\"ids\":[300],\"label\":false}\n{\"ids\":\"b\",\"label\":true}\n{\"ids\":[98,99,100],\"label\":false}\n"))
	o.Text, o.Tokens, o.Vocab, o.MaxLength = "", "ids", 257, 2
	d, skipped = mustConvert(t, o)
	if got := contents(t, d); !slices.Equal(got, []string{"train: ab (true)"}) || d.Manifest.VocabSize != 257 {
		t.Errorf("got rows %q and a vocabulary of %d, want one row and 257", got, d.Manifest.VocabSize)
	}
	for _, kind := range []string{"a token outside the vocabulary", "no list of tokens", "more than 2 tokens"} {
		if skipped.Reasons[kind] == nil {
			t.Errorf("got report %v, want %s in it", skipped, kind)
		}
	}
}
