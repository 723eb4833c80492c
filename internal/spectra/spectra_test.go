package spectra

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestAssign checks that each spectrum of the sample, which is split over all CPUs, is assigned to
// the nearest codebook entry.
func TestAssign(t *testing.T) {
	const n, bands = 5000, 24
	random := rand.New(rand.NewPCG(1, 2))
	spectra := func(n int) []float32 {
		out := make([]float32, n*bands)
		for i := range out {
			out[i] = random.Float32()
		}
		return out
	}
	l := &Learner{bands: bands, sample: spectra(n)}
	book, nearest := Codebook{bands, spectra(7)}, slices.Repeat([]int{-1}, n)
	must.Succeed(t, l.assign(t.Context(), nearest, book))
	for i, got := range nearest {
		best, minDistance := 0, math.Inf(1)
		for at := range 7 {
			distance := 0.0
			for k, v := range book.At(at) {
				d := float64(v) - float64(l.at(i)[k])
				distance += d * d
			}
			if distance < minDistance {
				best, minDistance = at, distance
			}
		}
		if got != best {
			t.Fatalf("spectrum %d was assigned to entry %d, want %d", i, got, best)
		}
	}
}

// TestLearn checks that distinct groups of spectra become separate codebook entries, and that
// learning from no spectra, or with a cancelled context, fails.
func TestLearn(t *testing.T) {
	l := NewLearner(3, 2)
	must.FailWith(t, ErrNothing)(l.Learn(t.Context(), func(int, int) {}))
	groups := []float32{0, 0, 10, 0, 0, 10}
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		for g := range 3 {
			l.Add([]float32{groups[2*g] + random.Float32(), groups[2*g+1] + random.Float32()})
		}
	}
	book := must.Get(l.Learn(t.Context(), func(int, int) {}))(t)
	indices := book.Indices(groups)
	slices.Sort(indices)
	if !slices.Equal(indices, []int32{0, 1, 2}) {
		t.Errorf("got indices %v for codebook %v, want a separate entry for each group", indices, book)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.FailWith(t, context.Canceled)(l.Learn(ctx, func(int, int) {}))
}

// TestCodebook checks that Decode inverts Encode and refuses malformed codebooks.
func TestCodebook(t *testing.T) {
	book := Codebook{2, []float32{1, -2.5, 3e-9, 4}}
	if got, err := Decode(book.Encode(), 2); err != nil || got.Bands != 2 || !slices.Equal(got.Values, book.Values) {
		t.Errorf("Decode returned %v, error %v, want %v", got, err, book)
	}
	for _, c := range []struct {
		text  string
		bands int
		want  string
	}{
		{"?", 1, "expected base64"},
		{"", 1, "expected spectra of 1 bands, found 0 bytes"},
		{"AAAAAA==", 2, "expected spectra of 2 bands, found 4 bytes"},
		{"AADAfw==", 1, "number 0 is NaN"},
		{"AAAAAA==", 0, "1 to 256 bands"},
	} {
		must.Fail(t, c.want, c.text, "of", c.bands, "bands")(Decode(c.text, c.bands))
	}
}

// TestMuLaw checks that each id has a sample that maps back to it, that steps grow with loudness,
// and that the extreme ids are the loudest samples.
func TestMuLaw(t *testing.T) {
	for id := range int32(Levels) {
		if got := MuLaw(Sample(id)); got != id {
			t.Errorf("MuLaw(%v) = %d, want %d, the id of the sample", Sample(id), got, id)
		}
	}
	if Sample(0) != -1 || Sample(255) != 1 || Sample(255)-Sample(254) < 10*(Sample(129)-Sample(128)) {
		t.Errorf("got samples %v, %v, %v, %v, %v of ids 0, 128, 129, 254, 255, want -1 first, 1 last, and the last "+
			"step at least 10 times the step from 128 to 129",
			Sample(0), Sample(128), Sample(129), Sample(254), Sample(255))
	}
}

// TestLogMel checks that a tone has the most power in or next to the band of its frequency, that each
// band has a weight, and the number of spectra of short and empty sounds.
func TestLogMel(t *testing.T) {
	const rate, bands = 8000, 24
	filters := melFilters(bands, 256, rate)
	for b, f := range filters {
		sum := 0.0
		for _, w := range f.weights {
			sum += w
		}
		if f.first < 0 || f.first+len(f.weights) > 129 || sum <= 0 {
			t.Errorf("band %d: got first coefficient %d, weights %v; want coefficients from 0 to 128, and weights "+
				"with a sum above 0", b, f.first, f.weights)
		}
	}
	// Two tones in succession, because LogMel subtracts the mean of each band. Each tone must have the
	// most power in its own band or an adjacent band.
	var samples []float32
	for i := range rate {
		hertz := 440.0
		if i >= rate/2 {
			hertz = 2500
		}
		samples = append(samples, float32(0.3*math.Sin(2*math.Pi*hertz*float64(i)/rate)))
	}
	spectra := LogMel(samples, rate, bands)
	loudest := func(frame int) int {
		x := spectra[frame*bands : (frame+1)*bands]
		return slices.Index(x, slices.Max(x))
	}
	band := func(hertz float64) int {
		at := int(math.Round(hertz * 256 / rate))
		best, maxWeight := 0, 0.0
		for b, f := range filters {
			if i := at - f.first; i >= 0 && i < len(f.weights) && f.weights[i] > maxWeight {
				best, maxWeight = b, f.weights[i]
			}
		}
		return best
	}
	if a, b := loudest(20), loudest(80); max(a-band(440), band(440)-a) > 1 || max(b-band(2500), band(2500)-b) > 1 {
		t.Errorf("got bands %d and %d, want %d and %d", a, b, band(440), band(2500))
	}
	if got := LogMel(samples[:50], rate, bands); len(got) != bands {
		t.Errorf("got %d numbers for a short sound, want %d", len(got), bands)
	}
	if got := LogMel(nil, rate, bands); got != nil {
		t.Errorf("got %d numbers without samples, want none", len(got))
	}
}
