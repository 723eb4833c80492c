package cloud

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestCopies checks that copies of a file are in its split and are counted, even if they are in
// another class. Copies in the folders of two splits must be counted as copies in another split.
func TestCopies(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, n int) {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Succeed(t, os.WriteFile(path, fmt.Appendf(nil, "0 0 %d\n1 0 0\n0 1 0\n", 10+n), 0o666))
	}
	for i := range 40 {
		write(fmt.Sprintf("ball/%d.xyz", i), i)
		write(fmt.Sprintf("cube/%d.xyz", i), 40+i)
	}
	for i := range 10 {
		write(fmt.Sprintf("ball/copy%d.xyz", i), i)
	}
	write("cube/copy.xyz", 0)
	write("train/ball/copy.xyz", 1)
	write("test/ball/copy.xyz", 1)
	files := must.Get(Find(dir))(t)
	d, skipped, err := Convert(t.Context(), files, filepath.Join(t.TempDir(), "set"),
		Options{Points: 3, ValPart: 0.3, TestPart: 0.3})
	must.Succeed(t, err)
	splits := map[string]string{}
	for _, split := range d.Manifest.SplitNames() {
		for id := range ids(t, d, split) {
			splits[id] = split
		}
	}
	for i := range 10 {
		if got, want := splits[fmt.Sprintf("ball/copy%d", i)], splits[fmt.Sprintf("ball/%d", i)]; got != want {
			t.Errorf("the copy of ball/%d is in %s, want %s", i, got, want)
		}
	}
	if splits["cube/copy"] != splits["ball/0"] {
		t.Errorf("the copy in another class is in %s, want %s", splits["cube/copy"], splits["ball/0"])
	}
	if skipped.Repeated.Rows != 13 || skipped.OtherLabel != 1 || skipped.OtherSplit.Rows == 0 || len(splits) != 93 {
		t.Errorf("got %d copies, %d of another class, %d in another split, %d rows, want 13, 1, at least 1 and 93\n%s",
			skipped.Repeated.Rows, skipped.OtherLabel, skipped.OtherSplit.Rows, len(splits), skipped)
	}
}

// TestCopiesOfPoints checks that copies with another file format, number format or order of lines
// are in the split of the first file.
func TestCopiesOfPoints(t *testing.T) {
	dir := t.TempDir()
	for i := range 40 {
		write(t, filepath.Join(dir, fmt.Sprintf("ball/a%d.xyz", i)), fmt.Sprintf("0 0 %d\n1 0 0.5\n0 1 0\n", 10+i))
		write(t, filepath.Join(dir, fmt.Sprintf("ball/b%d.txt", i)),
			fmt.Sprintf("-0.0,1.00,0e0\n0,0,%d.000\n1,0,5e-1\n", 10+i))
		write(t, filepath.Join(dir, fmt.Sprintf("cube/c%d.ply", i)),
			fmt.Sprintf("ply\nformat ascii 1.0\nelement vertex 3\n"+
				"property float z\nproperty double x\nproperty float y\nend_header\n%d 0 0\n0.5 1 0\n0 0 1\n", 10+i))
	}
	d, skipped, err := Convert(t.Context(), must.Get(Find(dir))(t), filepath.Join(t.TempDir(), "set"),
		Options{Points: 3, ValPart: 0.3, TestPart: 0.3})
	must.Succeed(t, err)
	for _, split := range []string{"train", "val", "test"} {
		in := ids(t, d, split)
		for id := range in {
			for _, other := range []string{"ball/a", "ball/b", "cube/c"} {
				if _, ok := in[other+id[len(other):]]; !ok {
					t.Errorf("%s is in %s, but %s is not", id, split, other+id[len(other):])
				}
			}
		}
	}
	if skipped.Repeated.Rows != 80 || skipped.OtherLabel != 40 || skipped.OtherSplit.Rows != 0 {
		t.Errorf("got %d copies, %d of another class, %d in another split, want 80, 40 and 0", skipped.Repeated.Rows,
			skipped.OtherLabel, skipped.OtherSplit.Rows)
	}
}
