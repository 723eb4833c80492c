package config_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/spectra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestMaskTargetsInConfig checks that config.json stores the targets, that invalid targets are refused,
// and that a classifier has none. It also checks the errors of Learn.
func TestMaskTargetsInConfig(t *testing.T) {
	sounds := configtest.Tones(rand.New(rand.NewPCG(4, 4)), 2000)
	c := configtest.SoundConfig(t, 4, sounds)
	text, err := json.Marshal(c)
	must.Succeed(t, err)
	again := must.Get(config.Parse(text))(t)
	if !again.SameOutputs(c) ||
		!slices.Equal(configtest.TargetsOf(again, sounds[0]), configtest.TargetsOf(c, sounds[0])) {
		t.Errorf("read %+v, want %+v as written", again.MaskTargets, c.MaskTargets)
	}
	again.MaskTargets.Book().Values[0]++
	if again.SameOutputs(c) {
		t.Error("SameOutputs is true for different spectra")
	}
	for want, change := range map[string]func(c *config.Config){
		"num_labels: 3":         func(c *config.Config) { c.NumLabels = 3 },
		"tie_embeddings: true":  func(c *config.Config) { c.TieEmbeddings = true },
		"mask_targets: spectra": func(c *config.Config) { c.VocabSize, c.MaskTokenID = 10, new(int32(9)) },
		"none for task":         func(c *config.Config) { c.Task = config.Classification },
	} {
		other := *c
		change(&other)
		must.Fail(t, want)(other.Validate())
	}
	for text, want := range map[string]string{
		`{"type":"pitch"}`: `type is "pitch", expected "spectra"`,
		`{"type":"spectra","bands":24,"codebook":"AAAA"}`: "expected spectra of 24 bands, found 3 bytes",
		`{"type":"spectra","bands":0,"codebook":""}`:      "expected 1 to 256 bands",
		`[]`: "expected an object, found a list",
	} {
		must.Fail(t, want, text)(new(config.MaskTargets).UnmarshalJSON([]byte(text)))
	}
	labelled := *c // a classifier that starts from this model
	labelled.Task = config.Classification
	if err := labelled.DescribeData(seq.Spec{Task: config.Classification, VocabSize: spectra.Levels,
		LabelNames: []string{"a", "b"}, Tokenizer: c.Tokenizer}); err != nil || labelled.MaskTargets != nil {
		t.Errorf("the classifier has %d spectra, want none; error %v", labelled.MaskTargets.Len(), err)
	}
	err = config.NewMaskTargets(4).Learn(t.Context(),
		func(add func([]int32) error) error { return add([]int32{1, 256}) },
		func(int, int) {})
	must.Fail(t, "token 256 at index 1", "a token that is not an audio sample")(err)
	err = config.NewMaskTargets(4).Learn(t.Context(), func(func([]int32) error) error { return nil }, func(int, int) {})
	must.FailWith(t, spectra.ErrNothing, "without sequences")(err)
}
