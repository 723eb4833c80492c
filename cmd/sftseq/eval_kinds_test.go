package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// checkEvalShards checks that eval reports the same results for the parts of three shards as for
// all rows, except for the fields that [without] removes.
func checkEvalShards(t *testing.T, model, data string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "parts")
	for _, shard := range []string{"0/3", "1/3", "2/3"} {
		succeed(t, "", "eval", "--model", model, "--data", data, "--shard", shard, "--output", dir, "--device", "cpu")
	}
	report := func(args ...string) (out map[string]any) {
		t.Helper()
		must.Succeed(t, json.Unmarshal([]byte(succeed(t, "",
			append([]string{"eval", "--model", model, "--device", "cpu", "--json"}, args...)...)), &out))
		without(out)
		return out
	}
	parts := decode[map[string]any](t, succeed(t, "", "eval", "--model", model, "--verify", "--output", dir, "--json"))
	without(parts)
	if whole := report("--data", data); !reflect.DeepEqual(parts, whole) || len(whole) < 3 {
		t.Errorf("report of the parts: %v\nexpected %v", parts, whole)
	}
}

// without removes the fields of a report that differ for shards.
func without(report map[string]any) {
	for key, value := range report {
		if key == "data" || key == "split" || key == "step" || strings.HasPrefix(key, "baseline") {
			delete(report, key)
		}
		if list, ok := value.([]any); ok {
			for _, x := range list {
				if object, ok := x.(map[string]any); ok {
					without(object)
				}
			}
		}
	}
}

// mistakes runs eval --errors, stores its report in result and returns the lines of the error file.
func mistakes[M, R any](t *testing.T, model, data string, result *R) (out []M) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "wrong.jsonl")
	must.Succeed(t, json.Unmarshal([]byte(succeed(t, "", "eval", "--model", model, "--data", data, "--errors", to,
		"--device", "cpu", "--json")), result))
	for line := range strings.Lines(readText(t, to)) {
		m := decode[M](t, line)
		out = append(out, m)
	}
	return out
}

type labelMistake struct {
	Row               int
	Labels, Predicted []string
	Wrong             int
	Loss              float64
}

// checkLabelErrors checks that --errors writes the rows with a wrong label in order of decreasing
// number of wrong labels, and then of decreasing loss.
func checkLabelErrors(t *testing.T, model, data string) {
	t.Helper()
	var result task.LabelsResult
	rows := mistakes[labelMistake](t, model, data, &result)
	if want := result.Rows - int(math.Round(result.ExactMatch*float64(result.Rows))); len(rows) != want || want == 0 {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	for i, m := range rows {
		wrong := 0
		for _, label := range []string{"a", "b", "c"} {
			if slices.Contains(m.Labels, label) != slices.Contains(m.Predicted, label) {
				wrong++
			}
		}
		if wrong != m.Wrong || wrong == 0 || i > 0 && (rows[i-1].Wrong < wrong || rows[i-1].Wrong == wrong &&
			rows[i-1].Loss < m.Loss) {
			t.Errorf("row %d: got %+v after %+v, want %d wrong labels and the worst row first", i, m,
				rows[max(0, i-1)], wrong)
		}
	}
	to := filepath.Join(t.TempDir(), "wrong.csv")
	succeed(t, "", "eval", "--model", model, "--data", data, "--errors", to, "--device", "cpu")
	if first := csvRows(t, to)[0]; first["labels"] != strings.Join(rows[0].Labels, ";") ||
		first["probability_a"] == "" {
		t.Errorf("the first row is %v, want %+v", first, rows[0])
	}
}

// checkNumberErrors checks that --errors writes all rows in order of decreasing error. The error of a row
// is the largest error of its numbers, in standard deviations.
func checkNumberErrors(t *testing.T, model, data string, names ...string) {
	t.Helper()
	var result task.NumbersResult
	rows := mistakes[map[string]any](t, model, data, &result)
	c, err := config.Read(filepath.Join(model, "config.json"))
	if err != nil || len(rows) != result.Rows {
		t.Fatalf("%d rows, want %d, %v", len(rows), result.Rows, err)
	}
	before := math.Inf(1)
	for i, m := range rows {
		furthest, at := 0.0, ""
		for n, name := range names {
			if d := math.Abs(m["predicted_"+name].(float64)-m["actual_"+
				name].(float64)) / c.Numbers[n].Deviation; d > furthest {
				furthest, at = d, name
			}
		}
		if d := m["deviations"].(float64); math.Abs(d-furthest) > 1e-4*furthest || d > before || m["number"] != at {
			t.Errorf("row %d: %v after %v deviations, want %v deviations of %s", i, m, before, furthest, at)
		}
		before = m["deviations"].(float64)
	}
}

type spanMistake struct {
	Row, Start, End      int
	Mistake, Label, Text string
}

// checkSpanErrors checks that --errors writes each missed or wrong span with its text.
func checkSpanErrors(t *testing.T, model, data string) {
	t.Helper()
	var result task.TagsResult
	rows := mistakes[spanMistake](t, model, data, &result)
	set := must.Get(seq.OpenDataset(data))(t)
	test := must.Get(set.OpenSequences("test", seq.Window{}))(t)
	defer test.Close()
	c := must.Get(config.Read(filepath.Join(model, "config.json")))(t)
	count := map[string]int64{}
	for _, m := range rows {
		e := must.Get(test.Example(m.Row))(t)
		labelled := slices.Contains(metrics.NewTags(c.LabelNames, c.NumLabels).Spans(e.Labels),
			metrics.Span{Start: m.Start, End: m.End, Type: m.Label})
		if labelled != (m.Mistake == "missed") || len(strings.Fields(m.Text)) != m.End-m.Start {
			t.Errorf("%+v: got span labelled %t, text of %d words; want span labelled %t, text of %d words", m,
				labelled, len(strings.Fields(m.Text)), m.Mistake == "missed", m.End-m.Start)
		}
		count[m.Mistake]++
	}
	found := int64(math.Round(result.Spans.Recall * float64(result.Spans.Spans)))
	if want := fmt.Sprint(result.Spans.Spans-found, result.Spans.Predicted-found); fmt.Sprint(count["missed"],
		count["wrong"]) != want || len(rows) == 0 {
		t.Errorf("missed and wrong: %v, want %s", count, want)
	}
}

// checkExplain checks that predict --explain adds the sampled tokens of each layer to predict's output
// for a text of five tokens. If the model pools, the explanation also has the weight of each token.
func checkExplain(t *testing.T, model, text string, pools bool) {
	t.Helper()
	line := fmt.Sprintf(`{"id":"x","text":%q}`, text)
	plain := succeed(t, line, "predict", "--model", model, "--device", "cpu")
	explained := succeed(t, line, "predict", "--model", model, "--device", "cpu", "--explain")
	var reply struct{ Explain *sft.Explanation }
	if err := json.Unmarshal([]byte(explained), &reply); err != nil || reply.Explain == nil ||
		len(reply.Explain.Layers) == 0 {
		t.Fatalf("got %s, error %v, want an explanation with layers", explained, err)
	}
	if before, _, _ := strings.Cut(explained, `,"explain":`); before+"}\n" != plain {
		t.Errorf("--explain prints %s, want the beginning %s", explained, plain)
	}
	sum := 0.0
	for _, w := range reply.Explain.Pooling {
		sum += float64(w)
	}
	if n := len(reply.Explain.Pooling); pools && (n != 5 || math.Abs(sum-1) > 1e-5) || !pools && n != 0 {
		t.Errorf("got pooling weights %v, want five with sum 1: %t, or none", reply.Explain.Pooling, pools)
	}
	for i, layer := range reply.Explain.Layers {
		if len(layer.Positions) == 0 || slices.Max(layer.Positions) > 4 {
			t.Errorf("layer %d: got positions %v, want some from 0 to 4", i, layer.Positions)
		}
	}
}
