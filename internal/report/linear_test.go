package report

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
)

// TestLinearView checks that an n-gram divides its contribution among its occurrences and their
// tokens. Positive sums are blue, negative sums are orange, and the sum with the largest absolute value
// is the darkest.
func TestLinearView(t *testing.T) {
	k := tokenizer(t, `{"type":"byte"}`)
	tokens := must.Get(k.Encode("ab ab c"))(t)
	e := &sft.Explanation{Linear: &sft.LinearExplanation{Rest: 0.25, NGrams: []sft.NGramExplanation{
		{Places: [][2]int32{{0, 2}, {3, 5}}, Contribution: 4}, {Places: [][2]int32{{6, 7}}, Contribution: -0.5}}}}
	v := must.Get(newSequenceView(k, tokens, e))(t)
	for i, want := range []string{"sampled) / 0.75", "sampled) / 0.75", "sampled) / 0.00", "sampled) / 0.75",
		"sampled) / 0.75", "sampled) / 0.00", "pooling) / 0.38"} {
		if !strings.Contains(string(v.Text[i].Style), want) {
			t.Errorf("%q: got style %s, want %s", v.Text[i].Text, v.Text[i].Style, want)
		}
	}
	if l := v.Linear; l.NGrams[0].Text != "ab" || l.NGrams[1].Text != "c" || l.NGrams[1].Contribution != -0.5 ||
		l.Rest != 0.25 || v.Text[6].Title != "position 6, contribution -0.5" || v.Strip != nil {
		t.Errorf("got n-grams %+v, rest %v, title %q and strip %+v; want ab and c with -0.5, 0.25, %q and no strip",
			l.NGrams, l.Rest, v.Text[6].Title, v.Strip, "position 6, contribution -0.5")
	}
	e.Linear.NGrams, e.Linear.Shared = nil, []sft.NGramExplanation{{Places: [][2]int32{{6, 7}}, Contribution: 0.5}}
	v = must.Get(newSequenceView(k, tokens, e))(t)
	if !strings.Contains(string(v.Text[6].Style), "sampled) / 0.75") || v.Linear.Shared[0].Text != "c" {
		t.Errorf("got shared words %+v and style %q, want c and %q inside", v.Linear.Shared, v.Text[6].Style,
			"sampled) / 0.75")
	}
	must.Get(newSequenceView(k, nil, &sft.Explanation{Linear: &sft.LinearExplanation{}}))(t)
}
