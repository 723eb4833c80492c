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

// soundRate is the sampling rate in Hz. SoundBands is the number of mel bands of a spectrum.
const (
	soundRate  = 8000
	SoundBands = 24
)

// TargetsOf returns each token's target, an index of a spectrum in the codebook.
func TargetsOf(c *config.Config, e seq.Example) []int32 {
	all := make([]int32, len(e.A))
	for i := range all {
		all[i] = int32(i)
	}
	return c.MaskTargets.At(e.A, all)
}

// CodebookOf decodes the spectra that config.json stores for targets.
func CodebookOf(t *testing.T, targets *config.MaskTargets) spectra.Codebook {
	t.Helper()
	var stored struct {
		Bands    int
		Codebook string
	}
	must.Succeed(t, json.Unmarshal(must.Get(json.Marshal(targets))(t), &stored))
	return must.Get(spectra.Decode(stored.Codebook, stored.Bands))(t)
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
			x := 0.5*math.Sin(2*math.Pi*hertz*float64(i)/soundRate) + 0.02*random.NormFloat64()
			e.A[i] = spectra.MuLaw(float32(x))
		}
		out = append(out, e)
	}
	return out
}

// SoundConfig returns the configuration of a model that predicts spectra. Its codebook is learned
// from the sounds.
func SoundConfig(t *testing.T, names int, sounds []seq.Example) *config.Config {
	t.Helper()
	c := TinyConfig()
	c.Task, c.MaskTargets, c.NumLayers = config.FillMask, config.NewMaskTargets(names), 1
	spec := seq.Spec{Task: config.Classification, VocabSize: spectra.Levels,
		Tokenizer: json.RawMessage(`{"type":"mulaw"}`)}
	if err := c.DescribeData(spec); err == nil || !strings.Contains(err.Error(), "no spectra") {
		t.Fatalf("DescribeData before Learn: error %v, want no spectra", err)
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

// SpectrumAt computes the log-mel spectrum of a frame by its definition: a direct DFT and triangular
// mel filters.
func SpectrumAt(tokens []int32, frame int) []float64 {
	const window, hop, size = 200, 80, 256
	out := make([]float64, SoundBands)
	mel := func(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }
	width := (mel(soundRate/2) - mel(60)) / (SoundBands + 1)
	edge := func(i int) float64 {
		return 700 * (math.Pow(10, (mel(60)+width*float64(i))/2595) - 1) * size / soundRate
	}
	for k := range size/2 + 1 {
		re, im := 0.0, 0.0
		for i := range window {
			if frame*hop+i < len(tokens) {
				y := float64(tokens[frame*hop+i])/127.5 - 1
				x := math.Copysign((math.Pow(256, math.Abs(y))-1)/255,
					y) * math.Pow(math.Sin(math.Pi*(float64(i)+0.5)/window), 2)
				angle := 2 * math.Pi * float64(k*i) / size
				re, im = re+x*math.Cos(angle), im-x*math.Sin(angle)
			}
		}
		for b := range out {
			from, peak, to, at := edge(b), edge(b+1), edge(b+2), float64(k)
			out[b] += max(0, min((at-from)/(peak-from), (to-at)/(to-peak))) * (re*re + im*im)
		}
	}
	for b := range out {
		out[b] = math.Log(out[b] + 1e-6)
	}
	return out
}
