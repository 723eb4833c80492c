package spectra

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"

	"github.com/sftseq/sftseq/internal/parallel"
)

// Learner computes a codebook by k-means (Lloyd) on a uniform sample of its input (reservoir
// sampling). It is not safe for concurrent use.
type Learner struct {
	codes  int
	bands  int
	random *rand.Rand
	sample []float32
	seen   int // number of spectra added
}

// The maximum number of spectra in the sample, and the number of iterations of k-means.
const (
	maxSample  = 1 << 16
	iterations = 20
)

// ErrNothing is the error for learning without spectra.
var ErrNothing = errors.New("there are no spectra to learn from")

// NewLearner returns a learner for a codebook of the given number of entries and bands.
func NewLearner(codes, bands int) *Learner {
	return &Learner{codes: codes, bands: bands, random: rand.New(rand.NewPCG(1, uint64(codes)))}
}

// Add adds consecutive spectra.
func (l *Learner) Add(spectra []float32) {
	for ; len(spectra) > 0; spectra = spectra[l.bands:] {
		l.seen++
		if l.seen <= maxSample {
			l.sample = append(l.sample, spectra[:l.bands]...)
		} else if index := l.random.IntN(l.seen); index < maxSample {
			copy(l.sample[index*l.bands:], spectra[:l.bands])
		}
	}
}

// Learn computes the codebook. The codebook has fewer entries than the learner's codes if there are fewer
// spectra. Before each iteration of k-means and after the last, Learn calls the function round with the
// number of completed iterations and the total number. It returns ErrNothing without spectra, and ctx's
// error if ctx ends.
func (l *Learner) Learn(ctx context.Context, round func(done, all int)) (Codebook, error) {
	n := len(l.sample) / l.bands
	if n == 0 {
		return Codebook{}, ErrNothing
	}
	book := l.initialEntries(min(l.codes, n))
	sums, counts := make([]float64, len(book.Values)), make([]int, book.Len())
	nearest := make([]int, n) // index of the nearest entry for each spectrum of the sample
	for i := range iterations {
		round(i, iterations)
		if err := l.assign(ctx, nearest, book); err != nil {
			return Codebook{}, err
		}
		clear(sums)
		clear(counts)
		for i, entry := range nearest {
			counts[entry]++
			for k, v := range l.at(i) {
				sums[entry*l.bands+k] += float64(v)
			}
		}
		for entry, count := range counts {
			spectrum := book.At(entry)
			if count == 0 { // otherwise the entry would stay unused
				copy(spectrum, l.at(entry*7919%n))
				continue
			}
			for k := range spectrum {
				spectrum[k] = float32(sums[entry*l.bands+k] / float64(count))
			}
		}
	}
	round(iterations, iterations)
	return book, nil
}

// at returns spectrum i of the sample.
func (l *Learner) at(i int) []float32 { return l.sample[i*l.bands : (i+1)*l.bands] }

// assign computes the nearest codebook entry of each spectrum in the sample, on all CPUs.
func (l *Learner) assign(ctx context.Context, nearest []int, book Codebook) error {
	const chunk = 1 << 10
	return parallel.Do(ctx, runtime.GOMAXPROCS(0), (len(nearest)+chunk-1)/chunk, func(_, c int) error {
		for i := c * chunk; i < min((c+1)*chunk, len(nearest)); i++ {
			nearest[i] = book.nearest(l.at(i))
		}
		return nil
	})
}

// initialEntries returns random spectra of the sample, drawn without replacement.
func (l *Learner) initialEntries(codes int) Codebook {
	book := Codebook{Bands: l.bands, Values: make([]float32, 0, codes*l.bands)}
	for _, at := range l.random.Perm(len(l.sample) / l.bands)[:codes] {
		book.Values = append(book.Values, l.at(at)...)
	}
	return book
}
