package cloud

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// dense is what spacings has of a point, by the distances to all.
func dense(points []Vec, i int) float32 {
	var d []float64
	for _, p := range points {
		d = append(d, p.Minus(points[i]).Norm())
	}
	slices.Sort(d)
	return float32(math.Log(d[min(8, len(d)-1)] + 1e-3))
}

// TestSpacings: the distance to the eighth of the others, also where many are at one place, in any order.
func TestSpacings(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 8, 9, 10, 400} {
		for _, places := range []int{1, 3, 40, 45, math.MaxInt} {
			points := make([]Vec, n)
			for i := range points {
				points[i] = Vec{random.Float64(), random.Float64(), random.Float64() / 10}
				if places < math.MaxInt {
					at := float64(i % places)
					if places == 45 { // nine points at some, and many at one
						at = float64(i / 9 % 40)
					}
					points[i] = Vec{at / 7, at * at / 50, 0}
				}
			}
			got, err := spacings(t.Context(), points)
			if err != nil {
				t.Fatal(err)
			}
			for i := range points {
				if want := dense(points, i); math.Abs(float64(got[i]-want)) > 1e-6 {
					t.Fatalf("point %d of %d at %d places: %v, expected %v", i, n, places, got[i], want)
				}
			}
			again, err := spacings(t.Context(), points)
			if err != nil || !slices.Equal(got, again) {
				t.Errorf("%d points at %d places: again %v, %v", n, places, again, err)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := spacings(ended, make([]Vec, 3)); err == nil {
		t.Error("expected an error of a context that has ended")
	}
}

// TestConvertSpacing: it is in the cloud's radius, whatever the unit of the file, and also of points without normals.
func TestConvertSpacing(t *testing.T) {
	from := t.TempDir()
	for path, unit := range map[string]int{"a/train/small.xyz": 1, "b/train/large.xyz": 100} {
		points := fmt.Sprintf("%d %d 0\n", 4*unit, 4*unit)
		for i := range 9 {
			points += fmt.Sprintf("%d %d 0\n", i%3*unit, i/3*unit)
		}
		write(t, filepath.Join(from, path), points)
	}
	d, _, err := convert(t, from, Options{Points: 10, Spacing: true})
	if err != nil || strings.Join(d.Manifest.FeatureNames, " ") != "x y z log_spacing" || d.Manifest.Provenance["spacing"] != true {
		t.Fatal(err, d)
	}
	_, features := rowsOf(t, d, "train")
	for id, rows := range features {
		var points []Vec
		for _, p := range rows {
			points = append(points, Vec{float64(p[0]), float64(p[1]), float64(p[2])})
		}
		for i, p := range rows {
			if want := dense(points, i); math.Abs(float64(p[3]-want)) > 1e-5 {
				t.Errorf("%s, point %d: %v, expected %v", id, i, p[3], want)
			}
		}
		// The eighth of the point at 4, 4 is at 0, 1; the mean of all is at 1.3, 1.3.
		largest := slices.MaxFunc(rows, func(a, b []float32) int { return cmp.Compare(a[3], b[3]) })[3]
		if want := math.Log(5/(2.7*math.Sqrt2) + 1e-3); math.Abs(float64(largest)-want) > 1e-6 {
			t.Errorf("%s: %v, expected %v", id, largest, want)
		}
	}
	if len(features) != 2 {
		t.Errorf("%d rows", len(features))
	}
}

// TestExtremeClouds: points that are nearly at one place, whose squares are 0, do not take a time of their square, which is hours, and a
// cloud whose radius has no square is left out alone.
func TestExtremeClouds(t *testing.T) {
	near := []Vec{{1}, {-1}}
	for i := range 250000 {
		near = append(near, Vec{float64(i%500) * 1e-170, float64(i/500) * 1e-170})
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := spacings(soon, near)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != float32(math.Log(1+1e-3)) || got[2] != float32(math.Log(1e-3)) {
		t.Errorf("%v, %v", got[0], got[2])
	}
	from := t.TempDir()
	write(t, filepath.Join(from, "a/train/large.xyz"), strings.Repeat("1.3e154 0 0\n", 5)+"-1.3e154 0 0\n")
	write(t, filepath.Join(from, "b/train/usual.xyz"), strings.Repeat("1 0 0\n2 0 0\n", 3))
	d, left, err := convert(t, from, Options{Points: 6, Size: true, Spacing: true})
	if err != nil || d.Manifest.Splits["train"].Rows != 1 || !strings.Contains(left.String(), "a cloud too large") {
		t.Errorf("%v, %s", err, left)
	}
}

// BenchmarkSpacings times clouds of many points and of many at few places.
func BenchmarkSpacings(b *testing.B) {
	for name, places := range map[string]int{"places=all": 1 << 30, "places=3": 3} {
		points := make([]Vec, 1<<17)
		for i := range points {
			at := float64(i % places)
			points[i] = Vec{math.Sin(at), math.Sin(1.7 * at), math.Cos(at * at)}
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := spacings(b.Context(), points); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
