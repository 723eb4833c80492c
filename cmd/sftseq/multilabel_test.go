package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// labelledRows returns a table of sequences of letters, labelled with the letters a, b and c that they contain.
func labelledRows(rows int) string {
	random := rand.New(rand.NewPCG(3, 4))
	var out strings.Builder
	out.WriteString("name,sequence,topics\n")
	for i := range rows {
		text := []byte(strings.Repeat("x", 6+random.IntN(9)))
		var topics []string
		for label := range 3 {
			if random.IntN(4) <= label {
				at := random.IntN(len(text))
				text[at] = byte('a' + label)
			}
		}
		for _, label := range []string{"a", "b", "c"} {
			if strings.Contains(string(text), label) {
				topics = append(topics, label)
			}
		}
		fmt.Fprintf(&out, "s%d,%s,%s\n", i, text, strings.Join(topics, "|"))
	}
	return out.String()
}

// TestMultiLabel checks multi-label classification from a table: training, predictions as lines,
// tables and Arrow, eval against the label frequencies, report, and training from an existing
// model. Unsupported requests are refused.
func TestMultiLabel(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover; its baselines are slow")
	dir := t.TempDir()
	csv := writeText(t, filepath.Join(dir, "t.csv"), labelledRows(400))
	data, model := filepath.Join(dir, "data"), filepath.Join(dir, "model")
	done(t, "", "data", "convert", "--from", csv, "--to", data, "--text", "sequence", "--label", "topics",
		"--label-separator", "|", "--id", "name", "--tokenizer", "byte", "--split", "0.6,0.2,0.2")
	if output := runCustom(t, data, model, "--steps", "150", "--eval-every", "50", "--select", "macro-f1",
		"--class-weights", "balanced", "--device", "cpu"); !strings.Contains(output, "validation macro F1 ") ||
		!strings.Contains(output, "selected by macro-f1 ") || strings.Contains(output, "accuracy") {
		t.Errorf("unexpected output of train: %s", output)
	} else {
		checkBaselines(t, output, model, data, labelBaselinesLine)
		checkBaselineLoss(t, output, frequencyLoss(t, data))
	}
	c, err := config.Read(filepath.Join(model, "config.json"))
	if err != nil || len(c.Thresholds) != 3 {
		t.Fatalf("got thresholds %v, error %v; want 3 thresholds", c.Thresholds, err)
	}
	from := must.Get(train.LoadCheckpoint(model))(t)
	set := must.Get(seq.OpenDataset(data))(t)
	rows := set.Manifest.Splits["train"]
	for i, name := range []string{"a", "b", "c"} {
		n := float64(rows.Labels[name])
		equal(t, from.Settings.ClassWeights[i], (float64(rows.Rows)-n)/n, name)
	}

	var line struct {
		ID            string             `json:"id"`
		Labels        []string           `json:"labels"`
		Probabilities map[string]float64 `json:"probabilities"`
		Length        int                `json:"length"`
		Label         any                `json:"label"`
	}
	output := done(t, `{"id":"x","text":"xxxxaxxxc"}`+"\n", "predict", "--model", model)
	if err := json.Unmarshal([]byte(output), &line); err != nil || line.ID != "x" || len(line.Probabilities) != 3 ||
		line.Length != 9 || line.Label != nil {
		t.Errorf("unexpected output %s, error %v", output, err)
	}
	for i, name := range []string{"a", "b", "c"} {
		equal(t, slices.Contains(line.Labels, name), line.Probabilities[name] >= c.Thresholds[i], name, line.Labels)
	}
	done(t, "", "predict", "--model", model, "--input", csv, "--text", "sequence", "--id", "name", "--keep", "topics",
		"--output", filepath.Join(dir, "o.csv"))
	if first := strings.SplitN(readText(t, filepath.Join(dir, "o.csv")), "\n",
		3); first[0] != "id,topics,labels,probability_a,probability_b,probability_c,error" ||
		!strings.HasPrefix(first[1], "s0,") {
		t.Errorf("unexpected header or first row of the CSV output:\n%s", strings.Join(first[:2], "\n"))
	}
	done(t, "", "predict", "--model", model, "--input", csv, "--text", "sequence", "--output",
		filepath.Join(dir, "o.jsonl"))
	if text := readText(t, filepath.Join(dir, "o.jsonl")); !strings.Contains(strings.SplitN(text, "\n", 2)[0],
		`"probabilities":{"a":`) {
		t.Errorf("expected probabilities by label in the first line: %s", strings.SplitN(text, "\n", 2)[0])
	}
	done(t, "", "predict", "--model", model, "--input", filepath.Join(data, "test.arrow"), "--output",
		filepath.Join(dir, "o.arrow"))
	done(t, "", "embed", "--model", model, "--input", csv, "--text", "sequence", "--output",
		filepath.Join(dir, "e.jsonl"))

	var result task.LabelsResult
	if err := json.Unmarshal([]byte(done(t, "", "eval", "--model", model, "--data", data, "--json")),
		&result); err != nil || result.Rows < 30 || len(result.Labels) != 3 {
		t.Fatalf("unexpected result %+v, error %v", result, err)
	}
	test := set.Manifest.Splits["test"]
	mean := 0.0
	for _, name := range []string{"a", "b", "c"} {
		mean += float64(test.Labels[name]) / float64(3*test.Rows)
	}
	if baseline := result.Frequencies; math.Abs(*baseline.MeanAveragePrecision-mean) > 1e-9 ||
		*result.MeanAveragePrecision < mean+0.2 || *result.MicroF1 <= *baseline.MicroF1 {
		t.Errorf("model: %+v, label frequencies: %+v; want mean average precision %v of the frequencies, and a "+
			"model with at least 0.2 more and a higher micro F1", result.MultiLabelReport, baseline, mean)
	}
	contains(t, done(t, "", "eval", "--model", model, "--data", data), "frequencies of training",
		"mean average precision")
	contains(t, runCustom(t, data, filepath.Join(dir, "seeds"), "--seeds", "1,2", "--steps", "2", "--device", "cpu",
		"--select", "macro-f1"), "validation macro-f1 over 2 seeds: mean 0.")
	checkExplain(t, model, "xxaxc", true)
	checkEvalShards(t, model, data)
	runCustom(t, data, filepath.Join(dir, "poor"), "--steps", "10", "--device", "cpu")
	checkLabelErrors(t, filepath.Join(dir, "poor"), data)
	done(t, "", "report", model, "--out", filepath.Join(dir, "report.html"))
	text := readText(t, filepath.Join(dir, "report.html"))
	contains(t, text, fmt.Sprintf("%.4f", *result.MacroF1), fmt.Sprintf("%.4f", *result.Labels[1].AveragePrecision),
		"frequencies of the labels in training", "precision–recall")
	if output := done(t, "", "data", "head", data); strings.Contains(output, `"tags"`) ||
		!strings.Contains(output, `"labels":[`) {
		t.Errorf("unexpected output:\n%s", output)
	}
	runCustom(t, data, filepath.Join(dir, "more"), "--init-from", model, "--steps", "2", "--device", "cpu")
	done(t, "", "pretrain", "--data", data, "--out", filepath.Join(dir, "pre"), "--steps", "2", "--device", "cpu")
	runCustom(t, data, filepath.Join(dir, "on"), "--init-from", filepath.Join(dir, "pre"), "--steps", "2", "--select",
		"map", "--device", "cpu")

	classes := filepath.Join(dir, "classes")
	done(t, "", "data", "convert", "--from", csv, "--to", classes, "--text", "sequence", "--label", "topics",
		"--tokenizer", "byte", "--split", "0.6,0.2,0.2")
	weights, zero := writeText(t, filepath.Join(dir, "w.json"), `{"d": 2}`),
		writeText(t, filepath.Join(dir, "zero.json"), `{"a": 0, "b": 0, "c": 0}`)
	for want, args := range map[string][]string{
		"expected retrieval with 2 classes":       {"eval", "--model", model, "--data", data, "--queries", "3"},
		"its task is classification, the model's": {"eval", "--model", model, "--data", classes},
		`class "d": expected one of a, b`: {"train", "custom", "--members", "sft", "--data", data, "--out",
			filepath.Join(dir, "no"), "--class-weights", weights},
		"zero.json: expected at least one weight above 0": {"train", "custom", "--members", "sft", "--data", data, "--out",
			filepath.Join(dir, "no"), "--class-weights", zero},
		`--select "accuracy": expected a metric of task multi-label, one of loss (`: {"train", "custom", "--members",
			"sft", "--data", data, "--out",
			filepath.Join(dir, "no"), "--select", "accuracy"},
		`--select "auc": expected a metric of task multi-label, one of loss (`: {"train", "custom", "--members",
			"sft", "--data", data, "--out",
			filepath.Join(dir, "no"), "--select", "auc"},
		"--label-columns excludes": {"data", "convert", "--from", csv, "--to", filepath.Join(dir, "no"),
			"--text", "sequence", "--label", "topics", "--label-columns", "a,b"},
		"--label-separator": {"data", "convert", "--from", csv, "--to", filepath.Join(dir, "no"),
			"--text", "sequence", "--label-separator", ";"},
		"baselines need one label per row": {"data", "baselines", "--data", data},
	} {
		contains(t, failing(t, "", args...), want)
	}
}
