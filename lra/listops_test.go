package lra

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/tokenizers"
)

// TestEvaluate checks values and errors of expressions in text, and that their tokens have the same
// values.
func TestEvaluate(t *testing.T) {
	for text, want := range map[string]int32{
		"7": 7, "( 7 )": 7,
		"[MAX 2 9 ]": 9, "[MIN 2 9 X": 2, "[SM 9 9 9 ]": 7,
		"[MED 1 2 ]": 1, "[MED 4 9 1 ]": 4, "[MED 9 0 8 1 ]": 4, "[MED 0 9 ]": 4,
		"( ( ( [MAX 2 ) ( ( ( [MIN 4 ) 7 ) ] ) ) ] )": 4,
		"[FIRST 3 4 ]": 3, "[LAST 3 [MAX 1 5 ] ]": 5,
		"[SM [SM 5 ] [MED 3 3 3 ] [MIN [MAX 9 ] 8 ] ]": 6,
	} {
		if got, err := EvaluateListOps(text); err != nil || got != want {
			t.Errorf("%s = %d, %v; want %d", text, got, err, want)
		}
		if strings.Contains(text, "ST ") {
			continue
		}
		tokens, _ := tokenizers.ListOps{}.Encode(text)
		if got, err := new(listOpsMachine).evaluate(tokens); err != nil || got != want {
			t.Errorf("tokens of %s = %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":              "column 1: expected an expression",
		"( )":           "column 4: expected an expression",
		"[MAX 2 9":      "column 9: [MAX is not closed",
		"]":             "column 1: ] without an open operator",
		"[MAX ]":        "column 6: [MAX without an argument",
		"[MAX 2 ] 3":    "column 10: expected the end after a complete expression, found 3",
		"[MAX 2 ] ]":    "column 10: ] without an open operator",
		"1 [MAX":        "column 3: expected the end",
		"[MEAN 2 ]":     `column 1: expected a digit, an operator such as [MAX, or ], found "[MEAN"`,
		"[MAX 10 ]":     `column 6: expected a digit`,
		"[MAX 2 \x00 ]": "column 8: expected a digit",
	} {
		must.Fail(t, want, text)(EvaluateListOps(text))
	}
	must.Fail(t, "index 2")(new(listOpsMachine).evaluate([]int32{12, 3, 16, 15}))
}

// TestHostileNesting checks that a million nested operators do not overflow the stack.
func TestHostileNesting(t *testing.T) {
	deep := strings.Repeat("[MAX ", 1<<20)
	must.Fail(t, "")(EvaluateListOps(deep))
	if got, err := EvaluateListOps(deep + "5" + strings.Repeat(" ]", 1<<20)); got != 5 || err != nil {
		t.Errorf("deeply nested expression: value %d, error %v; want 5", got, err)
	}
}

// TestOriginalLabels checks that EvaluateListOps returns the labels in the published test files of
// ListOps.
func TestOriginalLabels(t *testing.T) {
	data := testenv.NeedData(t, "listops-nyu")
	rows := 0
	for _, name := range []string{"test_d20.tsv.gz", "test_d20a.tsv.gz", "test_d20s.tsv.gz"} {
		file := must.Get(os.Open(filepath.Join(data, name)))(t)
		defer file.Close()
		plain := must.Get(gzip.NewReader(file))(t)
		lines := bufio.NewScanner(plain)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			label, expression, _ := strings.Cut(lines.Text(), "\t")
			got, err := EvaluateListOps(expression)
			if err != nil || fmt.Sprint(got) != label {
				t.Errorf("%s: value %d, error %v; want the label %s", name, got, err, label)
			}
			rows++
		}
		must.Succeed(t, lines.Err())
	}
	if rows != 30000 {
		t.Errorf("%d rows, want 30,000", rows)
	}
}

// drawSample returns the first n kept draws, and the number of draws up to the last of them.
func drawSample(n int, rule ListOpsRule) (rows []listOpsRow, draws int) {
	d := listOpsDraw{random: random{seed: 1}, rule: rule}
	for len(rows) < n {
		if row, ok := d.draw(uint64(draws)); ok {
			rows = append(rows, row)
		}
		draws++
	}
	return rows, draws
}

// TestListOpsDistribution checks that statistics of the draws are within four standard deviations of the
// published statistics.
func TestListOpsDistribution(t *testing.T) {
	n := 20000
	if testing.Short() {
		n = 5000
	}
	rows, draws := drawSample(n, LRAListOps)
	checkWithin := func(name string, got, want, deviation float64) {
		t.Helper()
		if math.Abs(got-want) > 4*deviation {
			t.Errorf("%s: %.4f, want %.4f ± %.4f", name, got, want, deviation)
		}
	}
	// 0.0003 covers the rounding of the published fractions.
	deviation := func(p float64, n int) float64 { return math.Sqrt(p*(1-p)/float64(n)) + 0.0003 }
	checkWithin("kept draws", float64(n)/float64(draws), 0.082, deviation(0.082, draws))

	var lengths []int
	var labels [10]int
	roots := map[int32]*[10]int{}
	for _, row := range rows {
		lengths = append(lengths, len(row.tokens))
		labels[row.label]++
		if roots[row.tokens[0]] == nil {
			roots[row.tokens[0]] = &[10]int{}
		}
		roots[row.tokens[0]][row.label]++
	}
	slices.Sort(lengths)
	if lengths[0] <= 500 || lengths[n-1] >= 2000 {
		t.Errorf("lengths %d to %d, want 501 to 1999", lengths[0], lengths[n-1])
	}
	fractionUpTo := func(limit int) float64 {
		count, _ := slices.BinarySearch(lengths, limit+1)
		return float64(count) / float64(n)
	}
	// The following published statistics are from a sample of 20,000.
	quartile := func(p float64) float64 { return deviation(p, n) + deviation(p, 20000) }
	checkWithin("rows up to 701", fractionUpTo(701), 0.25, quartile(0.25))
	checkWithin("rows up to 949", fractionUpTo(949), 0.5, quartile(0.5))
	checkWithin("rows up to 1305", fractionUpTo(1305), 0.75, quartile(0.75))
	checkWithin("majority class", float64(slices.Max(labels[:]))/float64(n), 0.171, deviation(0.171,
		n)+deviation(0.171, 20000))
	correct := 0
	for _, counts := range roots {
		correct += slices.Max(counts[:])
	}
	checkWithin("root operator only", float64(correct)/float64(n), 0.367, deviation(0.367, n)+deviation(0.367, 20000))
}

// TestDrawsArePinned checks the first draws of a seed, which must not change between versions.
func TestDrawsArePinned(t *testing.T) {
	rule := ListOpsRule{MinLength: 5, MaxLength: 16, MaxDepth: 4, MaxArgs: 4}
	rows, _ := drawSample(4, rule)
	var got []string
	for _, row := range rows {
		got = append(got, fmt.Sprint(tokenizers.ListOps{}.Decode(row.tokens), " = ", row.label))
	}
	if !reflect.DeepEqual(got, pinnedDraws) {
		t.Errorf("draws %q, want those of earlier versions", got)
	}
}

var pinnedDraws = []string{
	"[MAX 0 [SM [SM 1 7 ] 3 ] ] = 1", "[MED 6 [SM 5 5 0 6 ] 5 3 ] = 5",
	"[MAX [SM 6 7 1 ] 3 ] = 4", "[MED 2 [MAX 7 7 3 2 ] ] = 4",
}

// TestGenerateDoesNotDependOnThreads checks that the number of threads does not change the data.
func TestGenerateDoesNotDependOnThreads(t *testing.T) {
	options := GenerateOptions{Train: 300, Val: 20, Test: 20, Seed: 3, Rule: &ListOpsRule{MinLength: 10, MaxLength: 100,
		MaxDepth: 10, MaxArgs: 10}}
	var sums []string
	for _, threads := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(threads)
		d, err := ListOps.Generate(context.Background(), t.TempDir(), options)
		runtime.GOMAXPROCS(old)
		must.Succeed(t, err)
		sums = append(sums, d.Manifest.Splits["train"].Checksum+d.Manifest.Splits["test"].Checksum)
	}
	if sums[0] != sums[1] || sums[0] != sums[2] {
		t.Errorf("got checksums %q with 1, 2 and 5 threads, want equal ones", sums)
	}
}

// TestGenerate checks that generated rows follow the rule, are distinct and have correct labels,
// and that a split without rows is not written.
func TestGenerate(t *testing.T) {
	var rows int64
	dir := t.TempDir()
	d := must.Get(ListOps.Generate(context.Background(), dir, GenerateOptions{
		Train: 50, Test: 30, Seed: 9, Rule: &ListOpsRule{MinLength: 2, MaxLength: 6, MaxDepth: 2, MaxArgs: 3},
		Progress: func(n int64) { rows += n },
	}))(t)
	if rows != 80 || !reflect.DeepEqual(d.Manifest.SplitNames(), []string{"train", "test"}) {
		t.Errorf("%d rows, splits %v; want 80 rows in train and test", rows, d.Manifest.SplitNames())
	}
	seen := map[string]bool{}
	for _, split := range d.Manifest.SplitNames() {
		f := must.Get(d.Open(split))(t)
		defer f.Close()
		for i := range f.Len() {
			e := must.Get(f.Example(i))(t)
			value, err := new(listOpsMachine).evaluate(e.A)
			if err != nil || value != e.Label || len(e.A) <= 2 || len(e.A) >= 6 {
				t.Errorf("%v: label %d, value %d, error %v; want 3 to 5 tokens", e.A, e.Label, value, err)
			}
			if key := fmt.Sprint(e.A); seen[key] {
				t.Errorf("%v occurs twice", e.A)
			} else {
				seen[key] = true
			}
		}
	}
}

// TestGenerateErrors checks the errors for impossible options and a cancelled context.
func TestGenerateErrors(t *testing.T) {
	for want, options := range map[string]GenerateOptions{
		"listops: train: expected 0 rows or more": {Train: -1},
		"listops: val: expected 0 rows or more":   {Train: 1, Val: -1},
		"listops: test: expected 0 rows or more":  {Train: 1, Test: -1},
		"listops: lengths: expected": {Train: 1, Rule: &ListOpsRule{MinLength: 10, MaxLength: 11,
			MaxDepth: 10, MaxArgs: 10}},
		"listops: depth: expected": {Train: 1,
			Rule: &ListOpsRule{MaxLength: 100, MaxDepth: 65, MaxArgs: 10}},
		"listops: arguments: expected": {Train: 1,
			Rule: &ListOpsRule{MaxLength: 100, MaxDepth: 10, MaxArgs: 1}},
		"cannot be reached": {Train: 1, Rule: &ListOpsRule{MinLength: 500, MaxLength: 2000,
			MaxDepth: 3, MaxArgs: 3}},
		"listops: training split: lengths: expected": {Train: 1, Rule: &ListOpsRule{MaxLength: 100, MaxDepth: 10,
			MaxArgs: 10, Train: &ListOpsRule{}}},
		"request fewer rows": {Train: 600, Rule: &ListOpsRule{MinLength: 3, MaxLength: 5,
			MaxDepth: 2, MaxArgs: 2}},
		"expected at least one split": {},
	} {
		must.Fail(t, want, options)(ListOps.Generate(context.Background(), t.TempDir(), options))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ListOps.Generate(ctx, t.TempDir(), GenerateOptions{Train: 100}); err != context.Canceled {
		t.Errorf("error %v, want Canceled", err)
	}
}

func BenchmarkDraw(b *testing.B) {
	d := listOpsDraw{random: random{seed: 1}, rule: LRAListOps}
	for i := range b.N {
		d.draw(uint64(i))
	}
}
