package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/graphlines"
	"github.com/sftseq/sftseq/internal/superpixel"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// ImageOptions say how SuperpixelSet makes a data set.
type ImageOptions struct {
	From string // a data set of images
	superpixel.Options
	Width      int // of an image; 0: they are squares
	Rows       int // of each split, at most; 0: all
	RandomWalk int // so many return probabilities of a random walk are features of a node, too
	Replace    bool
	Progress   func(rows int64) // called with those that were cut since the last call; may be nil
}

// errImages is of data that are no images.
var errImages = errors.New("expected gray images, a class for each, as sftseq data convert image makes of CIFAR-10")

// SuperpixelSet writes a data set of the graphs of images: superpixels are the nodes, and those with a
// common border have edges in both directions. Splits and classes are those of the images.
func SuperpixelSet(ctx context.Context, dir string, o ImageOptions) (*seq.Dataset, error) {
	images, err := seq.OpenDataset(o.From)
	if err != nil {
		return nil, err
	}
	m := images.Manifest
	if m.Task != seq.Classification || tokenizers.TypeOf(m.Tokenizer) != (tokenizers.Pixel{}).Type() {
		return nil, fmt.Errorf("%s: %w", o.From, errImages)
	}
	spec := seq.Spec{Task: seq.Classification, Name: "superpixels", LabelNames: m.LabelNames,
		FeatureNames: append(slices.Clip(superpixel.PieceFeatureNames), graphlines.WalkNames(o.RandomWalk)...), EdgeFeatureNames: superpixel.BorderFeatureNames}
	b, err := seq.CreateDataset(dir, spec, o.Replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	for _, split := range m.SplitNames() {
		if err := o.split(ctx, images, split, b); err != nil {
			return nil, err
		}
	}
	return b.Finish(map[string]any{"source": o.From, "source_sha256": images.Fingerprint(), "pieces": o.Pieces, "compactness": o.Compactness, "rows": o.Rows, "random_walk": o.RandomWalk})
}

// split writes the graphs of a split.
func (o *ImageOptions) split(ctx context.Context, images *seq.Dataset, split string, b *seq.DatasetBuilder) error {
	in, err := images.Reader(split)
	if err != nil {
		return err
	}
	defer in.Close()
	w, err := b.Split(split)
	if err != nil {
		return err
	}
	for n := 0; ; {
		rows, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		for i := range rows.Len() {
			if n++; o.Rows > 0 && n > o.Rows {
				return w.Close()
			}
			if o.Progress != nil {
				o.Progress(1)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			e := rows.Example(i)
			x, err := o.graph(ctx, e.A)
			if err == nil {
				x.Label = e.Label
				err = w.Write(x.Example)
			}
			if err != nil {
				return fmt.Errorf("%s, split %s: row %d: %w", o.From, split, n, err)
			}
		}
	}
	return w.Close()
}

// graph is that of an image.
func (o *ImageOptions) graph(ctx context.Context, levels []int32) (*graphlines.Row, error) {
	width := o.Width
	if width == 0 {
		width = int(math.Round(math.Sqrt(float64(len(levels)))))
		if width*width != len(levels) {
			return nil, fmt.Errorf("expected a square of pixels, found %d: --width says how many a row has", len(levels))
		}
	}
	if len(levels)%width != 0 {
		return nil, fmt.Errorf("expected rows of %d pixels, found %d pixels", width, len(levels))
	}
	pixels := make([]byte, len(levels))
	for i, v := range levels {
		if v < 0 || v > math.MaxUint8 {
			return nil, fmt.Errorf("pixel %d: expected 0 to 255, found %d", i, v)
		}
		pixels[i] = byte(v)
	}
	cut := superpixel.Slice(pixels, width, o.Options)
	x := &graphlines.Row{}
	var middles [][2]float64
	x.Features, middles = pieces(cut, pixels)
	x.Edges = borders(cut, middles)
	return x, graphlines.AppendWalk(ctx, x.Features, x.Edges, o.RandomWalk)
}

// pieces are the features of superpixels, and where their middles are, in pixels.
func pieces(c *superpixel.Cut, pixels []byte) (features [][]float32, middles [][2]float64) {
	type sums struct{ n, light, squares, x, y, least, most float64 }
	const white = 255
	all := make([]sums, c.Pieces)
	for k := range all {
		all[k].least = white
	}
	for i, k := range c.Piece {
		s, v := &all[k], float64(pixels[i])
		s.n++
		s.light += v
		s.x += float64(i % c.Width)
		s.y += float64(i / c.Width)
		s.least, s.most = min(s.least, v), max(s.most, v)
	}
	for i, k := range c.Piece {
		s := &all[k]
		d := float64(pixels[i]) - s.light/s.n
		s.squares += float64(d * d)
	}
	for _, s := range all {
		x, y := s.x/s.n, s.y/s.n
		middles = append(middles, [2]float64{x, y})
		features = append(features, []float32{float32(s.light / s.n / white), float32(math.Sqrt(s.squares/s.n) / white), float32(s.least / white), float32(s.most / white),
			float32((x + 0.5) / float64(c.Width)), float32((y + 0.5) / float64(c.Height)), float32(s.n / float64(c.Step*c.Step))})
	}
	return features, middles
}

// borders are the edges between superpixels, by source and target.
func borders(c *superpixel.Cut, middles [][2]float64) []seq.Edge {
	lengths := map[[2]int32]int{}
	for i, k := range c.Piece {
		c.Neighbours(i, func(j int) {
			if other := c.Piece[j]; other != k {
				lengths[[2]int32{k, other}]++
			}
		})
	}
	out := make([]seq.Edge, 0, len(lengths))
	for pair, n := range lengths {
		a, b := middles[pair[0]], middles[pair[1]]
		distance := math.Hypot(a[0]-b[0], a[1]-b[1])
		out = append(out, seq.Edge{Source: pair[0], Target: pair[1], Features: []float32{float32(distance / c.Step), float32(float64(n) / c.Step)}})
	}
	slices.SortFunc(out, func(a, b seq.Edge) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target))
	})
	return out
}
