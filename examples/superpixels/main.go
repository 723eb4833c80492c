// Superpixels segments the images of CIFAR-10 into superpixels and writes them as graphs for sftseq
// data convert graph. Superpixels are nodes. Superpixels with a common border have edges in both
// directions.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
)

var classes = []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}

const (
	width  = 32                // pixels; images are square
	record = 1 + 3*width*width // bytes
)

// row is a line of the output.
type row struct {
	ID    string `json:"id"`
	Split string `json:"split"`
	Label string `json:"label"`
	// mean, standard deviation, minimum and maximum of the lightness, x and y of the centre, area
	Features [][]float32 `json:"features"`
	Edges    [][]float32 `json:"edges"` // source, target, distance of the centres, length of the border
}

func main() {
	from := flag.String("from", "cifar-10-batches-bin",
		"`FOLDER` of data_batch_1.bin to data_batch_5.bin and test_batch.bin")
	superpixels := flag.Int("superpixels", 40, "segment an image into about `N` superpixels")
	rows := flag.Int("rows", 10000, "write at most the first `N` images of each split")
	flag.Parse()
	if err := convert(*from, *superpixels, *rows, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "superpixels:", err)
		os.Exit(1)
	}
}

// convert writes at most the given number of rows for each split. The last tenth of the training images
// is for validation.
func convert(from string, superpixels, rows int, to io.Writer) error {
	out := bufio.NewWriter(to)
	lines := json.NewEncoder(out)
	var train, test []string
	for i := range 5 {
		train = append(train, fmt.Sprintf("data_batch_%d.bin", i+1))
	}
	images, err := read(from, train)
	if err != nil {
		return err
	}
	tests, err := read(from, append(test, "test_batch.bin"))
	if err != nil {
		return err
	}
	first := len(images) - len(images)/10
	for _, split := range []struct {
		name   string
		images []image
	}{{"train", images[:first]}, {"val", images[first:]}, {"test", tests}} {
		for _, m := range split.images[:min(rows, len(split.images))] {
			r := graph(slice(m.pixels, width, superpixels), m.pixels)
			r.ID, r.Split, r.Label = m.id, split.name, m.label
			if err := lines.Encode(r); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// image contains gray levels, row by row.
type image struct {
	id, label string
	pixels    []byte
}

// read returns the images of several files in a folder. A record contains a label, and then all red, all
// green and all blue bytes.
func read(from string, names []string) (out []image, err error) {
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil && (len(data) == 0 || len(data)%record != 0) {
			err = fmt.Errorf("%s: %d bytes, expected records of %d", name, len(data), record)
		}
		if err != nil {
			return nil, err
		}
		i := 0
		for r := range slices.Chunk(data, record) {
			if int(r[0]) >= len(classes) {
				return nil, fmt.Errorf("%s: record %d: label %d, expected 0 to %d", name, i, r[0], len(classes)-1)
			}
			m := image{fmt.Sprintf("%s:%d", name, i), classes[r[0]], make([]byte, width*width)}
			for p := range m.pixels {
				m.pixels[p] = gray(r[1+p], r[1+width*width+p], r[1+2*width*width+p])
			}
			out = append(out, m)
			i++
		}
	}
	return out, nil
}

// gray returns the gray level of a pixel, computed in float32 like TensorFlow and the Long Range
// Arena.
func gray(r, g, b byte) byte {
	const scale = float32(1) / 255
	v := float32(float32(0.2989)*(float32(r)*scale)) + float32(float32(0.5870)*(float32(g)*scale)) +
		float32(float32(0.1140)*(float32(b)*scale))
	return byte(float32(v * 255.5))
}

// graph returns the features of superpixels and of their borders. Lightness and positions are from
// 0 to 1. Areas are divided by step², distances and lengths of borders by step, where step is the
// initial distance between the centres.
func graph(c *segmentation, pixels []byte) (out row) {
	type sums struct{ n, light, squares, x, y, darkest, lightest float64 }
	const white = 255
	all := make([]sums, c.superpixels)
	for k := range all {
		all[k].darkest = white
	}
	lengths := map[[2]int]int{} // pairs of adjacent pixels across each border
	for i, k := range c.superpixel {
		s, v := &all[k], float64(pixels[i])
		s.n++
		s.light += v
		s.x += float64(i % c.width)
		s.y += float64(i / c.width)
		s.darkest, s.lightest = min(s.darkest, v), max(s.lightest, v)
		for _, j := range c.neighbours(i) {
			if other := c.superpixel[j]; other != k {
				lengths[[2]int{k, other}]++
			}
		}
	}
	for i, k := range c.superpixel {
		s := &all[k]
		d := float64(pixels[i]) - s.light/s.n
		s.squares += float64(d * d)
	}
	centres := make([][2]float64, c.superpixels)
	for k, s := range all {
		x, y := s.x/s.n, s.y/s.n
		centres[k] = [2]float64{x, y}
		out.Features = append(out.Features, []float32{float32(s.light / s.n / white),
			float32(math.Sqrt(s.squares/s.n) / white), float32(s.darkest / white), float32(s.lightest / white),
			float32((x + 0.5) / float64(c.width)), float32((y + 0.5) / float64(c.height)),
			float32(s.n / float64(c.step*c.step))})
	}
	out.Edges = [][]float32{} // without edges, JSON has [], not null
	for pair, n := range lengths {
		a, b := centres[pair[0]], centres[pair[1]]
		distance := math.Hypot(a[0]-b[0], a[1]-b[1])
		out.Edges = append(out.Edges, []float32{float32(pair[0]), float32(pair[1]), float32(distance / c.step),
			float32(float64(n) / c.step)})
	}
	slices.SortFunc(out.Edges,
		func(a, b []float32) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return out
}
