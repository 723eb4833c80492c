package cloud

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"io"
	"math"
)

// original returns the relative path of the first file with the same content.
func (f *file) original() string { return cmp.Or(f.first, f.relative) }

// chance returns a generator of the random numbers that determine a file's split. Copies of a file get
// the same numbers.
func (c *converter) chance(f *file) func() float64 { return c.random(f.original(), 0) }

// findCopies finds files with the same content. They get the same split unless a folder or list
// determines it. findCopies reads only files of equal size. It does nothing for a task with known
// splits (Options.Spec).
func (c *converter) findCopies(ctx context.Context) error {
	if c.Spec != nil {
		return nil
	}
	sizes := map[int64]int{}
	for i := range c.files.list {
		sizes[sizeOf(c.files.list[i].path)]++
	}
	first := map[[sha256.Size]byte]string{}
	for i := range c.files.list {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := &c.files.list[i]
		if n := sizeOf(f.path); f.unused() != nil || n == 0 || sizes[n] < 2 {
			continue
		}
		hash, err := hashOf(f.path)
		if err != nil {
			continue // reading the points reports the error
		}
		if _, ok := first[hash]; !ok {
			first[hash] = f.relative
		}
		f.first = first[hash]
	}
	return nil
}

// hashOf returns the SHA-256 of the first maxBytes of a file.
func hashOf(path string) (hash [sha256.Size]byte, err error) {
	in, err := openFile(path)
	if err != nil {
		return hash, err
	}
	defer in.Close()
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(in, maxBytes))
	return [sha256.Size]byte(h.Sum(nil)), err
}

// hashOfPoints returns a hash of the coordinates of a shape's points as float32. It depends neither on
// the order of the points nor on the formats of the file and of its numbers.
func (s *Shape) hashOfPoints() (sum uint64) {
	h := fnv.New64a()
	var bytes [12]byte
	for _, p := range s.Points {
		for i, x := range p.float32() {
			binary.LittleEndian.PutUint32(bytes[4*i:], math.Float32bits(x+0)) // -0 becomes 0
		}
		h.Reset()
		h.Write(bytes[:]) // never fails
		sum += h.Sum64()
	}
	return sum + uint64(len(s.Points))
}

// adoptSplit moves a row to the split of an earlier row with the same points. Rows whose split a
// folder or list determines do not move, except between training and validation if some training
// files are used for validation.
func (c *converter) adoptSplit(r *row) {
	before := c.written[r.points]
	if c.Spec != nil || before == nil || before.split == r.split {
		return
	}
	if r.file.split == "" || r.file.split == "train" && c.training && before.split != "test" {
		r.split = before.split
	}
}

// countCopy counts a row if an earlier row has the same points, and otherwise records its points.
func (c *converter) countCopy(r *row) {
	if c.Spec != nil {
		return
	}
	before := c.written[r.points]
	if before == nil {
		c.written[r.points] = &file{class: r.file.class, split: r.split}
		return
	}
	position := func() string { return r.file.path }
	c.skipped.Repeated.Add(position)
	if before.class != r.file.class && !c.Parts {
		c.skipped.OtherLabel++
	}
	if before.split != r.split {
		c.skipped.OtherSplit.Add(position)
	}
}
