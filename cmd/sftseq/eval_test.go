package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// TestEval checks the accuracy and the loss of eval against predict's output, and that the report has the
// other classification metrics.
func TestEval(t *testing.T) {
	in, lines := sequences(t, 300)
	var r struct {
		Accuracy, Loss float64
		MacroF1        *float64 `json:"macro_f1"`
		MacroAUC       *float64 `json:"macro_auc"`
		Classes        []struct {
			Name          string
			Rows          int
			F1, Precision *float64
			Recall, AUC   *float64
		}
		CalibrationError *float64 `json:"calibration_error"`
		Recall           []float64
		AUC              *float64
		Confusion        [][]int
		ByLength         []struct{ Rows int } `json:"by_length"`
		Rows             int
		Model, Data      string
	}
	must.Succeed(t, json.Unmarshal([]byte(succeed(t, "", "eval", "--model", goldenPath("pre"),
		"--data", in, "--json")), &r))
	accuracy, loss := 0.0, 0.0
	for i, p := range replyLines(t, succeed(t, lines, "predict", "--model", goldenPath("pre"))) {
		if sft.Argmax(p.Logits) == i%10 {
			accuracy += 1. / 300
		}
		loss += metrics.CrossEntropy(p.Logits, i%10) / 300
	}
	if r.Rows != 300 || math.Abs(r.Accuracy-accuracy) > 1e-9 || math.Abs(r.Loss-loss) > 1e-9 || r.AUC != nil ||
		r.MacroF1 == nil || r.CalibrationError == nil || len(r.Recall) != 10 || len(r.Confusion) != 10 ||
		r.Data != in || r.Model != goldenPath("pre") {
		t.Errorf("%+v, want accuracy %v, loss %v", r, accuracy, loss)
	}
	if len(r.Classes) != 10 || r.MacroAUC == nil {
		t.Errorf("got %d classes and macro AUC %v, want 10 classes and a macro AUC", len(r.Classes), r.MacroAUC)
	}
	for i, k := range r.Classes {
		if k.Name != fmt.Sprint(i) || k.Rows != 30 || k.F1 == nil || *k.Recall != r.Recall[i] || k.AUC == nil {
			t.Errorf("class %d: got metrics %+v, want 30 rows, F1, AUC and recall %v", i, k, r.Recall[i])
		}
	}
	rows := 0
	for _, b := range r.ByLength {
		rows += b.Rows
	}
	equal(t, rows, 300)
	table := succeed(t, "", "eval", "--model", goldenPath("pre"), "--data", in)
	contains(t, table, "accuracy", "macro F1", "macro AUC", "calibration error", "length",
		"precision", "recall", "F1", "→9")
}

func TestEvalDirectory(t *testing.T) {
	dir := generated(t)
	out := succeed(t, "", "eval", "--model", goldenPath("pre"), "--data", dir)
	contains(t, out, "10")
	for split, rows := range map[string]string{"test": "10", "val": "20", "train": "40"} {
		if out := succeed(t, "", "eval", "--model", goldenPath("pre"), "--data", dir, "--split", split,
			"--json"); !strings.Contains(out, `"rows": `+rows+",") {
			t.Errorf("split %s: expected %s rows, found %s", split, rows, out)
		}
	}
	refuse(t, 1, `the data set has no split "dev", only train, val, test`, "", "eval", "--model", goldenPath("pre"),
		"--data", dir, "--split", "dev")
	refuse(t, 2, "--split val: expected --data to be a data set directory, found x.arrow", "", "eval", "--model",
		goldenPath("pre"), "--data", "x.arrow", "--split", "val")
	refuse(t, 1, "its task is classification", "", "eval", "--model", goldenPath("retrieval"), "--data", dir)
	refuse(t, 1, "expected the tokenizer dna, found listops", "", "eval", "--model",
		goldenPath("ties"), "--data", dir)
	refuse(t, 1, "incomplete", "", "eval", "--model", goldenPath("pre"), "--data", t.TempDir())
	refuse(t, 1, "absent.arrow", "", "eval", "--model", goldenPath("pre"), "--data", "absent.arrow")
}

// TestEvalRefuses checks that errors name the row and the column.
func TestEvalRefuses(t *testing.T) {
	for label, want := range map[int32]string{seq.NoLabel: "expected a label, found none",
		10: "expected 0 to 9, found 10"} {
		path := writeSequences(t, seq.Spec{Task: seq.Classification, VocabSize: 17}, seq.Example{A: []int32{1}},
			seq.Example{A: []int32{1}, Label: label})
		refuse(t, 1, path+": row 1: column label: "+want, "", "eval", "--model", goldenPath("pre"), "--data", path)
	}
}

// TestInfoOfPairs checks that each sequence of a pair has its own sample. A sample of half of the
// pair's tokens contains all tokens of a sequence, so a larger sample needs no more memory.
func TestInfoOfPairs(t *testing.T) {
	m := must.Get(sft.Load(goldenPath("retrieval")))(t)
	const length = 1024
	costWith := func(sampled int) cost {
		m.Config.NumSampledTokens = sampled
		return must.Get(costAt(m, length))(t)
	}
	quarter, half, full := costWith(length/4), costWith(length/2), costWith(length)
	if quarter.Infer >= half.Infer || quarter.Train >= half.Train {
		t.Errorf("%d sampled tokens per sequence: cost %+v; %d sampled tokens: cost %+v; want more memory", length/4,
			quarter, length/2, half)
	}
	if half.Infer != full.Infer || half.Train != full.Train {
		t.Errorf("%d sampled tokens per sequence: cost %+v; %d sampled tokens: cost %+v; want equal memory", length/2,
			half, length, full)
	}
}

func TestInfo(t *testing.T) {
	r := decode[modelInfo](t, succeed(t, "", "info", "--model", goldenPath("retrieval"), "--json"))
	// Parameters: embed 257·32. In each of two layers: a sampler of 33, four linear layers of
	// 32·33, a leak of 4·33, two relative biases of 4·33, an MLP of 128·33+32·129, two norms of 64.
	// In the head: pool 33, hidden 32·129, out 2·33.
	want := map[string]int{"embed": 257 * 32, "sampler": 66, "attention": 2 * (4*32*33 + 4*33),
		"relative": 2 * 2 * 4 * 33,
		"mlp":      2 * (128*33 + 32*129), "norms": 256, "residual": 0, "head": 33 + 32*129 + 66}
	total := 0
	for _, p := range r.Parameters[:len(r.Parameters)-1] {
		equal(t, p.Count, want[p.Name], p.Name)
		total += p.Count
	}
	if last := r.Parameters[len(r.Parameters)-1]; last.Name != "total" || last.Count != total {
		t.Errorf("%+v, want a total of %d", last, total)
	}
	if len(r.Costs) != 2 || r.Costs[1].Length != 4096 || r.Costs[1].Infer >= r.Costs[1].Train ||
		r.Costs[0].Infer >= r.Costs[1].Infer {
		t.Errorf("got costs %+v, want two: the second for length 4096, higher for training than for inference, and "+
			"higher for inference than the first", r.Costs)
	}
	// Five taps, and three taps with a dilation of seven. The norms of convolutions count as norms.
	must.Succeed(t, json.Unmarshal([]byte(succeed(t, "", "info", "--model", goldenPath("conv"), "--json")), &r))
	const d, layers = 32, 2
	if f := r.ReceptiveField; f == nil || *f != (receptiveField{1 + 2*(2+7), 1 + 2*layers*(2+7)}) {
		t.Errorf("got receptive field %+v, want 19 in a layer and 37 in all", f)
	}
	equal(t, r.Parameters[5], (part{"convolutions", layers * (5 + 3 + 2) * d}))
	equal(t, r.Costs[0].Operations[0], (part{"convolutions", layers * (5 + 3) * d}))
	contains(t, succeed(t, "", "info", "--model", goldenPath("conv")), "19 in a layer, 37 in all")
	contains(t, succeed(t, "", "info", "--model", goldenPath("long")), "1048576", "GiB")
}
