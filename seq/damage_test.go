package seq

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// inspectPath returns the result of Inspect for the file at path.
func inspectPath(path string) (*Info, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return Inspect(r)
}

// TestDamagedSplit changes one byte of a split's file at a time. It checks that opening the split for
// random access and reading it to its end report the damage, even if the changed byte results in
// another valid row.
func TestDamagedSplit(t *testing.T) {
	dir := t.TempDir()
	d := buildDataset(t, dir)
	path := d.path("train")
	intact := must.Get(os.ReadFile(path))(t)
	changes := 1200
	if testing.Short() {
		changes = 200
	}
	readers := map[string]func() error{
		"at random": func() error {
			f, err := d.Open("train")
			if err == nil {
				f.Close()
			}
			return err
		},
		"to the end": func() error {
			r, err := d.Reader("train")
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = Inspect(r)
			return err
		},
	}
	for name, read := range readers {
		must.Succeed(t, read(), name, "the unchanged file")
	}
	valid := 0
	random := rand.New(rand.NewPCG(16, 7))
	for range changes {
		offset, flip := random.IntN(len(intact)), byte(1+random.IntN(255))
		damaged := append([]byte(nil), intact...)
		damaged[offset] ^= flip
		must.Succeed(t, os.WriteFile(path, damaged, 0o666))
		if _, err := inspectPath(path); err == nil {
			valid++
		}
		for name, read := range readers {
			if err := read(); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: byte %d xor %#x: error %v, want one that names the file", name, offset, flip, err)
			}
		}
	}
	if valid < changes/20 {
		t.Errorf("%d of %d changed bytes resulted in other valid files, want at least 5%% for this test", valid,
			changes)
	}
}

// TestDamagedWhileOpen checks that random access detects a byte that changed after the file was
// opened, when it reads the record batch again.
func TestDamagedWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.arrow")
	spec := listopsSpec()
	rows := examples(40, 50, spec, 1)
	intact := encode(t, rows, spec, FileFormat)
	random := rand.New(rand.NewPCG(16, 8))
	for range 200 {
		must.Succeed(t, os.WriteFile(path, intact, 0o666))
		f := must.Get(OpenFile(path))(t)
		from, to := f.batches.Bytes(0)
		offset := from + random.Int64N(to-from)
		damaged := append([]byte(nil), intact...)
		damaged[offset] ^= byte(1 + random.IntN(255))
		must.Succeed(t, os.WriteFile(path, damaged, 0o666))
		if e, err := f.Example(3); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("byte %d: read %v, error %v, want one that names the file", offset, e, err)
		}
		f.Close()
	}
}

// BenchmarkOpen measures opening a file of 64 MB for random access, with and without a stated
// checksum.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	builder := must.Get(CreateDataset(dir, listopsSpec(), false))(b)
	s := must.Get(builder.Split("train"))(b)
	for i := range 64_000 {
		must.Succeed(b, s.Write(Example{A: benchTokens(1000, i), Label: int32(i % 10)}))
	}
	must.Succeed(b, s.Close())
	d := must.Get(builder.Finish(nil))(b)
	size := d.Manifest.Splits["train"].Bytes
	for name, open := range map[string]func() (io.Closer, error){
		"stated": func() (io.Closer, error) { return d.Open("train") },
		"plain":  func() (io.Closer, error) { return OpenFile(d.path("train")) },
	} {
		b.Run(fmt.Sprintf("%s of %d MB", name, size>>20), func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				f, err := open()
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}

func benchTokens(n, seed int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = 1 + int32((i*7+seed)%16)
	}
	return out
}
