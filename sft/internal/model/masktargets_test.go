package model

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/spectra"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestMaskTargets takes, for each sample, the frame whose middle is nearest to the sample. The sample's
// target must be the codebook entry nearest to this frame's spectrum minus the mean spectrum.
func TestMaskTargets(t *testing.T) {
	sounds := configtest.Tones(rand.New(rand.NewPCG(4, 2)), 2000, 700, 150, 201)
	c := configtest.SoundConfig(t, 7, sounds)
	if c.NumLabels != 7 || c.VocabSize != 257 {
		t.Fatalf("%d labels, vocabulary %d; want 7 and 257", c.NumLabels, c.VocabSize)
	}
	seen, book := map[int32]bool{}, codebookOf(t, c.MaskTargets)
	for _, e := range sounds {
		frames := 1 + max(0, len(e.A)-200)/80
		mean := make([]float64, configtest.SoundBands)
		rows := make([][]float64, frames)
		for f := range rows {
			rows[f] = spectrumAt(e.A, f)
			for b, v := range rows[f] {
				mean[b] += v / float64(frames)
			}
		}
		targets := configtest.TargetsOf(c, e)
		if len(targets) != len(e.A) {
			t.Fatalf("got %d targets, want %d, one per token", len(targets), len(e.A))
		}
		for i, got := range targets {
			seen[got] = true
			best := 0 // the nearest frame: its middle is 100 samples after its beginning
			for f := range rows {
				if distance := func(f int) float64 {
					return math.Abs(float64(i) - float64(80*f+
						100))
				}; distance(f) <= distance(best) {
					best = f
				}
			}
			distance := func(name int) (sum float64) {
				for b, v := range book.At(name) {
					sum += math.Pow(rows[best][b]-mean[b]-float64(v), 2)
				}
				return sum
			}
			for name := range 7 {
				if distance(name) < distance(int(got))*(1-1e-3)-1e-3 {
					t.Fatalf("token %d of %d has the target %d with distance %v, but %d has distance %v", i, len(e.A),
						got, distance(int(got)), name, distance(name))
				}
			}
		}
	}
	if len(seen) != 7 {
		t.Errorf("the targets %v occur, want all 7", seen)
	}
	all := configtest.TargetsOf(c, sounds[0])
	positions := maskedPositions(c, len(sounds[0].A), sounds[0].Index, Drawing{Mode: LossMode, Seed: c.SamplerSeed})
	for i, got := range Masked(c, sounds[0]) {
		if got != all[positions[i]] {
			t.Errorf("masked token %d, at %d: target %d, expected %d", i, positions[i], got, all[positions[i]])
		}
	}
}

// TestMaskTargetsFractions checks that half of the tokens are targets, that a tenth of the targets
// become the mask, and that other tokens do not change.
func TestMaskTargetsFractions(t *testing.T) {
	sounds := configtest.Tones(rand.New(rand.NewPCG(4, 5)), 20000)
	c := configtest.SoundConfig(t, 4, sounds)
	e := sounds[0]
	tokens, positions := MaskTokens(c, e.A, e.Index, Drawing{Mode: TrainMode, Seed: 3, Step: 2})
	masks, others := 0, 0
	for i, token := range tokens {
		switch {
		case token == *c.MaskTokenID:
			masks++
		case token != e.A[i]:
			others++
		}
	}
	targets, masked := float64(len(positions))/float64(len(e.A)), float64(masks)/float64(len(positions))
	if math.Abs(targets-0.5) > 0.03 || math.Abs(masked-0.1) > 0.01 || others > 0 {
		t.Errorf("fraction of targets %.3f, want 0.5; masks among them %.3f, want 0.1; %d tokens changed, want 0",
			targets, masked, others)
	}
}

// codebookOf decodes the spectra that config.json stores for targets.
func codebookOf(t *testing.T, targets *config.MaskTargets) spectra.Codebook {
	t.Helper()
	var stored struct {
		Bands    int
		Codebook string
	}
	must.Succeed(t, json.Unmarshal(must.Get(json.Marshal(targets))(t), &stored))
	return must.Get(spectra.Decode(stored.Codebook, stored.Bands))(t)
}

// spectrumAt computes the log-mel spectrum of a frame by its definition: a direct DFT and
// triangular mel filters.
func spectrumAt(tokens []int32, frame int) []float64 {
	const window, hop, size = 200, 80, 256
	out := make([]float64, configtest.SoundBands)
	mel := func(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }
	width := (mel(configtest.SoundRate/2) - mel(60)) / (configtest.SoundBands + 1)
	edge := func(i int) float64 {
		return 700 * (math.Pow(10, (mel(60)+width*float64(i))/2595) - 1) * size / configtest.SoundRate
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
