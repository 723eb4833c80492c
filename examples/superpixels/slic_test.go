package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// check checks that each superpixel is connected and not empty, and that every superpixel except the first
// has at least step²/4 pixels.
func check(t *testing.T, c *segmentation) {
	t.Helper()
	sizes, parts, seen := make([]int, c.superpixels), make([]int, c.superpixels), make([]bool, len(c.superpixel))
	for i, k := range c.superpixel {
		sizes[k]++
		if seen[i] {
			continue
		}
		parts[k]++
		seen[i] = true
		for part := []int{i}; len(part) > 0; part = part[1:] {
			for _, j := range c.neighbours(part[0]) {
				if !seen[j] && c.superpixel[j] == k {
					seen[j] = true
					part = append(part, j)
				}
			}
		}
	}
	for k, n := range sizes {
		if parts[k] != 1 || n == 0 || k > 0 && float64(n) < c.step*c.step/4 {
			t.Errorf("superpixel %d has %d pixels in %d parts", k, n, parts[k])
		}
	}
}

// TestEdges checks that superpixels do not cross the border between dark and light, except for at most 12
// pixels, for several shapes, and that a uniform image is segmented into 16 superpixels of similar size.
func TestEdges(t *testing.T) {
	for name, lit := range map[string]func(x, y int) bool{
		"gray":   func(_, _ int) bool { return false },
		"line":   func(x, _ int) bool { return x >= 13 },
		"slope":  func(x, y int) bool { return 2*x+y > 40 },
		"circle": func(x, y int) bool { return (x-16)*(x-16)+(y-16)*(y-16) < 90 },
	} {
		pixels := bytes.Repeat([]byte{40}, 32*32)
		for i := range pixels {
			if lit(i%32, i/32) {
				pixels[i] = 220
			}
		}
		c := slice(pixels, 32, 16)
		check(t, c)
		sizes, light, wrong := make([]int, c.superpixels), make([]int, c.superpixels), 0
		for i, k := range c.superpixel {
			sizes[k]++
			if pixels[i] > 100 {
				light[k]++
			}
		}
		for k, n := range sizes {
			if wrong += min(light[k], n-light[k]); name == "gray" && (n < 40 || n > 100) {
				t.Errorf("superpixel %d of a uniform image has %d pixels, expected 40 to 100", k, n)
			}
		}
		// Up to 12 pixels may differ, because connect merges small components into neighbouring superpixels.
		if wrong > 12 || name == "gray" && (c.superpixels != 16 || c.step != 8) {
			t.Errorf("%s: %d pixels differ from most pixels of their superpixels; %d superpixels", name, wrong,
				c.superpixels)
		}
	}
}

// TestNoise checks that superpixels of noise are connected, even in narrow images.
func TestNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, size := range [][2]int{{32, 32}, {1, 1}, {1, 50}, {50, 1}, {7, 90}, {2, 2}} {
		pixels := make([]byte, size[0]*size[1])
		for i := range pixels {
			pixels[i] = byte(random.IntN(256))
		}
		for _, superpixels := range []int{16, 1, 4000, 9} {
			check(t, slice(pixels, size[0], superpixels))
		}
	}
}

// TestGraph compares features and edges with values computed by hand.
func TestGraph(t *testing.T) {
	c := &segmentation{width: 3, height: 2, superpixel: []int{0, 0, 1, 0, 2, 2}, superpixels: 3, step: 2}
	r := graph(c, []byte{0, 51, 255, 0, 0, 0})
	want := "[[0.06667 0.09428 0 0.2 0.2778 0.4167 0.75] [1 0 1 1 0.8333 0.25 0.25] [0 0 0 0 0.6667 0.75 0.5]] " +
		"[[0 1 0.8498 0.5] [0 2 0.6719 1] [1 0 0.8498 0.5] [1 2 0.559 0.5] [2 0 0.6719 1] [2 1 0.559 0.5]]"
	if got := fmt.Sprintf("%.4v %.4v", r.Features, r.Edges); got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}

// TestConvert checks that each split has at most its first three images, that the last tenth of the training
// images is for validation, and that labels and gray levels equal the records.
func TestConvert(t *testing.T) {
	from := t.TempDir()
	for i, name := range []string{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
		"data_batch_5", "test_batch"} {
		image := append([]byte{byte(i)}, bytes.Repeat([]byte{255}, 3*width*width)...)
		if err := os.WriteFile(filepath.Join(from, name+".bin"), bytes.Repeat(image, 4), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := convert(from, 16, 3, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	const (
		train = `{"id":"data_batch_1.bin:0","split":"train","label":"airplane","features":[[1,0,1,1,`
		val   = `{"id":"data_batch_5.bin:3","split":"val","label":"deer",`
		test  = `{"id":"test_batch.bin:0","split":"test","label":"dog",`
	)
	if len(lines) != 3+2+3+1 || !strings.HasPrefix(lines[0], train) || !strings.HasPrefix(lines[4], val) ||
		!strings.HasPrefix(lines[5], test) {
		t.Errorf("got %d lines: %.200q; want 9, with %s at the beginning of line 1, %s of line 5 and %s of line 6",
			len(lines), lines, train, val, test)
	}
	if err := os.Truncate(filepath.Join(from, "test_batch.bin"), 100); err != nil {
		t.Fatal(err)
	}
	if err := convert(from, 16, 3, &out); err == nil ||
		!strings.Contains(err.Error(), "test_batch.bin: 100 bytes, expected records of 3073") {
		t.Error(err)
	}
}
