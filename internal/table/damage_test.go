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

// TestDamagedArrow changes single bytes of Arrow files of other programs. It checks that errors name the
// file and are not recovered runtime errors.
func TestDamagedArrow(t *testing.T) {
	columns := []string{"text", "word", "whole", "small", "huge", "real", "yes", "ids", "pixels", "bytes"}
	path := filepath.Join(t.TempDir(), "x")
	trials := 400
	if testing.Short() {
		trials = 40
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
	files, rejected := 0, 0
	for _, name := range otherFiles(t) {
		if !slices.Contains([]string{".arrow", ".arrows"}, filepath.Ext(name)) {
			continue
		}
		files++
		whole := must.Get(os.ReadFile(name))(t)
		random := rand.New(rand.NewPCG(16, uint64(files)))
		for range trials {
			at, flip := random.IntN(len(whole)), byte(1+random.IntN(255))
			damaged := slices.Clone(whole)
			damaged[at] ^= flip
			must.Succeed(t, os.WriteFile(path, damaged, 0o666))
			err := read()
			if err == io.EOF {
				continue
			}
			rejected++
			if text := err.Error(); strings.Contains(text, "runtime error") || strings.Contains(text, "out of range") ||
				!strings.Contains(text, path) {
				t.Errorf("%s: byte %d xor %#x: got error %v, want an error with the path and no runtime error",
					filepath.Base(name), at, flip, err)
			}
		}
	}
	if files < 10 || rejected < files*trials/10 {
		t.Errorf("got errors for %d of %d damaged copies of %d files, want at least a tenth of the copies and 10 files",
			rejected, files*trials, files)
	}
}

// TestDamagedParquet flips single bits of the smallest Parquet file. It checks that errors name the file
// and are not recovered runtime errors.
func TestDamagedParquet(t *testing.T) {
	var whole []byte
	for _, name := range otherFiles(t) {
		if content := must.Get(os.ReadFile(name))(t); filepath.Ext(name) == ".parquet" &&
			(whole == nil || len(content) < len(whole)) {
			whole = content
		}
	}
	path, step := filepath.Join(t.TempDir(), "x.parquet"), 1
	if testing.Short() {
		step = 5
	}
	must.Succeed(t, os.WriteFile(path, whole, 0o666))
	columns := must.Get(Open(t.Context(), path, Options{}))(t).Columns()
	rejected := 0
	for bit := 0; bit < 8*len(whole); bit += step {
		damaged := slices.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		must.Succeed(t, os.WriteFile(path, damaged, 0o666))
		in, err := Open(t.Context(), path, Options{MaxField: 1 << 20, Columns: columns})
		if err == nil {
			for row := (Row{}); err == nil; {
				err = in.Next(&row)
			}
			in.Close()
		}
		if err == io.EOF {
			continue
		}
		rejected++
		if text := err.Error(); strings.Contains(text, "runtime error") || strings.Contains(text, "out of range") ||
			!strings.Contains(text, path) {
			t.Fatalf("bit %d of %d: got error %v, want an error with the path and no runtime error",
				bit, 8*len(whole), err)
		}
	}
	if rejected < 8*len(whole)/step/20 {
		t.Errorf("got errors for %d of %d damaged copies, want at least a twentieth of them", rejected,
			8*len(whole)/step)
	}
}
