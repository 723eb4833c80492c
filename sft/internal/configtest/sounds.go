package configtest

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/spectra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// SoundRate is the sampling rate in Hz. SoundBands is the number of mel bands of a spectrum.
const (
	SoundRate  = 8000
	SoundBands = 24
)

// TargetsOf returns each token's target, the index of a spectrum in the codebook.
func TargetsOf(c *config.Config, e seq.Example) []int32 {
	all := make([]int32, len(e.A))
	for i := range all {
		all[i] = int32(i)
	}
	return c.MaskTargets.At(e.A, all)
}

// Tones returns one sound per length in samples. The second half of a sound has another pitch.
func Tones(random *rand.Rand, lengths ...int) (out []seq.Example) {
	for row, n := range lengths {
		e := seq.Example{A: make([]int32, n), Index: uint32(row)}
		low, high := 100+random.Float64()*900, 1000+random.Float64()*2500
		for i := range e.A {
			hertz := low
			if i > n/2 {
				hertz = high
			}
			x := 0.5*math.Sin(2*math.Pi*hertz*float64(i)/SoundRate) + 0.02*random.NormFloat64()
			e.A[i] = spectra.MuLaw(float32(x))
		}
		out = append(out, e)
	}
	return out
}

// SoundConfig returns the configuration of a model that predicts spectra. Its codebook is learned from
// the sounds; names is the number of its spectra.
func SoundConfig(t *testing.T, names int, sounds []seq.Example) *config.Config {
	t.Helper()
	c := TinyConfig()
	c.Task, c.MaskTargets, c.NumLayers = config.FillMask, config.NewMaskTargets(names), 1
	spec := seq.Spec{Task: config.Classification, VocabSize: spectra.Levels,
		Tokenizer: json.RawMessage(`{"type":"mulaw"}`)}
	if err := c.DescribeData(spec); err == nil || !strings.Contains(err.Error(), "no spectra") {
		t.Fatalf("DescribeData before Learn: error %v, want one with \"no spectra\"", err)
	}
	must.Succeed(t, c.MaskTargets.Learn(t.Context(), func(add func([]int32) error) error {
		for _, e := range sounds {
			if err := add(e.A); err != nil {
				return err
			}
		}
		return nil
	}, func(int, int) {}))
	must.Succeed(t, c.DescribeData(spec))
	return c
}
