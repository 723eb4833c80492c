package report

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
)

// TestMeasured checks that the first table and the accuracy chart show the strongest baseline
// beside the model.
func TestMeasured(t *testing.T) {
	r := testRun(t, "run", 16)
	r.Results.Data = "rows.arrow"
	r.Results.Baseline = &baseline.Result{Class: "a", Majority: 0.5,
		Models: []baseline.Model{{Name: "weak", Accuracy: 0.25}, {Name: "strong", Accuracy: 0.75}}}
	page := write(t, r)
	first := page[:strings.Index(page, "</table>")]
	for _, want := range []string{"accuracy 40.00% (rows.arrow)", "accuracy 75.00% (strong)"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first table lacks %q", want)
		}
	}
	level := 0
	elements(t, page, func(n *html.Node) {
		if attributeOf(n, "aria-label") != "Accuracy over steps" {
			return
		}
		for c := range n.Descendants() {
			if attributeOf(c, "stroke-dasharray") == "2 4" {
				level++
			}
		}
	})
	if level != 1 {
		t.Errorf("got %d baseline lines in the accuracy chart, want 1", level)
	}
	r.Results = nil
	if page := write(t, r); strings.Contains(page, "strongest baseline") {
		t.Error("got a baseline on a page without measured rows")
	}
}

// TestWideConfusion checks that a confusion matrix of more than six classes takes the full width of
// the page.
func TestWideConfusion(t *testing.T) {
	for classes, wide := range map[int]bool{2: false, 6: false, 7: true, 10: true} {
		r := testRun(t, "run", 16)
		r.Config.NumLabels, r.Config.LabelNames = classes, strings.Split("abcdefghij"[:classes], "")
		tally := metrics.NewTally(classes)
		for i := range classes {
			must.Succeed(t, tally.Add(i, make([]float32, classes), 10))
		}
		r.Results.Report, r.Results.Examples = tally.Report(), nil
		page := write(t, r)
		if got := strings.Contains(page, `class="pair uneven stacked"`) &&
			strings.Contains(page, `class="confusion many"`); got != wide {
			t.Errorf("%d classes: got full width %v, want %v", classes, got, wide)
		}
	}
}
