package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// segmentText returns segments as text, with spans and their outcomes in brackets.
func segmentText(segments []segment) string {
	var out strings.Builder
	for _, s := range segments {
		if s.Space {
			out.WriteByte(' ')
		}
		if s.Span != nil {
			out.WriteByte('[')
		}
		for _, p := range s.Pieces {
			if p.LeftOut > 0 {
				fmt.Fprintf(&out, "…%d…", p.LeftOut)
			}
			out.WriteString(p.Text)
		}
		if s.Span != nil {
			fmt.Fprintf(&out, "|%s %s]", s.Span.Type, s.Span.Outcome)
		}
	}
	return out.String()
}

// TestTagExample checks that a row is shown with its labelled and its predicted spans. Of a long
// row, only the tokens near the start or the end of a span are shown.
func TestTagExample(t *testing.T) {
	const text = "Zoë saw Oslo"
	bytes := must.Get(tokenizer(t, `{"type":"byte"}`).Encode(text))(t)
	labels, predictions := []metrics.Span{{Start: 0, End: 4, Type: "PER"}, {Start: 9, End: 13, Type: "LOC"}},
		[]metrics.Span{{Start: 0, End: 4, Type: "PER"}, {Start: 5, End: 13, Type: "LOC"}}
	v := newTagExampleView(tokenizer(t, `{"type":"byte"}`),
		&TagExample{Row: 3, Tokens: bytes, Labels: labels, Predictions: predictions})
	if got, want := segmentText(v.Labels), "[Zoë|PER found] saw [Oslo|LOC missed]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := segmentText(v.Predictions), "[Zoë|PER right] [saw Oslo|LOC wrong]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if v.Found != 1 || v.Missed != 1 || v.Invented != 1 || v.Part {
		t.Errorf("got %+v, want 1 found, 1 missed, 1 wrong", v)
	}
	words := tokenizer(t, `{"type":"listops"}`)
	tokens := must.Get(words.Encode("[MAX 2 9 ]"))(t)
	v = newTagExampleView(words, &TagExample{Tokens: tokens, Labels: []metrics.Span{{Start: 1, End: 3, Type: "N"}}})
	if got, want := segmentText(v.Labels), "[MAX [2 9|N missed] ]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	const n, far = 100_000, 50_000
	long := slices.Repeat([]int32{'a' + 1}, n)
	v = newTagExampleView(tokenizer(t, `{"type":"byte"}`),
		&TagExample{Tokens: long, Labels: []metrics.Span{{Start: 100, End: far, Type: "x"}}})
	context := letters(contextTokens)
	if got, want := segmentText(v.Labels), fmt.Sprintf("…60…%s[%s…%d…%s|x missed]%s…%d…", context, context,
		far-100-2*contextTokens, context, context, n-far-contextTokens); got != want || !v.Part {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := segmentText(v.Predictions), fmt.Sprintf("…60…%s…%d…%s…%d…", letters(2*contextTokens),
		far-100-2*contextTokens, letters(2*contextTokens),
		n-far-contextTokens); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	both := TagExample{Tokens: long}
	for i := range n / 1000 {
		both.Labels = append(both.Labels, metrics.Span{Start: i * 1000, End: i*1000 + 5, Type: "x"})
	}
	both.Predictions = both.Labels
	if got := segmentText(newTagExampleView(tokenizer(t, `{"type":"byte"}`), &both).Predictions); strings.Count(got,
		"x right") != maxSpans {
		t.Errorf("got %s, want maxSpans correct spans", got)
	}
	many := TagExample{Tokens: long}
	for i := range n / 1000 {
		many.Predictions = append(many.Predictions, metrics.Span{Start: i * 1000, End: i*1000 + 5, Type: "x"})
	}
	v = newTagExampleView(tokenizer(t, `{"type":"byte"}`), &many)
	if got := segmentText(v.Predictions); strings.Count(got, "x wrong") != maxSpans ||
		len(got) > 3*maxSpans*contextTokens || v.Invented != 100 {
		t.Errorf("got %d characters, %d wrong spans and the text %s; want 100 wrong spans, of which %d are shown",
			len(got), v.Invented, got, maxSpans)
	}
}

func letters(n int) string { return strings.Repeat("a", n) }

// TestTags checks that the page has the scores of model and baselines, and escapes tagged text.
func TestTags(t *testing.T) {
	r := testRun(t, "run", 16)
	r.Config.Task, r.Config.NumLabels, r.Config.LabelNames = config.Tagging, 3,
		[]string{"O", "B-" + hostile, "I-" + hostile}
	tally := metrics.NewTagging(r.Config.LabelNames, 3)
	tally.Add([]int32{1, 2, 0, 1}, []int32{1, 2, 0, 0})
	r.Results, r.Tags = nil, &Tags{Data: hostile, Note: hostile, Rows: 1, Tokens: tally.Tokens(), CutTags: 17,
		Loss: 0.125, Spans: tally.AllSpans(), ByType: tally.Spans(),
		Lines: []TagLine{{"the model", 0.75, 0.5, 2.0 / 3}, {"the most frequent tag", 0.25, 0.125, 0}},
		Examples: []TagExample{{Row: 7, ID: hostile, Tokens: []int32{1, 2, 3, 4},
			Labels: []metrics.Span{{Start: 0, End: 2, Type: hostile}}}}}
	r.Outputs = "3 tags"
	r.Metrics.Validation = []train.EvaluationReport{{Step: 20, Loss: 0.8, Accuracy: new(0.5), MacroF1: new(0.25),
		SpanF1: new(0.375), Best: true, SelectedBy: "span-f1"}}
	var scripts, marks int
	text := elements(t, write(t, r), func(n *html.Node) {
		switch n.Data {
		case "script", "img":
			scripts++
		case "mark":
			marks++
		}
	})
	if scripts > 0 || marks != 1 {
		t.Errorf("got %d scripts or images from a run's text and %d marks, want 0 and 1", scripts, marks)
	}
	for _, want := range []string{
		"3 tags", "50.00% of the tokens, span F1 0.3750 (step 20, selected by span-f1)", "By another rule.",
		"the most frequent tag", "0.6667", "17 labels of tokens beyond",
		"Row 7, " + hostile + ": 0 spans found, 1 missed, 0 wrong", hostile + ", missed", "all spans",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "By rule.") {
		t.Error("got a rule without example rows")
	}
}

// TestTypes checks that the types with the most spans are shown, and that the hidden types are
// counted.
func TestTypes(t *testing.T) {
	r := testRun(t, "run", 16)
	r.Tags = &Tags{}
	for i := range maxClasses + 2 {
		r.Tags.ByType = append(r.Tags.ByType, metrics.SpanScore{Type: fmt.Sprint(i), Spans: int64(i)})
	}
	v := newTagsView(r)
	if len(v.Types) != 1+maxClasses || v.Hidden != 2 || v.Types[0].Type != "all spans" ||
		v.Types[1].Spans != maxClasses+1 || v.Types[maxClasses].Spans != 2 {
		t.Errorf("got %d hidden and %d shown types, want 2 and %d; got %+v, want all spans, then %d to 2 spans",
			v.Hidden, len(v.Types), 1+maxClasses, v.Types, maxClasses+1)
	}
	if r.Tags.ByType[0].Type != "0" {
		t.Error("the results were reordered")
	}
}
