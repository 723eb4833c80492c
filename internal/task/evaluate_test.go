package task

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
)

// TestEvalManyClasses checks the output for many classes: only the classes with the lowest F1 or
// the most rows, and the number of omitted classes.
func TestEvalManyClasses(t *testing.T) {
	const classes = 50
	y := metrics.NewTally(classes)
	var names []string
	for c := range classes {
		names = append(names, fmt.Sprintf("class-%d", c))
		for i := range 10 * (c + 1) { // the first c/50 of class c's rows are classified correctly
			logits := make([]float32, classes)
			if i*classes < 10*(c+1)*c {
				logits[c] = 1
			} else {
				logits[0] = 1
			}
			must.Succeed(t, y.Add(c, logits, 3))
		}
	}
	var out strings.Builder
	must.Succeed(t, newClassesResult(Evaluated{Model: "m", Data: "d"}, y.Report(), names).Write(&out))
	text := out.String()
	worst, frequent, found := strings.Cut(text, "the classes with the most rows:")
	if !found || !strings.Contains(frequent, "30 of 50 classes are not shown; --json has all") ||
		strings.Contains(text, "→") {
		t.Errorf("want the most frequent classes, the number of omitted classes and no confusion matrix in\n%s", text)
	}
	for c := range classes {
		word := fmt.Sprintf("class-%d ", c)
		if got, want := strings.Contains(worst, word), c < shownClasses; got != want {
			t.Errorf("%s is among the worst classes: got %v, want %v", word, got, want)
		}
		if got, want := strings.Contains(frequent, word), c >= classes-shownClasses; got != want {
			t.Errorf("%s is among the most frequent classes: got %v, want %v", word, got, want)
		}
	}
}

// TestAdviceOfResults checks the last line of a result, which compares the model with the best
// baseline in the task's main metric.
func TestAdviceOfResults(t *testing.T) {
	score := func(v float64) *float64 { return &v }
	of := Evaluated{Model: "m", Data: "d", Advice: "; try: x"}
	numbers := func(own, mean, linear float64) *NumbersResult {
		return &NumbersResult{Evaluated: of, R2: &own, linear: "a linear model",
			Numbers: []NumberResult{{R2: &own, Mean: NumberBaseline{R2: &mean},
				Linear: &NumberBaseline{R2: &linear}}, {}}}
	}
	labels := func(own, precision *float64) *LabelsResult {
		return &LabelsResult{Evaluated: of,
			MultiLabelReport: &metrics.MultiLabelReport{MeanAveragePrecision: own, MacroF1: score(0.5)},
			Frequencies:      &LabelsBaseline{MeanAveragePrecision: precision, MacroF1: score(0.6)}}
	}
	tags := func(own float64) *TagsResult {
		return &TagsResult{Evaluated: of,
			TagScores: TagScores{Spans: &metrics.SpanScore{F1Score: metrics.F1Score{F1: own}}},
			Baselines: []TagBaseline{{Name: "often", SpanF1: score(0.2)}, {Name: "each", SpanF1: score(0.4)}}}
	}
	parts := &TagsResult{Evaluated: of, TagScores: TagScores{Parts: &PartScores{InstanceIoU: 0.3}},
		Baselines: []TagBaseline{{Name: "often", InstanceIoU: score(0.4), ClassIoU: score(0.4)}}}
	for _, x := range []struct {
		result Report
		want   string
	}{
		{numbers(0.5, 0, 0.75), "a linear model (R² 0.7500) is better than the model (R² 0.5000); try: x"},
		{numbers(-1, 0, -2), "mean of the training split (R² 0.0000) is better than the model (R² -1.0000); try: x"},
		{numbers(0.8, 0, 0.75), ""},
		{labels(score(0.3), score(0.4)),
			"the frequencies of the labels (mean average precision 0.4000) is better than the model (mean average precision 0.3000); try: x"},
		{labels(score(0.5), score(0.4)), ""},
		{labels(nil, nil), "the frequencies of the labels (macro F1 0.6000) is better than the model (macro F1 0.5000); try: x"},
		{tags(0.3), "each (span F1 0.4000) is better than the model (span F1 0.3000); try: x"},
		{tags(0.41), ""},
		{tags(0.4), "the model (span F1 0.4000) is no better than each (span F1 0.4000); try: x"},
		{parts, "often (instance IoU 0.4000) is better than the model (instance IoU 0.3000); try: x"},
	} {
		var out strings.Builder
		must.Succeed(t, x.result.Write(&out))
		if x.want == "" {
			if strings.Contains(out.String(), "better") || strings.Contains(out.String(), "try:") {
				t.Errorf("got advice, want none, in\n%s", out.String())
			}
		} else if !strings.HasSuffix(out.String(), "\n\n"+x.want+"\n") {
			t.Errorf("want the last line %s in\n%s", x.want, out.String())
		}
	}
}
