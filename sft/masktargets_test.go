package sft

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/spectra"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// tones are samples of so many sounds, each of two tones one after the other.
func tones(random *rand.Rand, lengths ...int) (out []seq.Example) {
	for row, n := range lengths {
		e := seq.Example{A: make([]int32, n), Index: uint32(row)}
		low, high := 100+random.Float64()*900, 1000+random.Float64()*2500
		for i := range e.A {
			hertz := low
			if i > n/2 {
				hertz = high
			}
			x := 0.5*math.Sin(2*math.Pi*hertz*float64(i)/targetRate) + 0.02*random.NormFloat64()
			e.A[i] = spectra.MuLaw(float32(x))
		}
		out = append(out, e)
	}
	return out
}

// soundConfig is of a model that tells so many spectra of these sounds.
func soundConfig(t *testing.T, names int, sounds []seq.Example) *Config {
	t.Helper()
	c := tinyConfig()
	c.Task, c.MaskTargets, c.NumLayers = FillMask, NewMaskTargets(names), 1
	spec := seq.Spec{Task: Classification, VocabSize: spectra.Levels, Tokenizer: json.RawMessage(`{"type":"mulaw"}`)}
	if err := c.DescribeData(spec); err == nil || !strings.Contains(err.Error(), "names of no spectra") {
		t.Fatalf("spectra that were not learned: %v", err)
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

// spectrumAt is that of a frame of a sound by its definition: the power of each frequency is a
// sum of sines and cosines, and a band is a triangle of the mel scale.
func spectrumAt(tokens []int32, frame int) []float64 {
	const window, hop, size = 200, 80, 256
	out := make([]float64, targetBands)
	mel := func(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }
	width := (mel(targetRate/2) - mel(60)) / (targetBands + 1)
	edge := func(i int) float64 {
		return 700 * (math.Pow(10, (mel(60)+width*float64(i))/2595) - 1) * size / targetRate
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

// TestMaskTargets: what is told of a sample is the nearest spectrum, by the definition, to that
// of the frame whose middle is nearest.
func TestMaskTargets(t *testing.T) {
	sounds := tones(rand.New(rand.NewPCG(4, 2)), 2000, 700, 150, 201)
	c := soundConfig(t, 7, sounds)
	if c.NumLabels != 7 || c.VocabSize != 257 {
		t.Fatalf("%d labels, vocabulary %d", c.NumLabels, c.VocabSize)
	}
	seen := map[int32]bool{}
	for _, e := range sounds {
		frames := 1 + max(0, len(e.A)-200)/80
		mean := make([]float64, targetBands)
		rows := make([][]float64, frames)
		for f := range rows {
			rows[f] = spectrumAt(e.A, f)
			for b, v := range rows[f] {
				mean[b] += v / float64(frames)
			}
		}
		targets := c.Targets(e)
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
				for b, v := range c.MaskTargets.book.At(name) {
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
		t.Errorf("only the names %v are told", seen)
	}
	all := c.Targets(sounds[0])
	positions := c.maskedPositions(len(sounds[0].A), sounds[0].Index, drawing{mode: lossMode, seed: c.SamplerSeed})
	for i, got := range c.Masked(sounds[0]) {
		if got != all[positions[i]] {
			t.Errorf("masked token %d, at %d: target %d, expected %d", i, positions[i], got, all[positions[i]])
		}
	}
}

// TestMaskTargetsShares: half of the tokens are told, of which one in ten is read as the mask and
// all others as they are.
func TestMaskTargetsShares(t *testing.T) {
	sounds := tones(rand.New(rand.NewPCG(4, 5)), 20000)
	c := soundConfig(t, 4, sounds)
	e := sounds[0]
	read, positions := c.masked(e.A, e.Index, drawing{mode: trainMode, seed: 3, step: 2})
	masks, others := 0, 0
	for i, token := range read {
		switch {
		case token == *c.MaskTokenID:
			masks++
		case token != e.A[i]:
			others++
		}
	}
	told, masked := float64(len(positions))/float64(len(e.A)), float64(masks)/float64(len(positions))
	if math.Abs(told-0.5) > 0.03 || math.Abs(masked-0.1) > 0.01 || others > 0 {
		t.Errorf("%.3f are told, of which %.3f are masks; %d are other tokens", told, masked, others)
	}
}

// TestMaskTargetsAgainstReference: the loss of a batch is that of telling the targets.
func TestMaskTargetsAgainstReference(t *testing.T) {
	testenv.NoRace(t, "compares with slow loops in float64")
	sounds := tones(rand.New(rand.NewPCG(4, 3)), 300, 420, 90)
	m := randomModel(soundConfig(t, 5, sounds), 3)
	want, tokens := newReference(m).fillMaskLoss(sounds)
	_, loss, err := m.Gradient(t.Context(), cpu.New(2), sounds)
	if err != nil || tokens < 50 || math.Abs(loss-want) > 1e-5 {
		t.Errorf("loss %v of %d masked tokens, expected %v; %v", loss, tokens, want, err)
	}
	must.Fail(t, "and fills no masks",
		"filled")(newScorerOf(t, m, cpu.New(1)).Fill(t.Context(), [][]int32{{1, 2, 256}}))
}

// TestMaskTargetsInConfig: config.json keeps them, and what cannot be is refused.
func TestMaskTargetsInConfig(t *testing.T) {
	sounds := tones(rand.New(rand.NewPCG(4, 4)), 2000)
	c := soundConfig(t, 4, sounds)
	text, err := json.Marshal(c)
	must.Succeed(t, err)
	again := must.Get(ParseConfig(text))(t)
	if !again.MaskTargets.same(c.MaskTargets) || !again.SameAnswers(c) ||
		!slices.Equal(again.Targets(sounds[0]), c.Targets(sounds[0])) {
		t.Errorf("read %+v, wrote %+v", again.MaskTargets, c.MaskTargets)
	}
	again.MaskTargets.book.Values[0]++
	if again.SameAnswers(c) {
		t.Error("other spectra are taken for the same")
	}
	for want, change := range map[string]func(c *Config){
		"num_labels: 3":         func(c *Config) { c.NumLabels = 3 },
		"tie_embeddings: true":  func(c *Config) { c.TieEmbeddings = true },
		"mask_targets: spectra": func(c *Config) { c.VocabSize, c.MaskTokenID = 10, new(int32(9)) },
		"none, as the task is":  func(c *Config) { c.Task = Classification },
	} {
		other := *c
		change(&other)
		must.Fail(t, want)(other.Validate())
	}
	for text, want := range map[string]string{
		`{"type":"pitch"}`: `type is "pitch", expected "spectra"`,
		`{"type":"spectra","bands":24,"codebook":"AAAA"}`: "expected spectra of 24 bands, found 3 bytes",
		`{"type":"spectra","bands":0,"codebook":""}`:      "expected 1 to 256 bands",
		`[]`: "cannot unmarshal array",
	} {
		must.Fail(t, want, text)(new(MaskTargets).UnmarshalJSON([]byte(text)))
	}
	labelled := *c // a model of labels that begins with this one
	labelled.Task = Classification
	if err := labelled.DescribeData(seq.Spec{Task: Classification, VocabSize: spectra.Levels,
		LabelNames: []string{"a", "b"}, Tokenizer: c.Tokenizer}); err != nil || labelled.MaskTargets != nil {
		t.Errorf("a model of labels tells %d spectra, %v", labelled.MaskTargets.Len(), err)
	}
	err = NewMaskTargets(4).Learn(t.Context(), func(add func([]int32) error) error { return add([]int32{1, 256}) },
		func(int, int) {})
	must.Fail(t, "token 256 at index 1", "a token that is no sample")(err)
	err = NewMaskTargets(4).Learn(t.Context(), func(func([]int32) error) error { return nil }, func(int, int) {})
	must.FailWith(t, spectra.ErrNothing, "no sequence")(err)
}
