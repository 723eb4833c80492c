package cloud

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipes checks that conversion skips a pipe among the clouds' files, and that Find refuses a pipe in
// place of ModelNet's list of classes. Reading a pipe would block.
func TestPipes(t *testing.T) {
	from := modelNet(t)
	pipe := func(name string) {
		if err := syscall.Mkfifo(filepath.Join(from, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(from, "bed/bed_0002.txt")); err != nil {
		t.Fatal(err)
	}
	pipe("bed/bed_0002.txt")
	_, skipped, err := convert(t, from, Options{Points: 5})
	if err != nil || !strings.Contains(skipped.String(), "bed_0002.txt: expected a file, found a pipe or a device\n") {
		t.Errorf("got skipped files %s and error %v, want the pipe skipped", skipped, err)
	}
	if err := os.Remove(filepath.Join(from, ModelNetClasses)); err != nil {
		t.Fatal(err)
	}
	pipe(ModelNetClasses)
	if _, err := Find(from); err == nil ||
		!strings.HasSuffix(err.Error(), ModelNetClasses+": expected a file, found a pipe or a device") {
		t.Errorf("got error %v, want the pipe refused", err)
	}
}
