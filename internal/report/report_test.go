package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
	"github.com/sftseq/sftseq/tokenizers"
)

// hostile is text that would be markup if it were not escaped.
const hostile = `<script>alert('"&</script><img src=http://x/y>`

// testRun returns a run with byte tokens and with hostile texts.
func testRun(t *testing.T, name string, hidden int) Run {
	t.Helper()
	c := &sft.Config{
		ModelType: "sft",
		Task:      config.Classification,
		Inputs:    config.Inputs{VocabSize: 257, Tokenizer: json.RawMessage(`{"type":"byte"}`)},
		Encoder:   config.Encoder{HiddenSize: hidden, NumLayers: 1},
		Head:      config.Head{NumLabels: 2, LabelNames: []string{hostile, "plain"}},
	}
	extra := must.Get(json.Marshal(map[string]any{"command": hostile, "settings": map[string]any{"batch": 8}}))(t)
	c.Extra = extra
	m := &train.Metrics{Torn: true, Validation: []train.EvaluationReport{{Step: 20, Loss: 0.8, Accuracy: new(0.4)},
		{Step: 40, Loss: 0.7, Accuracy: new(0.5)}}}
	for step := 10; step <= 40; step += 10 {
		m.Train = append(m.Train, train.StepReport{Step: step, Loss: 1 / float64(step), Accuracy: new(0.5),
			LearningRate: 1e-3, GradNorm: 1, Tokens: 100, TokensPerS: 5000})
	}
	tally := metrics.NewTally(2)
	for i := range 10 {
		must.Succeed(t, tally.Add(i%2, []float32{float32(i), 3}, 10+i))
	}
	tokens := make([]int32, len(hostile))
	pooling := make([]float32, len(tokens))
	for i := range tokens {
		tokens[i], pooling[i] = int32(hostile[i])+1, 1/float32(len(tokens))
	}
	pooling[3] *= 2
	e := sft.Explanation{Pooling: pooling,
		Layers: []sft.LayerExplanation{{Positions: []int32{1, 3}, Weights: []float32{1, 1},
			Mass: []float32{0.25, 0.75}}}}
	return Run{Name: name, Config: c, Metrics: m, Tokenizer: tokenizers.Byte{},
		Results: &Results{Data: hostile, Note: hostile, Report: tally.Report(),
			Examples: []Example{{Row: 7, ID: "a<b>.wav", Label: 1, Tokens: [][]int32{tokens},
				Output: sft.Output{Logits: []float32{2, 1}, Explanations: []sft.Explanation{e}}}}}}
}

func write(t *testing.T, runs ...Run) string {
	t.Helper()
	var out bytes.Buffer
	must.Succeed(t, Write(&out, runs, Rule{Rows: "By rule.", Tags: "By another rule."}))
	return out.String()
}

// elements calls f with every element of a page, and returns the text of the page.
func elements(t *testing.T, page string, f func(n *html.Node)) (text string) {
	t.Helper()
	root := must.Get(html.Parse(strings.NewReader(page)))(t)
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			f(n)
		} else if n.Type == html.TextNode {
			text += n.Data
		}
	}
	return text
}

// TestPageIsSelfContained checks that texts of a run are escaped, and that the page references no
// external resource.
func TestPageIsSelfContained(t *testing.T) {
	r := testRun(t, hostile, 16)
	page := write(t, r, Run{Name: "second", Config: r.Config, Metrics: &train.Metrics{}, Missing: hostile})
	text := elements(t, page, func(n *html.Node) {
		if n.Data == "script" || n.Data == "iframe" || n.Data == "object" {
			t.Errorf("got an element %s, want no script, iframe or object", n.Data)
		}
		for _, a := range n.Attr {
			if (a.Key == "src" || a.Key == "href" || a.Key == "srcset" || a.Key == "action") &&
				!strings.HasPrefix(a.Val, "data:") {
				t.Errorf("got reference %s %s=%q, want only data: URLs", n.Data, a.Key, a.Val)
			}
			if strings.HasPrefix(a.Key, "on") || strings.Contains(a.Val, "ZgotmplZ") {
				t.Errorf("got attribute %s %s=%q, want no event handler and no ZgotmplZ", n.Data, a.Key, a.Val)
			}
		}
	})
	if i := strings.Index(page, "%!"); i >= 0 {
		t.Errorf("got a formatting error: %.60s", page[i:])
	}
	// hostile occurs in the title, the tables, the command, the labels, the data and both notes.
	if n := strings.Count(text, hostile); n < 12 {
		t.Errorf("got the hostile text %d times, want at least 12", n)
	}
	if !strings.Contains(text, "Row 7, a<b>.wav: ") {
		t.Errorf("the page lacks the name of the example's row, %q", "Row 7, a<b>.wav: ")
	}
	if !strings.Contains(text, "metrics.jsonl is incomplete") || !strings.Contains(text, "no examples: "+hostile) {
		t.Error("the page lacks the note on metrics.jsonl or the reason for missing examples")
	}
	// Each byte of the example is a separate span. Together, the spans are the text.
	if i := strings.Index(page, `<div class="text mono">`); i < 0 ||
		elements(t, page[i:i+strings.Index(page[i:], "</div>")], func(*html.Node) {}) != hostile {
		t.Error("the text of the example differs from the input")
	}
}

// TestOverlay checks that runs share charts in different colours, and that differing settings are
// marked.
func TestOverlay(t *testing.T) {
	page := write(t, testRun(t, "one", 16), testRun(t, "two", 32), testRun(t, "three", 16))
	charts, legend := 0, map[string]bool{}
	lines := map[string]int{} // by colour, in a loss chart
	var marked []string
	elements(t, page, func(n *html.Node) {
		if attributeOf(n, "aria-label") == "Loss over steps" {
			charts++
			for c := range n.Descendants() {
				if class := attributeOf(c, "class"); c.Data == "path" && attributeOf(c, "fill") == "none" &&
					strings.HasPrefix(class, "c") {
					lines[class]++
				}
			}
		}
		if label, ok := strings.CutPrefix(attributeOf(n, "aria-label"), "colour of "); ok {
			legend[label] = true
		}
		if attributeOf(n, "class") == "differs" {
			marked = append(marked, n.FirstChild.FirstChild.Data)
		}
	})
	if charts != 1 || len(legend) != 3 || len(lines) != 3 {
		t.Errorf("got %d charts, legend %v, lines %v; want 1, 3 and 3", charts, legend, lines)
	}
	for color, n := range lines {
		if n != 2 { // training and validation
			t.Errorf("got %d lines of %s, want 2", n, color)
		}
	}
	if fmt.Sprint(marked) != "[≠ hidden_size]" {
		t.Errorf("got marked settings %q, want only hidden_size", marked)
	}
}

// attributeOf returns an attribute of an element, or "".
func attributeOf(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// TestRunWithoutMetrics checks that a run without recorded metrics has a page.
func TestRunWithoutMetrics(t *testing.T) {
	r := testRun(t, "new", 16)
	text := elements(t, write(t, Run{Name: "new", Config: r.Config, Metrics: &train.Metrics{}, Missing: "none"}),
		func(*html.Node) {})
	if !strings.Contains(text, "has no training or validation metrics yet") {
		t.Error("the page lacks the note that there are no metrics")
	}
}

// TestManyClasses checks that the most frequent mistakes replace the confusion matrix of many
// classes.
func TestManyClasses(t *testing.T) {
	tally := metrics.NewTally(30)
	for i := range 56 { // classes from 26 on have one row, the other classes two
		logits := make([]float32, 30)
		logits[min(i%30, 20)] = 1 // classes from 21 on are predicted as class 20
		must.Succeed(t, tally.Add(i%30, logits, 5))
	}
	c := newClasses(&sft.Config{Head: config.Head{NumLabels: 30}}, tally.Report())
	if c.Rows != nil || len(c.Mistakes) != 9 || c.Mistakes[0] != (mistake{"21", "20", 2}) ||
		c.Mistakes[8] != (mistake{"29", "20", 1}) {
		t.Errorf("got %d rows and mistakes %v, want 0 and 9", len(c.Rows), c.Mistakes)
	}
}

// TestConfigTable checks that the table has the keys of all runs in file order. Long values are
// shortened, and all other values are unchanged.
func TestConfigTable(t *testing.T) {
	config := func(text string) *sft.Config { return &sft.Config{Extra: json.RawMessage(text)} }
	table := must.Get(newConfigTable([]Run{
		{Config: config(`{"b":"","a":null,"settings":{"rate":0.001,"stages":[{"steps":2},3]},"long":"` +
			strings.Repeat("ä", 500) + `"}`)},
		{Config: config(`{"b":"","settings":{"rate":0.001,"stages":[{"steps":2},4],"new":"x"}}`)}}))(t)
	got := ""
	for _, i := range []int{0, 2} {
		for _, r := range table.Groups[i].Rows {
			got += fmt.Sprintf("%s %v %q\n", r.Key, r.Differs, r.Cells)
		}
	}
	want := `rate false ["0.001" "0.001"]
stages true ["[{\"steps\":2},3]" "[{\"steps\":2},4]"]
new true ["" "x"]
b false ["\"\"" "\"\""]
a true ["null" ""]
long true ["` + strings.Repeat("ä", maxText) + `… (500 characters)" ""]
`
	if got != want || table.Differ != 4 {
		t.Errorf("got %d different rows:\n%swant\n%s", table.Differ, got, want)
	}
}
