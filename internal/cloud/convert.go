package cloud

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/parallel"
	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

// Options configure [Convert].
type Options struct {
	Points int  // points per cloud
	Parts  bool // tag each point CATEGORY/PART, from its class and the last number of its line
	Seed   uint64
	// fractions of the files that no folder or list assigns to a split; ValPart also applies to
	// training files if there are no validation files
	ValPart, TestPart float64
	// draw from point sets at random with replacement instead of by farthest point sampling
	Drawn bool
	// sample surfaces by farthest point sampling, too, from a denser uniform sample
	Farthest bool
	// specification of the rows if it is known in advance; nil derives it from the files. Files
	// with other classes or parts are left out
	Spec     *seq.Spec
	Strict   bool              // an unusable file is an error
	Replace  bool              // replace a complete data set
	Begin    func(files int64) // receives the number of files before reading; may be nil
	Progress func(files int64) // receives the number of files read since the last call; may be nil
}

// MaxPoints is the maximum number of points in a row.
const MaxPoints = 1 << 20

// CheckPoints returns an error unless n is from 1 to MaxPoints.
func CheckPoints(n int) error {
	if n < 1 || n > MaxPoints {
		return fmt.Errorf("expected 1 to %d points, found %d", MaxPoints, n)
	}
	return nil
}

// Validate returns an error if the number of points or a fraction is out of range.
func (o *Options) Validate() error {
	if err := CheckPoints(o.Points); err != nil {
		return err
	}
	if !(o.ValPart >= 0 && o.TestPart >= 0 && o.ValPart+o.TestPart < 1) {
		return fmt.Errorf("expected fractions for validation and test from 0 with a sum below 1, found %v and %v",
			o.ValPart, o.TestPart)
	}
	return nil
}

// row is a converted file.
type row struct {
	file    *file
	split   string
	example seq.Example
	normals bool               // whether the points have normals
	parts   []int              // part per point, with Options.Parts
	ignored string             // ignored columns, see Shape
	points  uint64             // hash of the file's points
	far     bool               // whether a few points far from all others determine the radius
	reason  *source.SkipReason // reason why the file is left out; nil for usable files
}

// converter is a running conversion.
type converter struct {
	Options
	files          *Files
	dir            string
	skipped        *source.Skipped
	builder        *seq.DatasetBuilder // nil before the first row
	splits         map[string]*seq.SplitWriter
	written        map[uint64]*file // first written file with each hash of points
	normals        bool             // whether the rows have normals; determined by Spec or the first row
	first          string           // relative path of the first file that became a row
	used           map[string]bool  // classes of the written rows
	ids            map[string]bool  // ids of the written rows
	tags           tags
	ignored        source.SkippedKind  // files with ignored columns
	far            source.SkippedKind  // files in which a few far points determine the radius
	assignedSplits map[uint64]string   // splits of small data sets by the file's key
	training       bool                // whether some training files are used for validation
	reading        *semaphore.Weighted // limits the total size of the files being read, in bytes
}

// Convert writes a data set with one cloud per file. A file's name and the seed determine the sampled
// points, and the split unless a folder or list determines it. Small data sets are also stratified by
// class. A cloud is centred and divided by its radius. Either all rows must have normals or none:
// o.Spec decides, or without it the first usable file, whose cloud has normals if the file has normals
// or faces. The returned report of skipped files is also valid if Convert returns an error.
func Convert(ctx context.Context, files *Files, dir string, o Options) (*seq.Dataset, *source.Skipped, error) {
	c := &converter{Options: o, files: files, dir: dir, skipped: source.NewSkipped(),
		splits:  map[string]*seq.SplitWriter{},
		written: map[uint64]*file{}, used: map[string]bool{}, ids: map[string]bool{},
		reading: semaphore.NewWeighted(maxBytes)}
	defer func() {
		if c.builder != nil {
			c.builder.Abort()
		}
	}()
	c.skipped.Content = "points"
	err := o.Validate()
	if err == nil {
		_, c.training = files.MissingSplits()
		err = c.findCopies(ctx)
		c.divide()
		if text := files.Others(); text != "" {
			c.skipped.Note("not read: " + text)
		}
	}
	if err == nil {
		if o.Begin != nil {
			o.Begin(int64(files.Len()))
		}
		err = c.convertAll(ctx)
	}
	if n := c.ignored.Rows; n > 0 {
		c.skipped.Note(fmt.Sprintf("%d files: columns 4 to 6 are ignored: expected normals of length 1, "+
			"found other vectors (colours, for example), first in %s", n, c.ignored.Places[0]))
	}
	if n := c.far.Rows; n > 0 {
		c.skipped.Note(fmt.Sprintf("%d files: a few points are more than %d times as far away as the others, "+
			"so scaling by the radius shrinks the others, first in %s: remove the distant points", n, farTimes, c.far.Places[0]))
	}
	if err != nil {
		return nil, c.skipped, err
	}
	d, err := c.finish(ctx)
	return d, c.skipped, err
}

// maxWaiting is the maximum total number of points in rows that wait to be written.
const maxWaiting = 2 * MaxPoints

// convertAll reads files on all CPUs and writes their rows in order. More CPUs do not raise the limits on
// its memory: files that are read concurrently have at most maxBytes in total, and waiting rows have at
// most maxWaiting points.
func (c *converter) convertAll(ctx context.Context) error {
	workers := runtime.GOMAXPROCS(0)
	for files := range slices.Chunk(c.files.list, max(1, min(4*workers, maxWaiting/c.Points))) {
		rows := make([]row, len(files))
		err := parallel.Do(ctx, workers, len(files), func(_, i int) error {
			rows[i] = c.read(ctx, &files[i])
			rows[i].split = c.split(&files[i], c.training)
			return ctx.Err() // the file may not have been read completely
		})
		if err != nil {
			return err
		}
		for i := range rows {
			if err := errors.Join(ctx.Err(), c.writeRow(&rows[i])); err != nil {
				return err
			}
		}
		if c.Progress != nil {
			c.Progress(int64(len(files)))
		}
	}
	return nil
}

// writeRow writes a row, or counts its file as unusable.
func (c *converter) writeRow(r *row) error {
	c.skipped.Read++
	if r.far {
		c.far.Add(func() string { return r.file.path })
	}
	if r.ignored != "" {
		c.ignored.Add(func() string { return r.file.path + ": " + r.ignored })
	}
	if r.reason == nil && c.builder == nil {
		if err := c.begin(r.normals); err != nil {
			return err
		}
		c.first = r.file.relative
	}
	if r.reason == nil && r.normals != c.normals && c.Spec != nil {
		message := "no normals, expected normals"
		if r.normals {
			message = "normals, expected no normals"
		}
		r.reason = source.Skip(message, nil)
	}
	if r.reason == nil && r.normals != c.normals {
		message := "no normals, but the first file, %s, has normals"
		if r.normals {
			message = "normals, but the first file, %s, has no normals"
		}
		r.reason = source.Skip(fmt.Sprintf(message, c.first), nil)
	}
	if r.reason == nil {
		r.reason = c.label(r)
	}
	if r.reason != nil && c.Strict {
		return fmt.Errorf("%s: %v", r.file.path, r.reason)
	}
	if r.reason != nil {
		c.skipped.Add(r.file.path, r.reason)
		return nil
	}
	c.adoptSplit(r)
	w := c.splits[r.split]
	if w == nil {
		var err error
		if w, err = c.builder.Split(r.split); err != nil {
			return err
		}
		c.splits[r.split] = w
	}
	if err := w.Write(r.example); err != nil {
		return fmt.Errorf("%s: %w", r.file.path, err)
	}
	if id := r.example.ID; c.ids[id] {
		c.skipped.SameID.Add(func() string { return r.file.path })
	} else {
		c.ids[id] = true
	}
	c.used[r.file.class] = true
	c.countCopy(r)
	return nil
}

// begin creates the data set.
func (c *converter) begin(normals bool) (err error) {
	if c.Spec != nil {
		spec := *c.Spec
		spec.IDs, c.normals = true, len(spec.FeatureNames) > len(seq.PositionNames)
		c.builder, err = seq.CreateDataset(c.dir, spec, c.Replace)
		return err
	}
	spec := seq.Spec{Task: seq.Classification, Name: filepath.Base(filepath.Clean(c.files.from)),
		LabelNames: c.files.Classes, FeatureNames: seq.PositionNames, IDs: true}
	if c.Parts { // finish adds the tags, which are only known after the last row
		spec.Task, spec.LabelNames = seq.Tagging, nil
	}
	if c.normals = normals; normals {
		spec.FeatureNames = slices.Concat(seq.PositionNames, seq.NormalNames)
	}
	c.builder, err = seq.CreateDataset(c.dir, spec, c.Replace)
	return err
}

// finish completes the data set. Without Options.Spec, it keeps only the classes or tags that occur in the
// rows.
func (c *converter) finish(ctx context.Context) (*seq.Dataset, error) {
	if len(c.splits) == 0 {
		return nil, fmt.Errorf("%s: %w", c.files.from, c.skipped.Nothing())
	}
	if c.Spec == nil {
		if err := c.renameLabels(ctx); err != nil {
			return nil, err
		}
	}
	for _, split := range []string{"train", "val", "test"} {
		if w := c.splits[split]; w != nil {
			if err := w.Close(); err != nil {
				return nil, err
			}
		}
	}
	provenance := map[string]any{"source": c.files.from, "points": c.Points, "seed": c.Seed,
		"val_part": c.ValPart, "test_part": c.TestPart,
		"rows": c.skipped.Read, "left_out": c.skipped.Counts()}
	if c.Parts {
		provenance["parts"] = true
	}
	if c.Drawn {
		provenance["drawn"] = true
	}
	if c.Farthest {
		provenance["farthest"] = true
	}
	return c.builder.Finish(provenance)
}

// random returns a generator of uniform numbers in [0, 1). The numbers depend on the seed, the file
// name and the index of the first number.
func (o *Options) random(name string, first uint32) func() float64 {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	hash := h.Sum64()
	return func() float64 {
		words := philox.Words(o.Seed, [4]uint32{first, philox.StreamGenerate, uint32(hash), uint32(hash >> 32)})
		first++
		return float64(philox.Uniform(words[0]))
	}
}

// read returns the row of a file.
func (c *converter) read(ctx context.Context, f *file) row {
	out := row{file: f}
	if out.reason = f.unused(); out.reason != nil {
		return out
	}
	readers := formats
	if c.Parts {
		readers = partFormats
	}
	size := sizeOf(f.path)
	if err := c.reading.Acquire(ctx, size); err != nil {
		return out // the conversion was cancelled
	}
	defer c.reading.Release(size)
	s, err := read(f.path, readers)
	if err != nil {
		out.reason = source.Skip("the file cannot be read", atomicfile.Cause(err))
		return out
	}
	out.ignored, out.points = s.ignored, s.hashOfPoints()
	sample := s.Sample
	switch {
	case c.Drawn:
		sample = s.Draw
	case c.Farthest:
		sample = s.Farthest
	}
	taken, err := sample(ctx, c.Points, c.random(f.relative, 1))
	if err != nil {
		out.reason = source.Skip("no points can be sampled", err)
		return out
	}
	points, directions := taken.Points, taken.Normals
	if c.Parts {
		out.parts = taken.Parts
	}
	radius := Normalize(points)
	if math.IsInf(radius, 0) {
		out.reason = source.Skip("a cloud too large", errors.New("the square of the radius exceeds float64"))
		return out
	}
	if radius == 0 && c.Points > 1 {
		out.reason = source.Skip("a cloud without a size", errors.New("all its points are equal"))
		return out
	}
	out.far = hasFar(points)
	out.normals = directions != nil
	out.example = seq.Example{ID: f.id()}
	for i, p := range points {
		row := p.float32()
		if out.normals {
			unit, ok := directions[i].Unit()
			if !ok {
				out.reason = source.Skip("a normal without a direction",
					fmt.Errorf("point %d: found a normal of length %v", i, directions[i].Norm()))
				return out
			}
			row = append(row, unit.float32()...)
		}
		out.example.Features = append(out.example.Features, row)
	}
	return out
}

// A few far points determine the radius of a cloud if at least nine tenths of its points are closer
// to the median than 1/farTimes of the radius.
const (
	farTimes     = 100
	minFarPoints = 10 // minimum number of points of a reported cloud
)

// hasFar reports whether a few points of a cloud of radius 1 are far from the other points.
func hasFar(points []Vec) bool {
	near := 0
	median := points[0]
	for c := range median {
		coordinates := make([]float64, len(points))
		for i, p := range points {
			coordinates[i] = p[c]
		}
		slices.Sort(coordinates)
		median[c] = coordinates[len(coordinates)/2]
	}
	for _, p := range points {
		if p.Minus(median).Norm() < 1.0/farTimes {
			near++
		}
	}
	return len(points) >= minFarPoints && 10*near >= 9*len(points)
}
