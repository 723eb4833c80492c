package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestFillMemory checks that a pass in FillMode has room for the masks of its batch, that masks do not
// increase its number of tokens, and that the planned memory is sufficient.
func TestFillMemory(t *testing.T) {
	c := configtest.WithTask(configtest.TinyConfig(), config.FillMask)
	c.MaskRate = 0.001
	for masks, want := range map[int]int{1: 64, 1000: 1024} {
		tokens := slices.Repeat([]int32{3}, 1000)
		for i := range masks {
			tokens[i] = *c.MaskTokenID
		}
		b := packOne(c, []seq.Example{{A: tokens}}, Drawing{Mode: FillMode})
		s := b.shape(c)
		if s.Masks != want || s.Tokens != 1024 || int(b.counts.Targets) != masks {
			t.Errorf("%d masks: shape %+v with %d targets, want %d mask rows, 1024 tokens and %d targets", masks, s,
				b.counts.Targets, want, masks)
		}
		p := must.Get(newPass(c, NewParameters(c), s, FillMode))(t)
		planned, err := PassWords(c, NewParameters(c), cpu.New(1), FillMode, 1000, 1, 0)
		if used := p.Program.Words(tensor.Arena) + p.Program.Words(tensor.Inputs); err != nil || used > planned {
			t.Errorf("%d masks: %d words, want at most the planned %d; error %v", masks, used, planned, err)
		}
	}
}

// TestFillMaskCapacity checks that a pass has room for more target tokens than expected, that the shape grows
// for a batch with even more, and that the memory plan includes their logits.
func TestFillMaskCapacity(t *testing.T) {
	c := configtest.LargeVocabularyConfig()
	b := packOne(c, configtest.RandomExamples(c, rand.New(rand.NewPCG(1, 1)), 4000), Drawing{Mode: TrainMode})
	usual := b.shape(c)
	room := objectiveOf(c).targetCapacity(c, usual.Tokens, usual.Sequences)
	if n := len(b.targetRow); n < 400 || n > room || room > 1500 || usual.Tokens != bucket(4000) {
		t.Errorf("%d masked tokens, want at least 400; room for %d, want %d to 1500; shape of %d tokens, want %d",
			n, room, n, usual.Tokens, bucket(4000))
	}
	b.counts.Targets = int32(room + 1)
	if s := b.shape(c); s.Tokens <= usual.Tokens || objectiveOf(c).targetCapacity(c, s.Tokens, s.Sequences) <= room {
		t.Errorf("shape %+v for %d masked tokens, want more than %d tokens, and room for more than %d masked tokens", s,
			room+1, usual.Tokens, room)
	}
	for _, mode := range []PassMode{LossMode, TrainMode} {
		words, err := PassWords(c, NewParameters(c), nil, mode, 4000, 1, 0)
		if err != nil || words < 2*room*20000 {
			t.Errorf("mode %d: memory of %d words, want at least %d for the logits and their gradient; error %v", mode,
				words, 2*room*20000, err)
		}
	}
}
