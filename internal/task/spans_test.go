package task

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// outputOf returns the output of a model that predicts the given tags with certainty.
func outputOf(tags ...int) (o sft.Output) {
	for _, tag := range tags {
		row := []float32{-99, -99, -99}
		row[tag] = 99
		o.Logits = append(o.Logits, row...)
	}
	return o
}

// byteTags returns the config of a model that tags bytes.
func byteTags() *sft.Config {
	return &sft.Config{
		Task: config.Tagging,
		Inputs: config.Inputs{VocabSize: 257, MaxLength: 100, PadTokenID: new(int32(0)),
			Tokenizer: json.RawMessage(`{"type":"byte"}`)},
		Head: config.Head{NumLabels: 3, LabelNames: []string{"O", "B-X", "I-X"}},
	}
}

// TestSpans checks that spans have character positions for texts and token positions for tokens. It also
// checks how lists of tags are parsed, and that NaN logits are an error.
func TestSpans(t *testing.T) {
	c := byteTags()
	p := requests.NewParser(c, "", "f", 1)
	p.RecordOffsets = true
	for _, x := range []struct {
		line string
		tags []int
		want string
	}{
		{`{"id":1,"text":"aëb€"}`, []int{0, 1, 2, 1, 2, 2, 2},
			`{"id":1,"spans":[{"start":1,"end":2,"label":"X","score":1},{"start":2,"end":4,"label":"X","score":1}],"unit":"characters","length":7}`},
		{`{"id":1,"text":"aë"}`, []int{0, 0, 1}, `{"id":1,"spans":[{"start":1,"end":2,"label":"X","score":1}],"unit":"characters","length":3}`}, // the span starts inside a character
		{`{"id":1,"text":"éa"}`, []int{1, 1, 2},
			`{"id":1,"spans":[{"start":0,"end":1,"label":"X","score":1},{"start":1,"end":2,"label":"X","score":1}],"unit":"characters","length":3}`},
		{`{"id":1,"text":"é"}`, []int{1, 1}, `{"id":1,"spans":[{"start":0,"end":1,"label":"X","score":1}],"unit":"characters","length":2}`}, // two spans within one character
		{`{"tokens":[5,6]}`, []int{0, 2},
			`{"id":3,"spans":[{"start":1,"end":2,"label":"X","score":1}],"unit":"tokens","length":2}`},
		{`{"text":"a"}`, []int{0}, `{"id":3,"spans":[],"unit":"characters","length":1}`},
	} {
		r := p.Parse([]byte(x.line), 3, nil)
		if r.Failure != nil {
			t.Fatalf("%s: got the error %v, want none", x.line, r.Failure)
		}
		s, err := requests.NewReply(Of(c), c, r, outputOf(x.tags...))
		text, _ := json.Marshal(s)
		if err != nil || string(text) != x.want {
			t.Errorf("%s: got %s, error %v, want %s", x.line, text, err, x.want)
		}
	}
	tags, err := parseTags(c, json.RawMessage(`[null,"I-X",0,-1]`), 4)
	if err != nil || !slices.Equal(tags, []int32{-1, 2, 0, -1}) {
		t.Errorf("got tags %v, error %v, want [-1 2 0 -1]", tags, err)
	}
	for want, value := range map[string]string{"one label for each of the 2 tokens, found [1]": `[1]`,
		"index 1: label: expected 0 to 2": `[1,3]`, "found 7": `7`} {
		must.Fail(t, want, value)(parseTags(c, json.RawMessage(value), 2))
	}
	o := outputOf(0)
	o.Logits[1] = float32(math.NaN())
	must.Fail(t, "not finite")(requests.NewReply(Of(c), c, p.Parse([]byte(`{"text":"a"}`), 1, nil), o))
}
