package sft_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestTaggingRecord checks that a record has the tag of each token and its probability, and the names of
// the tags in its metadata. It also checks the spans that Spans decodes from logits.
func TestTaggingRecord(t *testing.T) {
	m := modeltest.RandomModel(configtest.WithTask(configtest.TinyConfig(), config.Tagging), 4)
	examples := configtest.RandomExamples(m.Config, rand.New(rand.NewPCG(1, 2)), 3, 40, 1)
	s := modeltest.NewScorerOf(t, m, cpu.New(1))
	want := modeltest.Score(t, s, examples)
	r := must.Get(s.Score(t.Context(), recordOf(false, examples)))(t)
	labels, probabilities := r.Column(0).(*array.List), r.Column(1).(*array.List)
	for i, e := range examples {
		from, to := labels.ValueOffsets(i)
		tags := labels.ListValues().(*array.Int32).Int32Values()[from:to]
		p := probabilities.ListValues().(*array.Float32).Float32Values()[from:to]
		if !slices.Equal(tags, m.Config.TagsOf(want[i].Logits)) || intAt(r, "length", i) != len(e.A) {
			t.Errorf("row %d: tags %v of %d tokens, want %v of %d", i, tags, intAt(r, "length", i),
				m.Config.TagsOf(want[i].Logits), len(e.A))
		}
		for at, tag := range tags {
			if all := sft.Probabilities(want[i].Logits[at*3 : at*3+3]); p[at] != all[tag] || p[at] < 1.0/3 {
				t.Errorf("row %d, token %d: probability %v of tag %d, want the largest of %v", i, at, p[at], tag, all)
			}
		}
	}
	if names, _ := r.Schema().Metadata().GetValue(seq.KeyLabelNames); names != `["O","B-X","I-X"]` {
		t.Errorf("label names %s in the metadata, want O, B-X and I-X", names)
	}
	if spans := m.Config.Spans(append(slices.Repeat([]float32{0, 5, 0}, 2), 0, 0, 5)); len(spans) != 2 ||
		spans[1].Start != 1 || spans[1].End != 3 || spans[1].Label != "X" ||
		math.Abs(float64(spans[1].Score)-1/(1+2*math.Exp(-5))) > 1e-6 {
		t.Errorf("got spans %+v, want two, of which the second is X at tokens 1 and 2", spans)
	}
}
