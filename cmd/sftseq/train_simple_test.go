package main

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
)

// checkBaselines compares the validation baselines in the output of training with the result of eval on
// the validation split, formatted by want. Losses, which want does not print, are removed.
func checkBaselines[R any](t *testing.T, output, model, data string, want func(r *R) string) {
	t.Helper()
	r := new(R)
	must.Succeed(t, json.Unmarshal([]byte(succeed(t, "", "eval", "--model", model, "--data", data, "--split", "val",
		"--device", "cpu", "--json")), r))
	_, line, _ := strings.Cut(output, "validation baselines: ")
	line, _, _ = strings.Cut(line, "\n")
	equal(t, loss.ReplaceAllString(line, ""), want(r))
}

// loss matches the loss of a baseline in the output of training.
var loss = regexp.MustCompile(` loss ([0-9.]+)`)

// checkBaselineLoss compares the printed loss of the first baseline with want.
func checkBaselineLoss(t *testing.T, output string, want float64) {
	t.Helper()
	_, line, _ := strings.Cut(output, "validation baselines: ")
	if found := loss.FindStringSubmatch(line); found == nil || found[1] != fmt.Sprintf("%.4f", want) {
		t.Errorf("%q, expected a loss of %.4f in\n%s", found, want, output)
	}
}

// meanLoss returns the smooth L1 loss on the validation split of predicting the mean of the
// training split.
func meanLoss(t *testing.T, data string) (sum float64) {
	t.Helper()
	set := must.Get(seq.OpenDataset(data))(t)
	train := set.Manifest.Splits["train"].Numbers
	rows := examples(t, set, "val")
	for _, x := range rows {
		for k, y := range x.Numbers {
			d := math.Abs(float64(y)-train[k].Mean) / train[k].Deviation
			each := d * d / 2
			if d > 1 {
				each = d - 0.5
			}
			sum += each / float64(len(rows)*len(train))
		}
	}
	return sum
}

// frequencyLoss returns the mean binary cross-entropy on the validation split of predicting the label
// frequencies of the training split.
func frequencyLoss(t *testing.T, data string) (sum float64) {
	t.Helper()
	set := must.Get(seq.OpenDataset(data))(t)
	train, val := set.Manifest.Splits["train"], set.Manifest.Splits["val"]
	for _, name := range set.Manifest.LabelNames {
		f, p := float64(train.Labels[name])/float64(train.Rows), float64(val.Labels[name])/float64(val.Rows)
		sum -= (p*math.Log(f) + (1-p)*math.Log(1-f)) / float64(len(set.Manifest.LabelNames))
	}
	return sum
}

// numberBaselinesLine formats the scores of the mean of the training split and of the linear model.
func numberBaselinesLine(r *task.NumbersResult) string {
	mean, linear := 0.0, 0.0
	for _, n := range r.Numbers {
		mean += *n.Mean.R2 / float64(len(r.Numbers))
		linear += *n.Linear.R2 / float64(len(r.Numbers))
	}
	return fmt.Sprintf("mean of the training split R² %.4f, bag of tokens, ridge regression R² %.4f", mean, linear)
}

// labelBaselinesLine formats the scores of the label frequencies.
func labelBaselinesLine(r *task.LabelsResult) string {
	return fmt.Sprintf("frequencies of the labels macro F1 %s mean average precision %s",
		task.OrNone(r.Frequencies.MacroF1), task.OrNone(r.Frequencies.MeanAveragePrecision))
}

// tagBaselinesLine formats the scores of the tag baselines.
func tagBaselinesLine(r *task.TagsResult) string {
	var out []string
	for _, b := range r.Baselines {
		text := fmt.Sprintf("%s %.2f%% macro F1 %.4f", b.Name, 100*b.Accuracy, b.MacroF1)
		if b.SpanF1 != nil {
			text += fmt.Sprintf(" span F1 %.4f", *b.SpanF1)
		}
		if b.InstanceIoU != nil {
			text += fmt.Sprintf(" instance IoU %.4f", *b.InstanceIoU)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
