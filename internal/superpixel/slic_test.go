package superpixel

import (
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// usual is what the command takes.
var usual = Options{Pieces: 16, Compactness: 10}

// check: each piece is connected, has pixels, and not fewer than a quarter of a usual one but for the first.
func check(t *testing.T, c *Cut, pixels int) {
	t.Helper()
	if len(c.Piece) != pixels || c.Pieces < 1 || c.Piece[0] != 0 {
		t.Fatalf("%d pixels in %d pieces", len(c.Piece), c.Pieces)
	}
	sizes, parts := make([]int, c.Pieces), make([]int, c.Pieces)
	seen := make([]bool, pixels)
	for i, k := range c.Piece {
		if k < 0 || int(k) >= c.Pieces {
			t.Fatalf("pixel %d is of piece %d of %d", i, k, c.Pieces)
		}
		sizes[k]++
		if seen[i] {
			continue
		}
		parts[k]++
		seen[i] = true
		for part := []int{i}; len(part) > 0; part = part[1:] {
			c.Neighbours(part[0], func(j int) {
				if !seen[j] && c.Piece[j] == k {
					seen[j] = true
					part = append(part, j)
				}
			})
		}
	}
	for k, n := range sizes {
		if parts[k] != 1 || n == 0 || k > 0 && float64(n) < c.Step*c.Step/4 {
			t.Errorf("piece %d has %d pixels in %d parts", k, n, parts[k])
		}
	}
}

// TestEven: an image of one gray is cut into squares.
func TestEven(t *testing.T) {
	c := Slice(make([]byte, 32*32), 32, usual)
	check(t, c, 32*32)
	if c.Pieces != 16 || c.Step != 8 {
		t.Fatalf("%d pieces, step %v", c.Pieces, c.Step)
	}
	sizes := map[int32]int{}
	for _, k := range c.Piece {
		sizes[k]++
	}
	for k, n := range sizes {
		if n < 40 || n > 100 {
			t.Errorf("piece %d has %d pixels", k, n)
		}
	}
}

// TestEdges: no piece crosses the border between dark and light, whatever its form.
func TestEdges(t *testing.T) {
	for name, lit := range map[string]func(x, y int) bool{
		"line":   func(x, _ int) bool { return x >= 13 },
		"slope":  func(x, y int) bool { return 2*x+y > 40 },
		"circle": func(x, y int) bool { return (x-16)*(x-16)+(y-16)*(y-16) < 90 },
	} {
		pixels := make([]byte, 32*32)
		for i := range pixels {
			pixels[i] = 40
			if lit(i%32, i/32) {
				pixels[i] = 220
			}
		}
		c := Slice(pixels, 32, usual)
		check(t, c, len(pixels))
		dark, light := map[int32]int{}, map[int32]int{}
		for i, k := range c.Piece {
			if pixels[i] > 100 {
				light[k]++
			} else {
				dark[k]++
			}
		}
		wrong := 0
		for k := range dark {
			wrong += min(dark[k], light[k])
		}
		if wrong > 12 { // of parts that are too small for a piece
			t.Errorf("%s: %d pixels are on the wrong side", name, wrong)
		}
	}
}

// TestMoves: centres go where pixels are like them, so that a dark margin that none began in is a piece.
func TestMoves(t *testing.T) {
	pixels := make([]byte, 30*10)
	for i := range pixels {
		if i%30 >= 3 {
			pixels[i] = 255
		}
	}
	c := Slice(pixels, 30, Options{Pieces: 3, Compactness: 10})
	check(t, c, len(pixels))
	for i, k := range c.Piece {
		if dark := i%30 < 3; dark != (k == 0) {
			t.Fatalf("pixel %d of row %d is of piece %d", i%30, i/30, k)
		}
	}
}

// TestNoise: pieces of noise are connected, too, and the same every time; images may be narrow.
func TestNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, size := range [][2]int{{32, 32}, {1, 1}, {1, 50}, {50, 1}, {7, 90}, {2, 2}} {
		pixels := make([]byte, size[0]*size[1])
		for i := range pixels {
			pixels[i] = byte(random.IntN(256))
		}
		for _, o := range []Options{usual, {1, 10}, {4000, 10}, {9, 0.001}, {9, 1000}} {
			a, b := Slice(pixels, size[0], o), Slice(pixels, size[0], o)
			check(t, a, len(pixels))
			for i := range a.Piece {
				if a.Piece[i] != b.Piece[i] {
					t.Fatalf("%v: pixel %d is of piece %d, and then of %d", size, i, a.Piece[i], b.Piece[i])
				}
			}
		}
	}
}

// FuzzSlice: whatever the pixels are, pieces are connected.
func FuzzSlice(f *testing.F) {
	f.Add([]byte("\x00\xff\x00\xff\x10\x20"), uint8(3), uint8(2))
	f.Add([]byte{7}, uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, pixels []byte, width, pieces uint8) {
		defer testenv.FuzzLimits(t, 64<<20+4000*len(pixels))()
		if width == 0 || pieces == 0 || len(pixels) < int(width) {
			return
		}
		pixels = pixels[:len(pixels)/int(width)*int(width)]
		check(t, Slice(pixels, int(width), Options{int(pieces), 10}), len(pixels))
	})
}
