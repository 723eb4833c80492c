package lra

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

const tsv = "Source\tTarget\n( ( ( [MAX 2 ) 9 ) ] )\t9\n( ( [SM 7 ) ] )\t7\n"

// imported is a row that readTSV returns.
type imported struct {
	tokens []int32
	label  int32
}

// readTSV returns the rows of an official file of ListOps with the given content.
func readTSV(text string, verify bool) (rows []imported, err error) {
	err = ReadListOpsTSV(strings.NewReader(text), "x.tsv", verify, func(tokens []int32, label int32) error {
		rows = append(rows, imported{tokens, label})
		return nil
	})
	return rows, err
}

func compress(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write([]byte(text))
	w.Close()
	return out.String()
}

// TestReadTSV checks that compression and line ends do not change the rows.
func TestReadTSV(t *testing.T) {
	want := []imported{{[]int32{12, 3, 10, 15}, 9}, {[]int32{14, 8, 15}, 7}}
	for _, text := range []string{tsv, compress(tsv), strings.ReplaceAll(tsv, "\n", "\r\n"),
		strings.TrimSuffix(tsv, "\n")} {
		if got, err := readTSV(text, true); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: rows %v, error %v; want %v", text, got, err, want)
		}
	}
}

// TestBadTSV checks the errors for invalid files, and that labels are compared only if requested.
func TestBadTSV(t *testing.T) {
	const head = "Source\tTarget\n"
	for _, c := range []struct{ text, want string }{
		{"", `x.tsv: expected the header "Source\tTarget", found an empty file`},
		{"a\tb\n", `x.tsv:1: expected the header "Source\tTarget", found "a\tb"`},
		{head + "[MAX 2 9 ] 9\n", "x.tsv:2:13: expected expression, tab, value, found no tab"},
		{head + "\n", "x.tsv:2:1: expected expression, tab, value"},
		{head + "5\t5\n[MAX 2 9 ]\t10\n", `x.tsv:3:12: expected a value from 0 to 9, found "10"`},
		{head + "5\t5\t5\n", `x.tsv:2:3: expected a value from 0 to 9, found "5\t5"`},
		{head + "( )\t5\n", "x.tsv:2:1: expected an expression, found none"},
		{head + "[MAX 2 9 ]\t8\n", "x.tsv:2:12: expected the expression's value 9, found 8"},
		{head + "[MAX 2 9\t9\n", "x.tsv:2:9: [MAX is not closed"},
		{head + "[MAX 2 [AVG 9 ] ]\t9\n", `x.tsv:2:8: expected a token of ListOps, found "[AVG"`},
		{head + "( [FIRST 9 ) ]\t9\n", `x.tsv:2:3: expected a token of ListOps, found "[FIRST"`},
		{head + "( [MAX 4)2 ]\t4\n", `x.tsv:2:8: expected a token of ListOps, found "4)2"`},
		{head + strings.Repeat("( ", maxLine/2) + "\t1\n", "x.tsv:2: the line exceeds the limit"},
		{compress(tsv)[:30], "x.tsv:"},
		{"\x1f\x8b", "x.tsv:"},
	} {
		if _, err := readTSV(c.text, true); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: error %v, want %q", c.text, err, c.want)
		}
	}
	if rows, err := readTSV(head+"[MAX 2 9 ]\t8\n", false); err != nil || len(rows) != 1 {
		t.Errorf("without verification: rows %v, error %v; want one row", rows, err)
	}
}

// TestConvert checks the conversion of a directory: the rows per split, the progress, and errors for
// an existing data set, a split name and a missing file.
func TestConvert(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for i, name := range []string{"basic_train.tsv", "basic_val.tsv.gz", "basic_test.tsv"} {
		text := tsv + strings.Repeat("3\t3\n", i)
		if strings.HasSuffix(name, ".gz") {
			text = compress(text)
		}
		must.Succeed(t, os.WriteFile(filepath.Join(from, name), []byte(text), 0o666))
	}
	var read int64
	d, err := ListOps.Convert(context.Background(), from, to, ConvertOptions{Progress: func(n int64) { read += n }})
	must.Succeed(t, err)
	if read == 0 {
		t.Error("Progress was never called")
	}
	for split, rows := range map[string]int64{"train": 2, "val": 3, "test": 4} {
		if got := d.Manifest.Splits[split].Rows; got != rows {
			t.Errorf("%s: %d rows, want %d", split, got, rows)
		}
	}
	must.FailWith(t, seq.ErrExists)(ListOps.Convert(context.Background(), from, to, ConvertOptions{}))
	if _, err := ListOps.Convert(context.Background(), from, to,
		ConvertOptions{Split: "val", Replace: true}); err == nil {
		t.Error("converting a directory with a split name succeeded, want an error")
	}
	must.Succeed(t, os.Remove(filepath.Join(from, "basic_val.tsv.gz")))
	must.Fail(t, "basic_val.tsv is missing")(ListOps.Convert(context.Background(), from, to,
		ConvertOptions{Replace: true}))
}

// TestConvertSingleFiles checks that single files are added as splits, and that a failed conversion
// keeps the data set.
func TestConvertSingleFiles(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "x.tsv"), t.TempDir()
	must.Succeed(t, os.WriteFile(from, []byte(tsv), 0o666))
	for _, split := range []string{"", "train"} {
		must.Get(ListOps.Convert(context.Background(), from, to, ConvertOptions{Split: split}))(t)
	}
	d, err := seq.OpenDataset(to)
	if err != nil || !reflect.DeepEqual(d.Manifest.SplitNames(), []string{"train", "test"}) {
		t.Fatalf("data set %v, error %v; want the splits train and test", d, err)
	}
	must.Succeed(t, os.WriteFile(from, []byte(tsv+"oops\n"), 0o666))
	must.Fail(t, "x.tsv:4:5")(ListOps.Convert(context.Background(), from, to, ConvertOptions{Split: "val"}))
	// A failed conversion must leave the data set unchanged.
	if d, err = seq.OpenDataset(to); err != nil || d.Verify() != nil || len(d.Manifest.Splits) != 2 {
		t.Errorf("the data set changed after a failed conversion: %v, error %v", d, err)
	}
	must.Succeed(t, os.WriteFile(from, []byte(tsv), 0o666))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	must.FailWith(t, context.Canceled)(ListOps.Convert(ctx, from, to, ConvertOptions{Split: "val"}))
}
