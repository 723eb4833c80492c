package sft

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// fillMaskLoss is the mean loss of the masked tokens of examples, and their number.
func (r reference) fillMaskLoss(examples []seq.Example) (mean float64, tokens int) {
	for _, e := range examples {
		loss, n := r.maskedLoss(e)
		mean, tokens = mean+loss, tokens+n
	}
	return mean / float64(tokens), tokens
}

// maskedLoss is the sum over the masked tokens of an example, and their number.
func (r reference) maskedLoss(e seq.Example) (loss float64, tokens int) {
	d := drawing{mode: lossMode, seed: r.SamplerSeed}
	if r.training != nil {
		d, r.row = *r.training, e.Index
	}
	read, positions := r.masked(e.A, e.Index, d)
	x := r.normed(read)
	for _, t := range positions {
		logits, sum := r.told(x[t]), 0.0
		for _, v := range logits {
			sum += math.Exp(v)
		}
		loss += math.Log(sum) - logits[r.Config.told(e.A, []int32{t})[0]]
	}
	return loss, len(positions)
}

// normed are the rows of tokens that the head or the mean reads.
func (r reference) normed(tokens []int32) (rows [][]float64) {
	rows, _ = r.layers(tokens)
	for i := range rows {
		if r.NormPosition == "pre" {
			rows[i] = r.norm("final_norm", rows[i])
		}
	}
	return rows
}

// told are the logits of a masked token.
func (r reference) told(row []float64) []float64 {
	logits, weight := slices.Clone(r.weights["head.out.bias"]), r.weights["head.out.weight"]
	if r.TieEmbeddings {
		weight = r.weights["embed.weight"]
	}
	for v := range logits {
		for c, x := range row {
			logits[v] += weight[v*len(row)+c] * x
		}
	}
	return logits
}

// fillMaskConfigs have both positions of norms, with and without tied embeddings.
func fillMaskConfigs() (out []*Config) {
	for _, norm := range []string{"pre", "post"} {
		for _, tied := range []bool{false, true} {
			c := ofTask(tinyConfig(), FillMask)
			c.NormPosition, c.TieEmbeddings, c.NumLayers = norm, tied, 1
			out = append(out, c)
		}
	}
	return out
}

// slope is how the reference's loss changes with a weight.
type slope struct {
	parameter Parameter
	index     int
	want      float64
}

// fillMaskSlopes are some of each tensor, by differences.
func fillMaskSlopes(m *Model, examples []seq.Example) (out []slope) {
	exact, random := newReference(m), rand.New(rand.NewPCG(2, 1))
	for _, p := range m.Parameters.List {
		w := exact.weights[p.Name]
		for n := range 8 {
			i := random.IntN(len(w))
			if n == 0 {
				i = len(w) - 1 // of the embedding, that of the mask
			}
			const h = 1e-5
			at := func(step float64) float64 {
				kept := w[i]
				defer func() { w[i] = kept }()
				w[i] += step
				loss, _ := exact.fillMaskLoss(examples)
				return loss
			}
			out = append(out, slope{p, i, (at(h) - at(-h)) / (2 * h)})
		}
	}
	return out
}

// TestFillMaskAgainstReference: the loss is that of the definition, and the gradient that of
// its differences, on every device.
func TestFillMaskAgainstReference(t *testing.T) {
	testenv.NoRace(t, "compares with slow loops in float64")
	type expectation struct {
		m        *Model
		examples []seq.Example
		loss     float64
		slopes   []slope
	}
	var expected []expectation // of all devices: differences take long
	for _, c := range fillMaskConfigs() {
		m := randomModel(c, 3)
		examples := randomExamples(c, rand.New(rand.NewPCG(8, 8)), 9, 3, 1, 40, 12)
		loss, tokens := newReference(m).fillMaskLoss(examples)
		if tokens < 15 {
			t.Fatalf("%d masked tokens are too few to show anything", tokens)
		}
		expected = append(expected, expectation{m, examples, loss, fillMaskSlopes(m, examples)})
	}
	onEveryKind(t, func(t *testing.T, devices ...tensor.Device) {
		for _, want := range expected {
			c := want.m.Config
			gradient, loss := must.Get2(want.m.Gradient(t.Context(), devices[0], want.examples))(t)
			if alone := meanLossOn(t, want.m, devices[0], want.examples); math.Abs(loss-want.loss) > 1e-6 ||
				math.Abs(alone-want.loss) > 1e-6 {
				t.Errorf("%s, tied %t: loss %v with a backward, %v without, expected %v", c.NormPosition,
					c.TieEmbeddings, loss, alone, want.loss)
			}
			for _, s := range want.slopes {
				if g := want.m.Parameters.Slice(gradient,
					s.parameter)[s.index]; math.Abs(s.want-float64(g)) > 1e-5+1e-3*math.Abs(s.want) {
					t.Errorf("%s, tied %t: %s[%d]: %v, by differences %v", c.NormPosition, c.TieEmbeddings,
						s.parameter.Name, s.index, g, s.want)
				}
			}
		}
	})
}

// TestMaskedShare: the share of masked tokens is the rate, at every position, and spans have
// the mean length that was asked for; of these tokens eight of ten are read as the mask, one
// as any token but mask and padding, and one as it is.
func TestMaskedShare(t *testing.T) {
	const length, rows = 50, 4000
	for _, s := range []struct{ rate, span float64 }{{0.15, 1}, {0.15, 3}, {0.5, 6}} {
		c := &Config{VocabSize: 101, PadTokenID: new(int32(7)), MaskTokenID: new(int32(100)),
			MaskRate: s.rate, MaskSpan: s.span}
		var at [length]float64
		total, goesOn, before, masks, others := 0.0, 0.0, 0.0, 0.0, make([]float64, 101)
		tokens := slices.Repeat([]int32{3}, length)
		for row := range uint32(rows) {
			read, positions := c.masked(tokens, row, drawing{mode: trainMode, seed: 5, step: 2})
			for i, p := range positions {
				at[p] += 1.0 / rows
				total++
				if p > 0 {
					before++
					if i > 0 && positions[i-1] == p-1 {
						goesOn++
					}
				}
				if read[p] == 100 {
					masks++
				} else {
					others[read[p]]++
				}
				read[p] = 3
			}
			if !slices.Equal(read, tokens) {
				t.Fatal("a token that is not to be told was changed")
			}
		}
		for p, share := range at {
			if math.Abs(share-s.rate) > 5*math.Sqrt(s.rate*(1-s.rate)/rows)+0.002 { // and the rows that had none
				t.Errorf("rate %g, span %g: a share of %.4f at position %d", s.rate, s.span, share, p)
			}
		}
		if last := c.anyToken(math.MaxUint32); last != 99 {
			t.Errorf("the last token that is read instead is %d", last)
		}
		// A masked token follows another if its span goes on, or a new one begins behind it.
		p := s.rate / (s.span - s.rate*(s.span-1))
		want := 1 - 1/s.span + p/s.span
		if got := goesOn / before; math.Abs(got-want) > 0.02 {
			t.Errorf("rate %g, span %g: %.3f of the masked tokens follow another, expected %.3f",
				s.rate, s.span, got, want)
		}
		if math.Abs(masks/total-0.8) > 0.015 || others[7] > 0 || math.Abs(others[3]/total-0.101) > 0.015 ||
			math.Abs(others[42]/total-0.1/99) > 0.001 {
			t.Errorf("rate %g, span %g: %.3f masks, %.3f as they are, %.4f of another token, %g of padding", s.rate,
				s.span, masks/total, others[3]/total, others[42]/total, others[7])
		}
	}
}

// TestMaskedDraws: what is masked is a function of seed, row and step in training, of seed and
// row in evaluation, and at least one token of each row is.
func TestMaskedDraws(t *testing.T) {
	c := &Config{VocabSize: 10, MaskTokenID: new(int32(9)), MaskRate: 0.15, MaskSpan: 3}
	of := func(mode passMode, seed uint64, row, step uint32) []int32 {
		return c.maskedPositions(400, row, drawing{mode, seed, step})
	}
	first := of(trainMode, 1, 2, 3)
	for name, other := range map[string][]int32{"seed": of(trainMode, 2, 2, 3), "row": of(trainMode, 1, 3, 3),
		"step": of(trainMode, 1, 2, 4), "evaluation": of(lossMode, 1, 2, 3)} {
		if slices.Equal(first, other) {
			t.Errorf("another %s masks the same tokens", name)
		}
	}
	if !slices.Equal(of(lossMode, 1, 2, 3), of(evaluateMode, 1, 2, 9)) {
		t.Error("evaluations of two steps mask other tokens")
	}
	e := seq.Example{Index: 2, A: make([]int32, 400)}
	for i := range e.A {
		e.A[i] = int32(i)
	}
	if c.SamplerSeed = 1; !slices.Equal(c.Masked(e), of(lossMode, 1, 2, 0)) {
		t.Error("the tokens to be told in an evaluation are not those at the masked positions")
	}
	c.MaskRate = 1e-6
	where := map[int32]int{}
	for row := range uint32(3000) {
		positions := c.maskedPositions(3, row, drawing{mode: trainMode})
		if len(positions) != 1 {
			t.Fatalf("%d tokens of a row are masked", len(positions))
		}
		where[positions[0]]++
	}
	if where[0] < 800 || where[1] < 800 || where[2] < 800 {
		t.Errorf("the only masked token of a row is at %v", where)
	}
}

// TestFillMaskBatchesChangeNoBit: an example's loss depends on its row and the step and on
// nothing else of the batch, on no number of threads, and neither does that of an evaluation.
func TestFillMaskBatchesChangeNoBit(t *testing.T) { onEveryKind(t, testFillMaskBatchesChangeNoBit) }

func testFillMaskBatchesChangeNoBit(t *testing.T, devices ...tensor.Device) {
	c := ofTask(trainingConfig(), FillMask)
	c.TieEmbeddings = true
	m := randomModel(c, 2)
	examples := randomExamples(c, rand.New(rand.NewPCG(4, 4)), 50, 1, 70, 4096, 33)
	gradient, all := gradientOf(t, m, 1, devices[0], examples, trainMode)
	for i, device := range devices {
		if other, b := gradientOf(t, m, 1+i, device, examples, trainMode); !slices.Equal(other, gradient) ||
			!slices.Equal(b.loss, all.loss) {
			t.Errorf("%d slots on %s change bits", 1+i, device.Name())
		}
	}
	measured := func(examples ...seq.Example) [][]float32 {
		return must.Get(newScorerOf(t, m, devices[0]).measured(t.Context(), examples))(t)
	}
	together := measured(examples...)
	for i, e := range examples {
		if _, alone := gradientOf(t, m, 1, devices[0], examples[i:i+1], trainMode); alone.loss[0] != all.loss[i] {
			t.Errorf("example %d: loss %v alone, %v in a batch", i, alone.loss[0], all.loss[i])
		}
		if alone := measured(e); alone[0][0] != together[i][0] {
			t.Errorf("example %d: an evaluation says %v alone, %v in a batch", i, alone[0][0], together[i][0])
		}
	}
}

// TestFillMaskCapacity: a pass with more tokens to be told than expected has room for them,
// and the memory of a run counts their logits.
func TestFillMaskCapacity(t *testing.T) {
	c := ofTask(tinyConfig(), FillMask)
	c.VocabSize, c.NumLabels, c.MaskTokenID = 20001, 20000, new(int32(20000))
	c.MaskRate = 0.15
	b := packOne(c, randomExamples(c, rand.New(rand.NewPCG(1, 1)), 4000), drawing{mode: trainMode})
	usual := b.shape(c)
	room := c.objective().targetCapacity(c, usual.Tokens, usual.Sequences)
	if n := len(b.targetRow); n < 400 || n > room || room > 1500 || usual.Tokens != bucket(4000) {
		t.Errorf("%d tokens are masked, room for %d, a pass of %d tokens", n, room, usual.Tokens)
	}
	b.counts.Targets = int32(room + 1)
	if s := b.shape(c); s.Tokens <= usual.Tokens || c.objective().targetCapacity(c, s.Tokens, s.Sequences) <= room {
		t.Errorf("shape %+v for %d masked tokens", s, room+1)
	}
	for _, mode := range []passMode{lossMode, trainMode} {
		words, err := passWords(c, NewParameters(c), nil, mode, 4000, 1, 0)
		if err != nil || words < 2*room*20000 {
			t.Errorf("mode %d: memory of %d words, logits and their gradient have %d; error %v", mode,
				words, 2*room*20000, err)
		}
	}
	for _, mib := range []int64{400, 1000} { // 256 are reserved
		s, err := NewStepper(NewModel(c, 1), runSettings(), cpu.New(1), 4000, mib<<20)
		var memory *MemoryError
		if errors.As(err, &memory) != (mib == 400) || mib == 1000 && err != nil {
			t.Errorf("%d MiB: %v", mib, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// TestDescribeFillMask: the data's vocabulary gets the mask as its last token.
func TestDescribeFillMask(t *testing.T) {
	spec := seq.Spec{Task: Classification, VocabSize: 9, Tokenizer: json.RawMessage(`{"type":"listops"}`)}
	c := tinyConfig()
	c.Task = FillMask
	must.Succeed(t, c.DescribeData(spec))
	if c.VocabSize != 10 || c.NumLabels != 9 || *c.MaskTokenID != 9 || c.MaskRate != 0.15 || c.MaskSpan != 3 {
		t.Errorf("%+v", c)
	}
	spec.VocabSize, c.MaskSpan, c.MaskRate = 5000, 0, 0.4
	if err := c.DescribeData(spec); err != nil || c.MaskSpan != 1 || c.MaskRate != 0.4 || c.VocabSize != 5001 {
		t.Errorf("%+v, %v", c, err)
	}
	for want, change := range map[string]func(c *Config){
		"mask_token_id: none":    func(c *Config) { c.MaskTokenID = nil },
		"mask_token_id: 3":       func(c *Config) { c.MaskTokenID = new(int32(3)) },
		"num_labels: 7":          func(c *Config) { c.NumLabels = 7 },
		"mask_rate: 1":           func(c *Config) { c.MaskRate = 1 },
		"mask_rate: NaN":         func(c *Config) { c.MaskRate = math.NaN() },
		"mask_rate: 1e-30":       func(c *Config) { c.MaskRate = 1e-30 },
		"mask_span: 0.5":         func(c *Config) { c.MaskSpan = 0.5 },
		"mask_span: 1e+18":       func(c *Config) { c.MaskSpan = 1e18 },
		"mask_span: +Inf":        func(c *Config) { c.MaskSpan = math.Inf(1) },
		"pad_token_id: 8":        func(c *Config) { c.PadTokenID = c.MaskTokenID },
		"tie_embeddings: true":   func(c *Config) { c.Task, c.TieEmbeddings = Classification, true },
		"mask_token_id: 0, expe": func(c *Config) { c.VocabSize, c.MaskTokenID = 1, new(int32(0)) },
	} {
		c := ofTask(tinyConfig(), FillMask)
		change(c)
		must.Fail(t, want)(c.Validate())
	}
}

// TestFillMaskRefusals: what the task does not have is an error that says so.
func TestFillMaskRefusals(t *testing.T) {
	c := ofTask(tinyConfig(), FillMask)
	m := randomModel(c, 1)
	s := newScorerOf(t, m, cpu.New(1))
	examples := randomExamples(c, rand.New(rand.NewPCG(1, 1)), 5)
	calls := map[string]func() error{
		"Examples": func() error { _, err := s.Examples(t.Context(), examples); return err },
		"Explain":  func() error { _, err := s.Explain(t.Context(), examples); return err },
		"Score":    func() error { _, err := s.Score(t.Context(), nil); return err },
	}
	for name, call := range calls {
		must.Fail(t, "tells masked tokens", name)(call())
	}
	examples[0].A[3] = *c.MaskTokenID
	must.Fail(t, "token 8 at index 3 is the mask",
		"a mask among the tokens")(m.Gradient(t.Context(), cpu.New(1), examples))
	for want, change := range map[string]func(s *Settings){
		`select is "auc"`:          func(s *Settings) { s.Select = "auc" },
		"weights of classes":       func(s *Settings) { s.ClassWeights = []float64{1, 2} },
		"token replacement is 0.1": func(s *Settings) { s.TokenReplacement = 0.1 },
	} {
		settings := runSettings()
		change(&settings)
		must.Fail(t, want)(NewStepper(m, settings, cpu.New(1), 10, 0))
	}
}

// TestTrainFillMask: a model learns rows whose tokens repeat, is selected by the loss, and its
// lines say bits and no accuracy.
func TestTrainFillMask(t *testing.T) {
	train, val := splits(t, FillMask)
	c := ofTask(tinyConfig(), FillMask)
	settings := runSettings()
	settings.Epochs, settings.LearningRate = 30, 0.02
	var lines []StepReport
	var reports []EvaluationReport
	dir := t.TempDir()
	must.Succeed(t, trainNew(t, NewModel(c, 1), settings, options(dir, func(event any) {
		switch r := event.(type) {
		case StepReport:
			lines = append(lines, r)
		case EvaluationReport:
			reports = append(reports, r)
		}
	}), cpu.New(2), train, val))
	best := slices.MinFunc(reports, func(a, b EvaluationReport) int {
		if a.Loss < b.Loss {
			return -1
		}
		return 1
	})
	last := slices.IndexFunc(reports, func(r EvaluationReport) bool { return r.Loss == best.Loss })
	for i, r := range reports {
		if r.Accuracy != nil || r.MacroF1 != nil || r.SelectedBy != byLoss ||
			math.Abs(*r.BitsPerToken-r.Loss/math.Log(2)) > 1e-12 || i > last && r.Best {
			t.Errorf("%+v", r)
		}
	}
	if !(best.Loss < reports[0].Loss) || lines[0].Accuracy != nil {
		t.Errorf("losses from %v to %v; first line %+v", reports[0].Loss, best.Loss, lines[0])
	}
	text := fmt.Sprint(read(t, dir+"/"+metricsFile))
	if strings.Contains(text, "accuracy") || !strings.Contains(text, "bits_per_token") {
		t.Errorf("metrics %s", text)
	}
	checkpoint, err := LoadCheckpoint(dir)
	if err != nil || checkpoint.State.Selected != best.Loss || checkpoint.State.BestStep != best.Step {
		t.Errorf("state %+v, the best is %+v; %v", checkpoint.State, best, err)
	}
}
