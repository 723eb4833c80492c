package report

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// TestLabels checks that the page shows the scores of the labels with the most rows and their
// curves, and escapes the texts of a run.
func TestLabels(t *testing.T) {
	r := testRun(t, "run", 16)
	const labels = maxClasses + 3
	r.Config.Task, r.Config.NumLabels, r.Config.LabelNames = config.MultiLabel, labels, nil
	for i := range labels {
		r.Config.LabelNames = append(r.Config.LabelNames, fmt.Sprintf("label %d", i))
	}
	r.Config.LabelNames[1] = hostile
	tally, thresholds := metrics.NewMultiLabel(labels), make([]float64, labels)
	for i := range 10 {
		logits := make([]float32, labels)
		logits[0], logits[1] = float32(i), float32(-i)
		tally.Add(logits, [][]int32{{0, 1}, {1, 5}, {}}[i%3])
	}
	thresholds[1] = 0.625
	report := tally.Report(thresholds)
	r.Outputs = "27 labels"
	r.Results, r.Labels = nil, &Labels{Data: hostile, Note: hostile, Report: report,
		Curves: []metrics.Curve{*tally.Curve(0), *tally.Curve(1)}, Frequencies: report}
	r.Metrics.Validation = []train.EvaluationReport{{Step: 20, Loss: 0.8, MacroF1: new(0.25), MAP: new(0.5),
		Thresholds: thresholds, Best: true, SelectedBy: "map"}}
	var scripts int
	text := elements(t, write(t, r), func(n *html.Node) {
		if n.Data == "script" || n.Data == "img" {
			scripts++
		}
	})
	if scripts > 0 {
		t.Errorf("got %d scripts or images from a run's text, want 0", scripts)
	}
	for _, want := range []string{
		"27 labels", "macro F1 0.2500, mean average precision 0.5000 (step 20, selected by map)", "0.6250", "label 5",
		"3 labels with fewer rows are not shown",
		fmt.Sprintf("%.4f", *report.MicroF1), fmt.Sprintf("average precision %.4f", *report.Labels[0].AveragePrecision),
		hostile,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Count(text, "label 5") < 2 {
		t.Error("label 5, which has rows, is not shown")
	}
	if strings.Count(text, "label 26") != 1 { // once in the configuration
		t.Error("label 26, which has no rows, is shown")
	}
}
