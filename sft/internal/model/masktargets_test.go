package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestMaskTargets: the target of a sample is the codebook's nearest spectrum to that of the frame whose middle is
// nearest, by the definition.
func TestMaskTargets(t *testing.T) {
	sounds := configtest.Tones(rand.New(rand.NewPCG(4, 2)), 2000, 700, 150, 201)
	c := configtest.SoundConfig(t, 7, sounds)
	if c.NumLabels != 7 || c.VocabSize != 257 {
		t.Fatalf("%d labels, vocabulary %d", c.NumLabels, c.VocabSize)
	}
	seen, book := map[int32]bool{}, configtest.CodebookOf(t, c.MaskTargets)
	for _, e := range sounds {
		frames := 1 + max(0, len(e.A)-200)/80
		mean := make([]float64, configtest.SoundBands)
		rows := make([][]float64, frames)
		for f := range rows {
			rows[f] = configtest.SpectrumAt(e.A, f)
			for b, v := range rows[f] {
				mean[b] += v / float64(frames)
			}
		}
		targets := configtest.TargetsOf(c, e)
		if len(targets) != len(e.A) {
			t.Fatalf("%d targets of %d tokens", len(targets), len(e.A))
		}
		for i, got := range targets {
			seen[got] = true
			best := 0 // the frame whose middle, 100 samples after its first, is nearest
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
					t.Fatalf("token %d of %d has the target %d, whose distance is %v; that of %d is %v", i, len(e.A),
						got, distance(int(got)), name, distance(name))
				}
			}
		}
	}
	if len(seen) != 7 {
		t.Errorf("only the targets %v occur", seen)
	}
	all := configtest.TargetsOf(c, sounds[0])
	positions := maskedPositions(c, len(sounds[0].A), sounds[0].Index, Drawing{Mode: LossMode, Seed: c.SamplerSeed})
	for i, got := range Masked(c, sounds[0]) {
		if got != all[positions[i]] {
			t.Errorf("masked token %d, at %d: target %d, expected %d", i, positions[i], got, all[positions[i]])
		}
	}
}

// TestMaskTargetsShares: half of the tokens are targets; one in ten of these is replaced by the mask, and the others
// stay unchanged.
func TestMaskTargetsShares(t *testing.T) {
	sounds := configtest.Tones(rand.New(rand.NewPCG(4, 5)), 20000)
	c := configtest.SoundConfig(t, 4, sounds)
	e := sounds[0]
	read, positions := MaskTokens(c, e.A, e.Index, Drawing{Mode: TrainMode, Seed: 3, Step: 2})
	masks, others := 0, 0
	for i, token := range read {
		switch {
		case token == *c.MaskTokenID:
			masks++
		case token != e.A[i]:
			others++
		}
	}
	targets, masked := float64(len(positions))/float64(len(e.A)), float64(masks)/float64(len(positions))
	if math.Abs(targets-0.5) > 0.03 || math.Abs(masked-0.1) > 0.01 || others > 0 {
		t.Errorf("%.3f are targets, of which %.3f are masks; %d are other tokens", targets, masked, others)
	}
}
