package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/table"
)

// TestExtract checks which part of a text a pattern selects.
func TestExtract(t *testing.T) {
	for _, c := range []struct {
		pattern, text, want string
		ok                  bool
	}{
		{"", "all of it", "all of it", true},
		{`\d+`, "no 12 34", "12", true},
		{`^([0-9]+)_[a-z]+_[0-9]+\.wav$`, "7_jackson_32.wav", "7", true},
		{`class=(\w+)`, "id=1 class=beta x", "beta", true},
		{`class=(\w+)`, "id=1", "", false},
		{`(?:a|b)(c)?`, "xb", "", true},
		{`(x)|(y)`, "y", "y", true},
		{`(?<test>_[0-4]\.wav$)|(?<train>\.wav$)`, "7_jackson_3.wav", "test", true},
		{`(?<test>_[0-4]\.wav$)|(?<train>\.wav$)`, "7_jackson_32.wav", "train", true},
		{`(?<test>_[0-4]\.wav$)|(?<train>\.wav$)`, "7_jackson_32.mp3", "", false},
		{`(\d)(?<odd>[13579])?`, "41", "odd", true},
		{`(\d)(?<odd>[13579])?`, "42", "4", true},
	} {
		var pattern *regexp.Regexp
		if c.pattern != "" {
			pattern = regexp.MustCompile(c.pattern)
		}
		if got, ok := extract(pattern, c.text); got != c.want || ok != c.ok {
			t.Errorf("%s of %q: got %q, %v, want %q, %v", c.pattern, c.text, got, ok, c.want, c.ok)
		}
	}
}

// TestPatterns checks that classes and splits are extracted from texts, and that rows that do not
// match are left out and counted by reason.
func TestPatterns(t *testing.T) {
	from := writeFile(t, "x.csv",
		"text,label\na,0_a_1.wav\nb,1_a_12.wav\nc,2_b_4.wav\nd,readme\ne,_a_9.wav\nf,1_c_x.wav\n")
	o := textOptions(t, from)
	o.SplitColumn, o.LabelPattern, o.SplitPattern = "label", regexp.MustCompile(`^([0-9]*)_`),
		regexp.MustCompile(`(?<test>_[0-4]\.wav$)|(?<train>_\d+\.wav$)`)
	d, skipped := mustConvert(t, o)
	want := "1 of 6 rows left out: no label\n  FROM:6\n" +
		"2 of 6 rows left out: the split does not match (?<test>_[0-4]\\.wav$)|(?<train>_\\d+\\.wav$)\n  FROM:5: found \"readme\"\n  FROM:7: found \"1_c_x.wav\"\n"
	if got := strings.ReplaceAll(skipped.String(), from, "FROM"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := contents(t, d); !slices.Equal(got, []string{"train: b (1)", "test: a (0)", "test: c (2)"}) {
		t.Errorf("got rows %q, want b in train, a and c in test", got)
	}
	if p := d.Manifest.Provenance; p["label_pattern"] != `^([0-9]*)_` || p["split_pattern"] == nil {
		t.Errorf("got provenance %v, want both patterns", p)
	}
	o.SplitColumn, o.SplitPattern, o.Replace, o.LabelPattern = "", nil, true, regexp.MustCompile(`^\d`)
	if _, skipped = mustConvert(t, o); skipped.Reasons[`the label does not match ^\d`].Rows != 2 {
		t.Errorf("got %s, want 2 rows whose label does not match", skipped)
	}
}

// TestKnownLabels checks that a worker caches classes, not the texts from which they are extracted.
func TestKnownLabels(t *testing.T) {
	o := textOptions(t)
	o.LabelPattern = regexp.MustCompile(`^\d`)
	w := worker{converter: &converter{options: o, labels: newLabels(nil)}, known: map[string]int32{}}
	for i := range 1000 {
		if _, reason := w.label(table.Value{Text: fmt.Sprintf("%d_speaker.wav", i)}); reason != nil {
			t.Fatal(reason)
		}
	}
	if len(w.known) != 10 || len(w.labels.numbers) != 10 {
		t.Errorf("got %d cached and %d numbered classes, want 10 of each", len(w.known), len(w.labels.numbers))
	}
}

// TestListsAsLabels checks the skip reason of a row with a list of labels after a row with one class.
func TestListsAsLabels(t *testing.T) {
	for _, list := range []string{`["x","y"]`, `[1,2]`, `[]`} {
		_, skipped := mustConvert(t,
			textOptions(t, writeFile(t, "x.jsonl", `{"text":"b","label":"x"}`+"\n"+`{"text":"a","label":`+list+"}\n")))
		if !strings.Contains(skipped.String(), "1 of 2 rows left out: a list of labels: expected one class") ||
			!strings.Contains(skipped.String(), "with --label 'label[0]'") {
			t.Errorf("%s: got %s, want a list of labels as the reason, and advice on --label", list, skipped)
		}
	}
}
