package lra

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// firstIDs returns the ids of a split's first record batch.
func firstIDs(t *testing.T, d *seq.Dataset, split string) (ids []string) {
	t.Helper()
	path := must.Get(d.Path(split))(t)
	r := must.Get(seq.Open(path))(t)
	defer r.Close()
	rows := must.Get(r.Next())(t)
	for i := range rows.Len() {
		ids = append(ids, rows.ID(i))
	}
	return ids
}

// TestImportedIDs checks that the id of a review is its file, and that the id of an image is its
// file and record number.
func TestImportedIDs(t *testing.T) {
	files := map[string]string{"test_batch.bin": cifarBatch(3)}
	for i := range 5 {
		files["data_batch_"+string(rune('1'+i))+".bin"] = cifarBatch(4)
	}
	images := must.Get(Image.Convert(context.Background(), writeDir(t, files), t.TempDir(), ConvertOptions{}))(t)
	if got := fmt.Sprint(firstIDs(t, images, "val"),
		firstIDs(t, images, "test")); got != "[data_batch_5.bin:2 data_batch_5.bin:3] [test_batch.bin:0 test_batch.bin:1 test_batch.bin:2]" {
		t.Errorf("ids of images %s, want records 2 and 3 of data_batch_5.bin, and 0 to 2 of test_batch.bin", got)
	}
	texts, err := Text.Convert(context.Background(), writeArchive(t, reviews(), "aclImdb/"), t.TempDir(),
		ConvertOptions{})
	must.Succeed(t, err)
	for split, from := range map[string]string{"train": "train", "val": "train", "test": "test"} {
		seen := map[string]bool{}
		for _, id := range firstIDs(t, texts, split) {
			if seen[id] || !regexp.MustCompile(`^`+from+`/(pos|neg)/\d+_\d+\.txt$`).MatchString(id) {
				t.Errorf("split %s: id %q occurs twice or is not a file of the split", split, id)
			}
			seen[id] = true
		}
	}
	if ids := firstIDs(t, texts, "test"); len(ids) == 0 || strings.HasPrefix(ids[0], "/") {
		t.Errorf("ids of test reviews %q, want relative paths", ids)
	}
}
