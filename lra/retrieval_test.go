package lra

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// TestRetrievalSubstitutes checks the import of real pairs that replace the official pairs. Another
// program computed the counts and checksums. The checksum covers the label of each row, and the
// length in four bytes and the bytes of each text.
func TestRetrievalSubstitutes(t *testing.T) {
	testenv.Long(t, "converts a whole data set")
	type split struct {
		rows, related int64
		sum           string
	}
	for _, c := range []struct {
		folder, docs, name string
		splits             map[string]split
	}{
		{"aan-scisumm", "docs.tsv.gz", "aan_pairs", map[string]split{
			"train": {4420, 2210, "64ad1f2fd841a34d82ade5398ee644ea96fc3e276c8d2eaddd64d495b16304ae"},
			"val":   {552, 276, "684e2f039e118dddb88a057326f7e15a8aead58375c54b0ea505751a714c9349"},
			"test":  {550, 275, "da73897aa5577bfec198aa6b263c4ad9c9d2454d0a9adbd5e42ec5471b87f18a"},
		}},
		{"imdb", "aclImdb_labeled.tar.gz", "same_movie_pairs", map[string]split{
			"train": {80000, 40000, "cf227127890cf15f9de471a8a75a9cf02a046fa1bd2b3f7d6931f83d2052ad13"},
			"val":   {5000, 2500, "1d23f084e3a587ffdfdb2d931b4a47d2d07b9e0cfee60acaf4082e46292fb8d3"},
			"test":  {20000, 10000, "28ca47b01136fff55179b774aae19a1025a17ad9dbbf5ec158cfc4b6743dfc9c"},
		}},
	} {
		from := testenv.NeedData(t, c.folder)
		d, err := Retrieval.Convert(context.Background(), from, t.TempDir(),
			ConvertOptions{Documents: filepath.Join(from, c.docs)})
		must.Succeed(t, err)
		if d.Manifest.Name != c.name {
			t.Errorf("name of the data set %s, want %s", d.Manifest.Name, c.name)
		}
		for name, want := range c.splits {
			info := d.Manifest.Splits[name]
			if info.Rows != want.rows || info.Labels["related"] != want.related {
				t.Errorf("%s %s: %d rows, labels %v; want %d rows, %d related", c.name, name, info.Rows,
					info.Labels, want.rows, want.related)
			}
			if info.Rows > 50000 {
				continue // save time: the smaller splits cover the reading of ids and documents
			}
			h := sha256.New()
			forEachRow(t, d, name, func(e seq.Example) {
				h.Write([]byte{byte(e.Label)})
				for _, tokens := range [][]int32{e.A, e.B} {
					binary.Write(h, binary.LittleEndian, uint32(len(tokens)))
					h.Write(bytesOf(tokens))
				}
			})
			if got := hex.EncodeToString(h.Sum(nil)); got != want.sum {
				t.Errorf("%s %s: checksum of the rows %s, want %s", c.name, name, got, want.sum)
			}
		}
	}
}

// officialPairFiles returns small files in the official layout, one of them compressed.
func officialPairFiles() map[string]string {
	return map[string]string{
		"new_aan_pairs.train.tsv": "1.0\ta\tb\tfirst \"quoted\ttext\n0.0\ta\tc\tfirst\tthird\r\n",
		"new_aan_pairs.eval.tsv":  "1\ta\tb\tx\ty\n",
		"new_aan_pairs.test.tsv":  compress("0\ta\tb\tz\tü\n"),
	}
}

// TestRetrieval checks that the official files become the expected rows.
func TestRetrieval(t *testing.T) {
	d := must.Get(Retrieval.Convert(context.Background(), writeDir(t, officialPairFiles()), t.TempDir(),
		ConvertOptions{}))(t)
	if d.Manifest.Name != "retrieval" {
		t.Errorf("name of the official pairs %s, want retrieval", d.Manifest.Name)
	}
	var got []string
	for _, split := range []string{"train", "val", "test"} {
		forEachRow(t, d, split, func(e seq.Example) {
			got = append(got, Retrieval.Labels[e.Label]+" "+string(bytesOf(e.A))+"|"+string(bytesOf(e.B)))
		})
	}
	want := []string{`related first "quoted|text`, "unrelated first|third", "related x|y", "unrelated z|ü"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("rows %q, want %q", got, want)
	}
}

// TestRetrievalIDs checks that documents in a file, a directory and an archive result in the same
// training rows.
func TestRetrievalIDs(t *testing.T) {
	ids := map[string]string{"x.train.only_ids.tsv": "1\td/1\td/2\n0\td/2\td/1\n",
		"x.eval.only_ids.tsv": "1\td/1\td/1\n", "x.test.only_ids.tsv": "0\td/2\td/2\n"}
	texts := map[string]string{"d/1.txt": "one", "d/2.txt": "two", "e/README": "no document"}
	var sums []string
	for _, docs := range []string{
		filepath.Join(writeDir(t, map[string]string{"y.tsv": "d/1\tone\nd/2\ttwo\n"}), "y.tsv"),
		writeDir(t, texts), writeArchive(t, texts, "top/"),
	} {
		d, err := Retrieval.Convert(context.Background(), writeDir(t, ids), t.TempDir(),
			ConvertOptions{Documents: docs})
		must.Succeed(t, err)
		sums = append(sums, d.Manifest.Name+d.Manifest.Splits["train"].Checksum)
	}
	if sums[0] != sums[1] || sums[0] != sums[2] || !strings.HasPrefix(sums[0], "x") {
		t.Errorf("names and checksums %q, want three equal ones that begin with x", sums)
	}
}

// TestBadPairs checks the errors for invalid pairs, and for missing or invalid documents.
func TestBadPairs(t *testing.T) {
	ids := map[string]string{"x.train.only_ids.tsv": "1\ta\tb\n", "x.eval.only_ids.tsv": "1\ta\tb\n",
		"x.test.only_ids.tsv": "1\ta\tb\n", "docs.tsv": "a\tone\nb\ttwo\n"}
	for name, c := range map[string]struct {
		base map[string]string
		file string
		text string
		want string
	}{
		"a label": {officialPairFiles(), "new_aan_pairs.eval.tsv", "1\ta\tb\tx\ty\n2\ta\tb\tx\ty\n",
			`new_aan_pairs.eval.tsv:2: expected the label 0 or 1, found "2"`},
		"too few fields": {officialPairFiles(), "new_aan_pairs.eval.tsv", "1\ta\tb\tx\n",
			"new_aan_pairs.eval.tsv:1: expected 5 tab-separated fields, found 4"},
		"too many fields": {officialPairFiles(), "new_aan_pairs.eval.tsv", "1\ta\tb\tx\ty\tz\n",
			"new_aan_pairs.eval.tsv:1: expected 5 tab-separated fields, found 6"},
		"an empty text": {officialPairFiles(), "new_aan_pairs.eval.tsv", "1\ta\tb\tx\t\n",
			`new_aan_pairs.eval.tsv:1: the text of "b" is empty`},
		"an empty file": {officialPairFiles(), "new_aan_pairs.eval.tsv", "",
			"new_aan_pairs.eval.tsv: the file is empty"},
		"an unknown id": {ids, "x.test.only_ids.tsv", "1\ta\tc\n",
			`x.test.only_ids.tsv:1: document "c" is missing among the 2`},
		"ids and texts": {ids, "x.test.only_ids.tsv", "1\ta\tb\tx\ty\n",
			"x.test.only_ids.tsv:1: expected 3 tab-separated fields"},
		"a document twice": {ids, "docs.tsv", "a\tone\na\ttwo\n",
			"docs.tsv:2: expected an id that is not a duplicate, a tab and a text"},
		"no documents":      {ids, "docs.tsv", "\x00", ""},
		"two sets of pairs": {ids, "y.train.only_ids.tsv", "1\ta\tb\n", "found 2"},
	} {
		files := map[string]string{}
		for k, v := range c.base {
			files[k] = v
		}
		files[c.file] = c.text
		must.Fail(t, c.want, name)(Retrieval.Convert(context.Background(), writeDir(t, files),
			t.TempDir(), ConvertOptions{}))
	}
	delete(ids, "docs.tsv")
	if _, err := Retrieval.Convert(context.Background(), writeDir(t, ids), t.TempDir(), ConvertOptions{}); err == nil ||
		!strings.Contains(err.Error(), "docs.tsv is missing") || !strings.Contains(err.Error(), "--docs") {
		t.Errorf("error %v, want one that names docs.tsv and --docs", err)
	}
}

// TestBadDocuments checks that duplicate documents and documents above the maximum size are refused.
func TestBadDocuments(t *testing.T) {
	twice := filepath.Join(t.TempDir(), "x.tar")
	must.Succeed(t, os.WriteFile(twice, tarOf(t, []member{{"a.txt", "one"}, {"./a.txt", "two"}}), 0o666))
	long := t.TempDir()
	must.Succeed(t, errors.Join(os.WriteFile(filepath.Join(long, "b.txt"), nil, 0o666),
		os.Truncate(filepath.Join(long, "b.txt"), maxPair+1)))
	for path, want := range map[string]string{twice: "x.tar: ./a.txt: duplicate document",
		long: "b.txt: expected at most 67108864 bytes"} {
		must.Fail(t, want)(readDocuments(t.Context(), "", ConvertOptions{Documents: path}))
	}
}
