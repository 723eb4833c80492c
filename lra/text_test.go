package lra

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// TestTextOfficial checks the import of the real reviews. Another program computed the counts and
// checksums. The checksum covers the label, the length in four bytes and the text of each row.
func TestTextOfficial(t *testing.T) {
	testenv.Long(t, "converts a whole data set")
	d, err := Text.Convert(context.Background(), filepath.Join(testenv.NeedData(t, "imdb"), "aclImdb_labeled.tar.gz"),
		t.TempDir(), ConvertOptions{})
	must.Succeed(t, err)
	for split, want := range map[string]struct {
		rows, positive int64
		sum            string
	}{
		"train": {22890, 11510, "0b7eba3f417a096004af0199a84477372d63f13e0f88c51d476e4213d1ff78b7"},
		"val":   {2110, 990, "b5d837bf340caf8b5b223e711be59b398a17c07b3abe2bf38247d560ecb9da4a"},
		"test":  {25000, 12500, "be7adc763e809e7fdc12438c541ee62a62a550a6161e4658a6bcacd5ee1b5680"},
	} {
		info := d.Manifest.Splits[split]
		if info.Rows != want.rows || info.Labels["positive"] != want.positive {
			t.Errorf("%s: %d rows, labels %v; want %d rows, %d positive", split, info.Rows, info.Labels, want.rows,
				want.positive)
		}
		h := sha256.New()
		forEachRow(t, d, split, func(e seq.Example) {
			h.Write([]byte{byte(e.Label)})
			binary.Write(h, binary.LittleEndian, uint32(len(e.A)))
			for _, id := range e.A {
				h.Write([]byte{byte(id - 1)})
			}
		})
		if got := hex.EncodeToString(h.Sum(nil)); got != want.sum {
			t.Errorf("%s: checksum of the rows %s, want %s", split, got, want.sum)
		}
	}
}

// reviews returns small files in the official layout: 40 training reviews of 5 films, and 2 test
// reviews.
func reviews() map[string]string {
	files := map[string]string{"README": "not a review", "train/unsup/0_0.txt": "neither"}
	for _, polarity := range []string{"pos", "neg"} {
		var films strings.Builder
		for i := range 20 {
			fmt.Fprintf(&films, "http://film/%d\n", 37+i/4)
			files[fmt.Sprintf("train/%s/%d_9.txt", polarity, i)] = fmt.Sprintf("%s %d", polarity, i)
		}
		files["train/urls_"+polarity+".txt"] = films.String()
		files["test/"+polarity+"/0_9.txt"] = "test " + polarity
	}
	return files
}

// writeArchive writes a compressed tar archive of the files, in random order, and returns its path.
func writeArchive(t testing.TB, files map[string]string, prefix string) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, text := range files {
		must.Succeed(t, w.WriteHeader(&tar.Header{Name: prefix + name, Mode: 0o600, Size: int64(len(text))}))
		w.Write([]byte(text))
	}
	w.Close()
	path := filepath.Join(t.TempDir(), "reviews.tar.gz")
	must.Succeed(t, os.WriteFile(path, []byte(compress(out.String())), 0o666))
	return path
}

// TestText checks that a directory and an archive result in the same data set, and that no film is in
// both the training and the validation split.
func TestText(t *testing.T) {
	files := reviews()
	var sums []string
	for _, from := range []string{writeDir(t, files), writeArchive(t, files, "aclImdb/"), writeArchive(t, files,
		"./")} {
		d := must.Get(Text.Convert(context.Background(), from, t.TempDir(), ConvertOptions{}))(t)
		sums = append(sums, d.Manifest.Splits["train"].Checksum+d.Manifest.Splits["val"].Checksum+
			d.Manifest.Splits["test"].Checksum)
		films := map[string]string{}
		for _, split := range []string{"train", "val"} {
			forEachRow(t, d, split, func(e seq.Example) {
				var polarity string
				var number int
				text := string(bytesOf(e.A))
				if _, err := fmt.Sscanf(text, "%s %d", &polarity, &number); err != nil ||
					(polarity == "pos") != (e.Label == 1) {
					t.Errorf("review %q has label %d", text, e.Label)
				}
				film := fmt.Sprint(37 + number/4)
				if before, ok := films[film]; ok && before != split {
					t.Errorf("film %s is in the splits %s and %s", film, before, split)
				}
				films[film] = split
			})
		}
		if len(films) != 5 || d.Manifest.Splits["val"].Rows == 0 {
			t.Errorf("films %v, want 5; and a validation split with rows", films)
		}
	}
	if sums[0] != sums[1] || sums[0] != sums[2] {
		t.Error("a directory and an archive result in different data sets")
	}
}

// bytesOf decodes tokens of the byte tokenizer.
func bytesOf(tokens []int32) []byte {
	out := make([]byte, len(tokens))
	for i, id := range tokens {
		out[i] = byte(id - 1)
	}
	return out
}

// TestBadText checks that the error for invalid reviews names the file and the defect, and that no
// data set is written.
func TestBadText(t *testing.T) {
	for name, c := range map[string]struct {
		change func(files map[string]string)
		want   string
	}{
		"no reviews": {func(f map[string]string) { clear(f) }, "no reviews for the split train"},
		"no test": {func(f map[string]string) { delete(f, "test/pos/0_9.txt"); delete(f, "test/neg/0_9.txt") },
			"no reviews for the split test"},
		"no films": {func(f map[string]string) { delete(f, "train/urls_neg.txt") },
			"train/urls_neg.txt: expected the film of review 0, found 0 films"},
		"too few films": {func(f map[string]string) { f["train/urls_pos.txt"] = "a\nb\n" },
			"train/urls_pos.txt: expected the film of review 2, found 2 films"},
		"an empty review": {func(f map[string]string) { f["train/pos/3_9.txt"] = "" },
			"train/pos/3_9.txt: the review is empty"},
		"a huge review": {func(f map[string]string) { f["train/pos/3_9.txt"] = strings.Repeat("a", maxReview+1) },
			"train/pos/3_9.txt: expected at most"},
	} {
		files := reviews()
		c.change(files)
		to := t.TempDir()
		must.Fail(t, c.want, name)(Text.Convert(context.Background(), writeDir(t, files), to, ConvertOptions{}))
		if files, _ := os.ReadDir(to); len(files) != 0 {
			t.Errorf("%s: found the files %v, want none", name, files)
		}
	}
	path := writeArchive(t, reviews(), "")
	text := must.Get(os.ReadFile(path))(t)
	must.Succeed(t, os.WriteFile(path, text[:len(text)/2], 0o666))
	if _, err := Text.Convert(context.Background(), path, t.TempDir(), ConvertOptions{}); err == nil ||
		!strings.Contains(err.Error(), "reviews.tar.gz: ") || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("truncated archive: error %v, want io.ErrUnexpectedEOF and the name of the file", err)
	}
	if _, err := Text.Convert(context.Background(), path, t.TempDir(), ConvertOptions{Split: "val"}); err == nil {
		t.Error("converting an archive with a split name succeeded, want an error")
	}
}
