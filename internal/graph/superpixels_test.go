package graph

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/superpixel"
	"github.com/sftseq/sftseq/seq"
)

// images is a data set of images, a row of pixels each.
func images(t *testing.T, rows ...[]int32) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "images")
	spec := seq.Spec{Task: seq.Classification, Name: "image", Tokenizer: []byte(`{"type":"pixel"}`), VocabSize: 256, LabelNames: []string{"dark", "light"}}
	b, err := seq.CreateDataset(dir, spec, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, split := range []string{"train", "test"} {
		w, err := b.Split(split)
		if err != nil {
			t.Fatal(err)
		}
		for i, pixels := range rows {
			if err := w.Write(seq.Example{A: pixels, Label: int32(i % 2)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Finish(nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// halves is an image that is black on the left, and gray on the right.
func halves(width, height int) []int32 {
	pixels := make([]int32, width*height)
	for i := range pixels {
		if i%width >= width/2 {
			pixels[i] = 102
		}
	}
	return pixels
}

// TestSuperpixels: two halves are two nodes, with features and edges as computed by hand.
func TestSuperpixels(t *testing.T) {
	o := ImageOptions{From: images(t, halves(8, 4), halves(8, 4), halves(8, 4)), Options: superpixel.Options{Pieces: 2, Compactness: 10}, Width: 8, Rows: 2, RandomWalk: 2}
	rows := int64(0)
	o.Progress = func(n int64) { rows += n }
	d, err := SuperpixelSet(t.Context(), filepath.Join(t.TempDir(), "data"), o)
	if err != nil {
		t.Fatal(err)
	}
	spec, train := examples(t, d)
	if len(train) != 2 || rows != 4 || fmt.Sprint(spec.FeatureNames) != "[mean deviation darkest lightest x y area rw1 rw2]" || train[1].Label != 1 {
		t.Errorf("%d rows, %d seen, %+v", len(train), rows, spec)
	}
	want := "[[0 0 0 0 0.25 0.5 1 0 1] [0.4 0 0.4 0.4 0.75 0.5 1 0 1]] [{0 1 [1 1]} {1 0 [1 1]}]"
	if got := fmt.Sprint(train[0].Features, train[0].Edges); got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}

// TestPieces: the light, the middle and the area of pieces of several pixels, and their borders.
func TestPieces(t *testing.T) {
	c := &superpixel.Cut{Width: 3, Height: 2, Piece: []int32{0, 0, 1, 0, 2, 2}, Pieces: 3, Step: 2}
	features, middles := pieces(c, []byte{0, 51, 255, 0, 0, 0})
	got := fmt.Sprintf("%.4v", features)
	want := "[[0.06667 0.09428 0 0.2 0.2778 0.4167 0.75] [1 0 1 1 0.8333 0.25 0.25] [0 0 0 0 0.6667 0.75 0.5]]"
	if got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	edges := ""
	for _, e := range borders(c, middles) {
		edges += fmt.Sprintf("%d-%d %.4v; ", e.Source, e.Target, e.Features)
	}
	if want := "0-1 [0.8498 0.5]; 0-2 [0.6719 1]; 1-0 [0.8498 0.5]; 1-2 [0.559 0.5]; 2-0 [0.6719 1]; 2-1 [0.559 0.5]; "; edges != want {
		t.Errorf("%s, expected %s", edges, want)
	}
}

// TestSuperpixelsRefused: data that are no images, and images of another width.
func TestSuperpixelsRefused(t *testing.T) {
	o := usual(write(t, `{"features":[[1]],"edges":[[0,0]],"label":"a"}`))
	graphs, _, err := Convert(t.Context(), filepath.Join(t.TempDir(), "graphs"), o)
	if err != nil {
		t.Fatal(err)
	}
	square := images(t, halves(4, 4), halves(8, 4))
	for _, c := range []struct {
		from  string
		width int
		want  string
	}{
		{graphs.Dir, 0, "expected gray images"},
		{square, 0, "split train: row 2: expected a square of pixels, found 32: --width says how many a row has"},
		{square, 5, "split train: row 1: expected rows of 5 pixels, found 16 pixels"},
		{t.TempDir(), 0, "dataset.json"},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		o := ImageOptions{From: c.from, Options: superpixel.Options{Pieces: 4, Compactness: 10}, Width: c.width}
		if _, err := SuperpixelSet(t.Context(), dir, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, width %d: %v, expected %s", c.from, c.width, err, c.want)
		}
		if _, err := seq.OpenDataset(dir); err == nil {
			t.Errorf("%s, width %d: a data set is there", c.from, c.width)
		}
	}
}
