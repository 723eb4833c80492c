package lra

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// forEachRow calls the function row for every row of a split.
func forEachRow(t testing.TB, d *seq.Dataset, split string, row func(seq.Example)) {
	t.Helper()
	f := must.Get(d.Open(split))(t)
	defer f.Close()
	for i := range f.Len() {
		e := must.Get(f.Example(i))(t)
		row(e)
	}
}

// grayRecordOf returns the gray record for a row.
func grayRecordOf(e seq.Example) []byte {
	record := []byte{byte(e.Label)}
	for _, id := range e.A {
		record = append(record, byte(id))
	}
	return record
}

// TestImageOfficial checks that the rows of the real images equal the gray records byte by byte, in
// order, and that the first 1,000 colour test images become the same gray levels.
func TestImageOfficial(t *testing.T) {
	testenv.Long(t, "converts a whole data set")
	from := testenv.NeedData(t, "cifar10")
	d, err := Image.Convert(context.Background(), from, t.TempDir(), ConvertOptions{})
	must.Succeed(t, err)
	for split, rows := range map[string]int64{"train": 45000, "val": 5000, "test": 10000} {
		if got := d.Manifest.Splits[split].Rows; got != rows {
			t.Errorf("%s: %d rows, want %d", split, got, rows)
		}
	}
	for class, n := range d.Manifest.Splits["test"].Labels {
		if n != 1000 {
			t.Errorf("%s: %d test rows, want 1000", class, n)
		}
		if m := d.Manifest.Splits["train"].Labels[class] + d.Manifest.Splits["val"].Labels[class]; m != 5000 {
			t.Errorf("%s: %d training and validation rows, want 5000", class, m)
		}
	}
	train, test := sha256.New(), sha256.New()
	var first []byte
	forEachRow(t, d, "train", func(e seq.Example) { train.Write(grayRecordOf(e)) })
	forEachRow(t, d, "val", func(e seq.Example) { train.Write(grayRecordOf(e)) })
	forEachRow(t, d, "test", func(e seq.Example) {
		test.Write(grayRecordOf(e))
		if len(first) < 1000*grayRecord {
			first = append(first, grayRecordOf(e)...)
		}
	})
	for name, got := range map[string][]byte{"cifar10_gray_train.bin.gz": train.Sum(nil),
		"cifar10_gray_test.bin.gz": test.Sum(nil)} {
		s := must.Get(source.Open(context.Background(), filepath.Join(from, name), nil))(t)
		defer s.Close()
		want := sha256.New()
		must.Get(io.Copy(want, s))(t)
		if string(got) != string(want.Sum(nil)) {
			t.Errorf("the rows differ from the records of %s", name)
		}
	}
	d, err = Image.Convert(context.Background(), filepath.Join(from, "rgb_test_first1000.bin.gz"),
		t.TempDir(), ConvertOptions{})
	must.Succeed(t, err)
	var gray []byte
	forEachRow(t, d, "test", func(e seq.Example) { gray = append(gray, grayRecordOf(e)...) })
	if len(gray) != 1000*grayRecord || string(gray) != string(first) {
		t.Error("the first 1,000 colour images differ from the first gray images")
	}
}

// cifarBatch returns n colour records. Image i has label i%10 and pixels of a single colour.
func cifarBatch(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteByte(byte(i % 10))
		for c := range 3 {
			out.WriteString(strings.Repeat(string([]byte{byte(i * (c + 1))}), imagePixels))
		}
	}
	return out.String()
}

// writeDir writes the files, by relative path, into a temporary directory and returns its path.
func writeDir(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Succeed(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	return dir
}

// TestImageBatches checks that the official files are read in their order, and that the last tenth
// becomes the validation split.
func TestImageBatches(t *testing.T) {
	files := map[string]string{"test_batch.bin": cifarBatch(3)}
	for i := range 5 {
		files["data_batch_"+string(rune('1'+i))+".bin"] = cifarBatch(4 + i)
	}
	d := must.Get(Image.Convert(context.Background(), writeDir(t, files), t.TempDir(), ConvertOptions{}))(t)
	var labels []int32
	for _, split := range []string{"train", "val", "test"} {
		forEachRow(t, d, split, func(e seq.Example) { labels = append(labels, e.Label) })
	}
	want := []int32{0, 1, 2, 3, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2}
	if len(labels) != len(want) || d.Manifest.Splits["val"].Rows != 3 {
		t.Fatalf("labels %v, %d validation rows; want %d labels, 3 validation rows", labels,
			d.Manifest.Splits["val"].Rows, len(want))
	}
	for i := range want {
		if labels[i] != want[i] {
			t.Fatalf("labels %v, want %v", labels, want)
		}
	}
}

// TestBadImages checks the errors for invalid directories of images and for a directory with a split
// name.
func TestBadImages(t *testing.T) {
	gray := strings.Repeat("\x01", grayRecord)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no files": {nil, ": found no file of CIFAR-10: expected data_batch_1.bin, data_batch_2.bin, " +
			"data_batch_3.bin, data_batch_4.bin, data_batch_5.bin, test_batch.bin; or cifar10_gray_train.bin, " +
			"cifar10_gray_test.bin (plain, .gz or .zst)"},
		"no second batch": {map[string]string{"data_batch_1.bin": cifarBatch(1)}, "data_batch_2.bin is missing"},
		"no test":         {map[string]string{"cifar10_gray_train.bin": gray}, "cifar10_gray_test.bin is missing"},
		"a label": {map[string]string{"cifar10_gray_train.bin": gray,
			"cifar10_gray_test.bin": gray + "\x0a" + gray[1:]},
			"cifar10_gray_test.bin: record 1: expected a label from 0 to 9, found 10"},
		"cut off": {map[string]string{"cifar10_gray_train.bin": gray, "cifar10_gray_test.bin": gray[5:]},
			"found 1020 bytes"},
		"empty": {map[string]string{"cifar10_gray_train.bin": gray, "cifar10_gray_test.bin": ""},
			"found 0 bytes"},
		"a torn archive": {map[string]string{"cifar10_gray_train.bin": gray,
			"cifar10_gray_test.bin.gz": compress(gray)[:20]}, "cifar10_gray_test.bin.gz: the file is incomplete: the gzip data end too early"},
		"no archive": {map[string]string{"cifar10_gray_train.bin": gray, "cifar10_gray_test.bin.gz": "\x1f\x8b"},
			"cifar10_gray_test.bin.gz"},
		"a directory with a split name": {map[string]string{},
			"split \"val\": expected a single file, found a directory, whose files determine the splits"},
	} {
		o := ConvertOptions{}
		if name == "a directory with a split name" {
			o.Split = "val"
		}
		must.Fail(t, c.want, name)(Image.Convert(context.Background(), writeDir(t, c.files), t.TempDir(), o))
	}
}

// TestGrayLevel checks the gray levels of black, white and the three primary colours.
func TestGrayLevel(t *testing.T) {
	for _, c := range []struct{ r, g, b, want byte }{{0, 0, 0, 0}, {255, 255, 255, 255}, {255, 0, 0, 76},
		{0, 255, 0, 149}, {0, 0, 255, 29}} {
		if got := grayLevel(c.r, c.g, c.b); got != c.want {
			t.Errorf("gray level of %d, %d, %d is %d, want %d", c.r, c.g, c.b, got, c.want)
		}
	}
}
