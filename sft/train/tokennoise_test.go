package train

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestDeletion checks that the fraction of dropped tokens is the rate and that remaining tokens
// keep their order. Steps, rows and the sequences of a pair drop different tokens.
func TestDeletion(t *testing.T) {
	const length = 20000
	ascending := make([]int32, length)
	for i := range ascending {
		ascending[i] = int32(i)
	}
	c, s := &config.Config{
		Task:   config.Classification,
		Inputs: config.Inputs{VocabSize: length},
	}, Settings{Seed: 3, TokenDeletion: 0.3}
	batch := []seq.Example{{Index: 5, A: ascending, B: ascending, Label: 1}, {Index: 6, A: ascending}}
	before := slices.Clone(batch)
	withNoise := func(step int, batch ...seq.Example) []seq.Example { return s.addNoise(c, batch, step, 2) }
	got := withNoise(7, batch...)
	if !reflect.DeepEqual(batch, before) {
		t.Error("addNoise changed its argument")
	}
	for _, a := range [][]int32{got[0].A, got[0].B, got[1].A} {
		if dropped := 1 - float64(len(a))/length; math.Abs(dropped-0.3) > 0.02 || !slices.IsSorted(a) {
			t.Errorf("a fraction of %.3f is dropped, want 0.3; in order: %t", dropped, slices.IsSorted(a))
		}
	}
	if got[1].B != nil || got[0].Label != 1 || got[0].Index != 5 {
		t.Errorf("second sequence %v, label %d, index %d; want none, 1, 5", got[1].B, got[0].Label, got[0].Index)
	}
	if !reflect.DeepEqual(withNoise(7, batch[1]), got[1:]) {
		t.Error("a row drops different tokens alone and in a batch")
	}
	for name, other := range map[string][]int32{"another step": withNoise(8, batch[1])[0].A, "another row": got[0].A} {
		if slices.Equal(other, got[1].A) {
			t.Errorf("%s drops the same tokens as row 6 in step 7, want other ones", name)
		}
	}
	if slices.Equal(got[0].A, got[0].B) {
		t.Error("both sequences of a pair drop the same tokens, want different ones")
	}
	s.TokenDeletion = 0
	if !reflect.DeepEqual(withNoise(7, batch...), before) {
		t.Error("a rate of 0 changes examples, want them unchanged")
	}
}

// TestReplacement checks that the fraction of replaced tokens is the rate. A replacement is uniform
// over the vocabulary without the padding, and may equal the replaced token.
func TestReplacement(t *testing.T) {
	const length, vocabulary, own = 40000, 8, 1
	for _, pad := range []int32{-1, 0, 5, vocabulary - 1} {
		c, s := &config.Config{
			Task:   config.Classification,
			Inputs: config.Inputs{VocabSize: vocabulary},
		},
			Settings{Seed: 3, TokenReplacement: 0.4}
		choices := vocabulary
		if pad >= 0 {
			c.PadTokenID = &pad
			choices--
		}
		got := s.addNoise(c, []seq.Example{{A: slices.Repeat([]int32{own}, length)}}, 2, 2)[0].A
		if len(got) != length {
			t.Errorf("padding %d: %d of %d tokens are left, want all", pad, len(got), length)
		}
		frequencies := make([]float64, vocabulary)
		for _, token := range got {
			frequencies[token] += 1.0 / length
		}
		for token, frequency := range frequencies {
			want := 0.4 / float64(choices)
			switch int32(token) {
			case own:
				want += 0.6
			case pad:
				want = 0
			}
			if math.Abs(frequency-want) > 0.01 || want == 0 && frequency > 0 {
				t.Errorf("padding %d: token %d has the frequency %.4f, want %.4f", pad, token, frequency, want)
			}
		}
	}
}

// TestDeletionOfAll checks that a sequence keeps at least one token.
func TestDeletionOfAll(t *testing.T) {
	s := Settings{Seed: 1, TokenDeletion: 0.99}
	for step := range 100 {
		got := s.addNoise(&config.Config{Task: config.Classification, Inputs: config.Inputs{VocabSize: 4}},
			[]seq.Example{{A: []int32{1, 2}, B: []int32{3}}}, step, 2)
		if a, b := len(got[0].A), len(got[0].B); a == 0 || b == 0 {
			t.Fatalf("step %d: %d and %d tokens are left, want at least 1", step, a, b)
		}
	}
}

// TestTrainWithNoise checks that the metrics of a run count only the remaining tokens.
func TestTrainWithNoise(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	tokens := func(rate float64) (n int) {
		s := runSettings()
		s.Epochs, s.TokenDeletion = 1, rate
		observe := func(event any) {
			if r, ok := event.(StepReport); ok {
				n += r.Tokens
			}
		}
		must.Succeed(t, trainNew(t, modeltest.RandomModel(configtest.TrainingConfig(), 1), s,
			options(t.TempDir(), observe), cpu.New(2), train, val))
		return n
	}
	if whole, rest := tokens(0), tokens(0.5); rest*4 < whole || rest*4 > 3*whole {
		t.Errorf("the run counts %d of %d tokens, want about half", rest, whole)
	}
}

// TestDeletionOfLabels checks that a dropped token drops its label, and that the labels of a
// multi-label row do not change.
func TestDeletionOfLabels(t *testing.T) {
	s := Settings{Seed: 3, TokenDeletion: 0.5}
	for step := range 20 {
		e := []seq.Example{{A: []int32{1, 2, 3, 4}, Labels: []int32{0, 2, 4, 6}}}
		row := s.addNoise(&config.Config{Task: config.MultiLabel, Inputs: config.Inputs{VocabSize: 9}}, e, step, 2)[0]
		tokens := s.addNoise(&config.Config{Task: config.Tagging, Inputs: config.Inputs{VocabSize: 9}}, e, step, 2)[0]
		if !slices.Equal(row.Labels, e[0].Labels) {
			t.Errorf("step %d: a row of the tokens %v has the labels %v", step, row.A, row.Labels)
		}
		for i, token := range tokens.A {
			if len(tokens.Labels) != len(tokens.A) || tokens.Labels[i] != 2*(token-1) {
				t.Errorf("step %d: tokens %v have the labels %v", step, tokens.A, tokens.Labels)
				break
			}
		}
	}
}
