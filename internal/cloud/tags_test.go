package cloud

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestTagNames checks that tags are sorted by class and by part number.
func TestTagNames(t *testing.T) {
	from := t.TempDir()
	write(t, filepath.Join(from, "mug/train/a.xyz"), "0 0 0 10\n1 1 1 9\n")
	write(t, filepath.Join(from, "cup/train/b.xyz"), "0 0 0 11\n1 1 1 11\n")
	d, skipped, err := convert(t, from, Options{Points: 2, Parts: true})
	if err != nil || skipped.Left() > 0 {
		t.Fatalf("got report %q, error %v; want no row left out", skipped, err)
	}
	if got, want := fmt.Sprintf("%q", d.Manifest.LabelNames), `["cup/11" "mug/9" "mug/10"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
