package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/lra"

	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// graphLines writes a folder of graphs as docs/published-clouds-graphs.md exports them. The graphs
// are rings. The functions node and edge return the features of one node and one edge, and labels returns
// the labels of a graph.
func graphLines(t *testing.T, node, edge func(graph, i int) []float32,
	labels func(graph, nodes int) map[string]any) string {
	t.Helper()
	from := t.TempDir()
	for split, graphs := range map[string][2]int{"train": {0, 24}, "val": {24, 32}, "test": {32, 40}} {
		var lines strings.Builder
		for g := graphs[0]; g < graphs[1]; g++ {
			nodes := 4 + g%3
			line := labels(g, nodes)
			var features, edges [][]float32
			for i := range nodes {
				features = append(features, node(g, i))
				for _, ends := range [][2]float32{{float32(i), float32((i + 1) % nodes)},
					{float32((i + 1) % nodes), float32(i)}} {
					edges = append(edges, append(ends[:], edge(g, i)...))
				}
			}
			line["features"], line["edges"] = features, edges
			text := must.Get(json.Marshal(line))(t)
			lines.Write(append(text, '\n'))
		}
		writeText(t, filepath.Join(from, split+".jsonl"), lines.String())
	}
	return from
}

// atom and bond return node and edge features in the encoding of the Open Graph Benchmark.
func atom(graph, i int) []float32 {
	return []float32{float32(5 + (graph+i)%3), 0, float32(2 + i%2), 5, float32(i % 3), 0,
		float32(1 + i%2), float32(graph % 2), 1}
}

func bond(graph, i int) []float32 { return []float32{float32(i % 2), 0, float32(graph % 2)} }

// convertPublished converts a folder written by graphLines to a data set, expects the warning about
// too few rows for each split, and returns the directory of the data set.
func convertPublished(t *testing.T, task, from string, more ...string) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	status, output, errs := program(nil,
		append([]string{"data", "convert", task, "--from", from, "--to", data}, more...)...)
	if status != 0 || !strings.Contains(output, "train.arrow: 24 rows of 4 to 6 tokens") ||
		strings.Count(errs, "rows of the published task, found") != 3 {
		t.Fatalf("%s: got status %d, want 0, 24 training rows of 4 to 6 tokens, and 3 warnings about the number of "+
			"rows; got output\n%s%s", task, status, output, errs)
	}
	return data
}

// TestPeptidesFunc checks that graphs whose labels are numbers or names are converted, with and
// without random walks. Both presets train on them, and mean average precision selects the
// saved model.
func TestPeptidesFunc(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	from := graphLines(t, atom, bond, func(g, _ int) map[string]any {
		return map[string]any{"label": []any{g % 2, []string{"toxic", "antiviral"}[g/2%2]}}
	})
	for preset, walk := range map[string][]string{"quick": nil, "paper": {"--random-walk", "24"}} {
		data, model := convertPublished(t, "peptides-func", from, walk...), filepath.Join(t.TempDir(), preset)
		d := must.Get(seq.OpenDataset(data))(t)
		if names := d.Manifest.FeatureNames; len(names) != 174+12*len(walk) || walk != nil &&
			names[len(names)-1] != "rw24" {
			t.Errorf("%v: unexpected number of features %d or last feature %s", walk, len(names), names[len(names)-1])
		}
		contains(t, trainPublished(t, "peptides-func", data, model, "--preset", preset), "selected by map")
		var result struct {
			Rows int      `json:"rows"`
			MAP  *float64 `json:"mean_average_precision"`
		}
		if err := json.Unmarshal([]byte(succeed(t, "", "eval", "--model", model, "--data", data, "--device", "cpu",
			"--json")), &result); err != nil || result.Rows != 8 || result.MAP == nil || *result.MAP < 0.3 {
			t.Errorf("unexpected result %+v, error %v", result, err)
		}
	}
	head := succeed(t, "", "data", "head", filepath.Join(convertPublished(t, "peptides-func", from),
		"test.arrow"), "--rows", "1")
	contains(t, head, `"labels":["antifungal","toxic"]`)
	good := readText(t, filepath.Join(from, "val.jsonl"))
	first, _, _ := strings.Cut(good, "\n")
	for want, line := range map[string]string{
		"val.jsonl:2: features: node 0: atomic_num: found 119, expected a whole number from 0 to 118":           strings.Replace(first, "[[5,", "[[119,", 1),
		"val.jsonl:2: features: node 0: found 8 numbers, expected 9":                                            strings.Replace(first, "[[5,", "[[", 1),
		"val.jsonl:2: label: found \"tasty\", expected one of":                                                  strings.Replace(first, `"toxic"`, `"tasty"`, 1),
		"val.jsonl:2: label: found [\"0\" \"1\" \"0\"], expected distinct labels":                               strings.Replace(first, `[0,"toxic"]`, `[0,1,0]`, 1),
		"val.jsonl:2: found label (a class), expected label (a list of labels)":                                 strings.Replace(first, `[0,"toxic"]`, `0`, 1),
		"val.jsonl:2: edges: edge 0: bond_type: found 0.5, expected a whole number from 0 to 4":                 strings.Replace(first, "[0,1,0,0,", "[0,1,0.5,0,", 1),
		"val.jsonl:2: expected label (a class or a list of labels) or tags (a list with a label for each node)": strings.Replace(first, `"label"`, `"l"`, 1),
	} {
		if line == first {
			t.Fatalf("%s: the test case does not change the line %s", want, line)
		}
		writeText(t, filepath.Join(from, "val.jsonl"), first+"\n"+line+"\n")
		to := filepath.Join(t.TempDir(), "none")
		refuse(t, exitError, want, "", "data", "convert", "peptides-func", "--from", from, "--to", to)
		noFile(t, filepath.Join(to, "dataset.json"))
	}
	refuse(t, exitUsage, "--random-walk 0: expected 1 to", "", "data", "convert", "peptides-func", "--from", from,
		"--to", t.TempDir(), "--random-walk", "0")
}

// TestPeptidesStruct checks that graphs with eleven numbers are converted and a model trains on
// them. Mean absolute error selects the saved model, and eval reports the same error.
func TestPeptidesStruct(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	published := must.Get(lra.Lookup("peptides-struct"))(t)
	from := graphLines(t, atom, bond, func(g, nodes int) map[string]any {
		out := map[string]any{}
		for i, name := range published.Numbers {
			out[name] = float64(nodes-5) + 0.1*float64(i*(g%2))
		}
		return out
	})
	data, model := convertPublished(t, "peptides-struct", from), filepath.Join(t.TempDir(), "model")
	output := trainPublished(t, "peptides-struct", data, model)
	contains(t, output, "selected by mae", ", MAE ")
	var result task.NumbersResult
	if err := json.Unmarshal([]byte(succeed(t, "", "eval", "--model", model, "--data", data, "--split", "val",
		"--device", "cpu", "--json")), &result); err != nil || result.Rows != 8 || len(result.Numbers) != 11 {
		t.Fatalf("unexpected result %+v, error %v", result, err)
	}
	mean := 0.0
	for _, n := range result.Numbers {
		mean += n.MAE / 11
	}
	if math.Abs(result.MAE-mean) > 1e-12 || !strings.Contains(output, fmt.Sprintf("selected by mae %.4f", mean)) {
		t.Errorf("MAE %v, expected %v, as in\n%s", result.MAE, mean, output)
	}
	refuse(t, exitError, "expected data of the task peptides-func, multi-label with the 174 features", "", "train",
		"peptides-func", "--data", data, "--out", filepath.Join(t.TempDir(), "run"))
	refuse(t, exitUsage, "peptides-struct has no --class-weights", "", "train", "peptides-struct", "--data", data,
		"--out", filepath.Join(t.TempDir(), "run"), "--class-weights", "balanced")
}

// TestPascalVOC checks that graphs with a class for each node, or null for an unknown class, are converted.
// Both presets train on them, and macro F1 over the nodes selects the saved model.
func TestPascalVOC(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	from := graphLines(t, func(g, i int) []float32 {
		out := make([]float32, 14)
		for k := range out {
			out[k] = float32((g+i*k)%5) / 5
		}
		return out
	}, func(g, i int) []float32 { return []float32{0.5, float32(g + i)} }, func(g, nodes int) map[string]any {
		tags := make([]any, nodes)
		for i := range tags {
			tags[i] = 7 * ((g + i) % 3)
		}
		if g == 0 {
			tags[0], tags[1] = nil, "tvmonitor"
		}
		return map[string]any{"tags": tags}
	})
	data := convertPublished(t, "pascalvoc-sp", from)
	contains(t, succeed(t, "", "data", "head", filepath.Join(data, "train.arrow"), "--rows", "1"),
		`"tags":[null,"tvmonitor","motorbike","background"]`)
	for _, preset := range []string{"quick", "paper"} {
		model := filepath.Join(t.TempDir(), preset)
		contains(t, trainPublished(t, "pascalvoc-sp", data, model, "--preset", preset), "selected by macro-f1")
		var result task.TagsResult
		if err := json.Unmarshal([]byte(succeed(t, "", "eval", "--model", model, "--data", data, "--device", "cpu",
			"--json")), &result); err != nil || result.Rows != 8 || result.Parts != nil {
			t.Errorf("unexpected result %+v, error %v", result, err)
		}
	}
}
