package table

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestDamagedArrow changes a byte at a time of what other programs wrote: an error says
// what is wrong with the file, and none that a program was taken by surprise.
func TestDamagedArrow(t *testing.T) {
	columns := []string{"text", "word", "whole", "small", "huge", "real", "yes", "ids", "pixels", "bytes"}
	path := filepath.Join(t.TempDir(), "x")
	damages := 400
	if testing.Short() {
		damages = 40
	}
	read := func() error {
		in, err := Open(t.Context(), path, Options{Columns: columns, Format: "arrow", MaxField: 1 << 20})
		if err != nil {
			return err
		}
		defer in.Close()
		var row Row
		for err == nil {
			err = in.Next(&row)
		}
		return err
	}
	files, refused := 0, 0
	for _, name := range others(t) {
		if !slices.Contains([]string{".arrow", ".arrows"}, filepath.Ext(name)) {
			continue
		}
		files++
		whole := must.Get(os.ReadFile(name))(t)
		random := rand.New(rand.NewPCG(16, uint64(files)))
		for range damages {
			at, flip := random.IntN(len(whole)), byte(1+random.IntN(255))
			damaged := slices.Clone(whole)
			damaged[at] ^= flip
			must.Succeed(t, os.WriteFile(path, damaged, 0o666))
			err := read()
			if err == io.EOF {
				continue
			}
			refused++
			if text := err.Error(); strings.Contains(text, "runtime error") || strings.Contains(text, "out of range") || !strings.Contains(text, path) {
				t.Errorf("%s: byte %d xor %#x: %v", filepath.Base(name), at, flip, err)
			}
		}
	}
	if files < 10 || refused < files*damages/10 {
		t.Errorf("%d of %d damages of %d files were seen", refused, files*damages, files)
	}
}
