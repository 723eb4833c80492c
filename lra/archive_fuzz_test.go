package lra

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// member is a file of an archive.
type member struct{ name, text string }

// tarOf returns an archive of files in the given order, or nil if an archive cannot hold them.
func tarOf(t testing.TB, members []member) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Mode: 0o600, Size: int64(len(m.text))}); err != nil {
			return nil // an archive cannot hold this member
		}
		io.WriteString(w, m.text)
	}
	must.Succeed(t, w.Close())
	return out.Bytes()
}

// FuzzReviews checks that the order of files in an archive does not change the imported reviews.
// Each imported review must have the text of its file, and the split and class of its path.
func FuzzReviews(f *testing.F) {
	var lines strings.Builder
	for name, text := range reviews() {
		fmt.Fprintf(&lines, "%s\t%s\n", name, strings.ReplaceAll(text, "\n", " "))
	}
	f.Add(lines.String())
	f.Add("train/pos/0_9.txt\ta\ntrain/pos/0_8.txt\tb\ntrain/pos/1_1.txt\td\ntrain/urls_pos.txt\thttp://film/38 http://film/39\ntest/neg/0_1.txt\tc\n")
	f.Add("train/pos/0_9.txt\ta\nx/train/pos/0_9.txt\tb\ntrain/urls_pos.txt\tu\ny/train/urls_pos.txt\tv\ntest/neg/0_1.txt\tc\ntrain/neg/0_1.txt\td\ntrain/urls_neg.txt\thttp://film/39\n")
	f.Add("test/neg/0_1.txt\t\n")
	path := filepath.Join(f.TempDir(), "x.tar")
	read := func(t *testing.T, members []member) (map[string][]seq.Example, error) {
		must.Succeed(t, os.WriteFile(path, tarOf(t, members), 0o666))
		data := imdb{from: path, films: map[bool][]string{}}
		err := walkFiles(t.Context(), path, nil, data.read)
		var splits map[string][]review
		if err == nil {
			splits, err = data.splits()
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), path+": ") {
				t.Fatalf("the error does not begin with the file: %v", err)
			}
			return nil, err
		}
		out := map[string][]seq.Example{}
		for name, reviews := range splits {
			for e, err := range data.rows(reviews) {
				must.Succeed(t, err)
				out[name] = append(out[name], e)
			}
		}
		return out, nil
	}
	f.Fuzz(func(t *testing.T, text string) {
		defer testenv.FuzzLimits(t, 32<<20+10000*len(text))()
		var members []member
		for line := range strings.SplitSeq(text, "\n") {
			if name, text, ok := strings.Cut(line, "\t"); ok {
				members = append(members, member{name, strings.ReplaceAll(text, " ", "\n")})
			}
		}
		if tarOf(t, members) == nil {
			return
		}
		splits, err := read(t, members)
		reversed := slices.Clone(members)
		slices.Reverse(reversed)
		again, reversedErr := read(t, reversed)
		if (err == nil) != (reversedErr == nil) || fmt.Sprint(splits) != fmt.Sprint(again) {
			t.Fatalf("splits %v, error %v; want the same with the files in reverse order, got %v, error %v", splits,
				err, again, reversedErr)
		}
		for name, rows := range splits {
			for _, e := range rows {
				index := slices.IndexFunc(members, func(m member) bool {
					return strings.HasSuffix("/"+m.name, "/"+e.ID) &&
						m.text == string(bytesOf(e.A))
				})
				if index < 0 || (name == "test") != strings.HasPrefix(e.ID, "test/") ||
					(e.Label == 1) != strings.Contains(e.ID, "/pos/") {
					t.Fatalf("split %s has review %s with label %d and text %q, want the text of this file, and the "+
						"split and label of its path", name, e.ID, e.Label, bytesOf(e.A))
				}
			}
		}
	})
}

// FuzzArchive checks that reading any archive needs bounded memory, and that an error names the
// archive. If repair is set, the test writes valid checksums into the headers, so that the fuzzer reaches
// the code behind the checksum.
func FuzzArchive(f *testing.F) {
	small := tarOf(f, []member{{"docs/a.txt", "one"}, {"docs/b.txt", strings.Repeat("two ", 300)},
		{"train/pos/0_9.txt", "three"}, {"train/urls_pos.txt", "u\n"}})
	f.Add(small, true)
	f.Add([]byte(compress(string(small))), false)
	f.Add(small[:700], true)
	var sparse bytes.Buffer // a header that states more data than the archive has
	w := tar.NewWriter(&sparse)
	must.Succeed(f, w.WriteHeader(&tar.Header{Name: "docs/c.txt", Mode: 0o600, Size: 600, Format: tar.FormatGNU}))
	sparse.Write(make([]byte, 1024))
	f.Add(sparse.Bytes(), true)
	dir := f.TempDir()
	path := filepath.Join(dir, "x.tar")
	f.Fuzz(func(t *testing.T, archive []byte, repair bool) {
		defer testenv.FuzzLimits(t, 256<<20+10000*len(archive))()
		if repair {
			archive = withChecksums(archive)
		}
		must.Succeed(t, os.WriteFile(path, archive, 0o666))
		documents, err := readDocuments(t.Context(), dir, ConvertOptions{Documents: path})
		if err != nil && !strings.HasPrefix(err.Error(), path+": ") {
			t.Fatalf("the error does not begin with the file: %v", err)
		}
		for id, text := range documents {
			if len(text) > maxPair {
				t.Fatalf("document %q has %d bytes, more than the maximum", id, len(text))
			}
		}
		data := imdb{from: path, films: map[bool][]string{}}
		if err := walkFiles(t.Context(), path, nil, data.read); err != nil &&
			!strings.HasPrefix(err.Error(), path+": ") {
			t.Fatalf("the error does not begin with the file: %v", err)
		}
		for _, r := range data.reviews {
			if len(r.text) == 0 || len(r.text) > maxReview || r.number < 0 {
				t.Fatalf("review %q has %d bytes and the number %d, want 1 to the maximum and at least 0", r.file,
					len(r.text), r.number)
			}
		}
	})
}

// withChecksums returns the archive with a valid header checksum in each block of 512 bytes that does
// not begin with zero, even if the block is not a header.
func withChecksums(archive []byte) []byte {
	out := bytes.Clone(archive)
	for block := range slices.Chunk(out, 512) {
		if len(block) < 512 || block[0] == 0 {
			continue
		}
		copy(block[148:156], "        ")
		sum := 0
		for _, b := range block {
			sum += int(b)
		}
		copy(block[148:156], fmt.Sprintf("%06o\x00 ", sum))
	}
	return out
}
