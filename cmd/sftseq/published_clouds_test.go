package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
)

// modelNet40 writes a folder in the layout of modelnet40_normal_resampled and returns it. Its list has
// all 40 classes, but only two classes have files: airplane with flat shapes, bowl with round shapes.
// In each of these classes, 25 of 30 shapes are in the list train, and 5 in the list test.
func modelNet40(t *testing.T) string {
	t.Helper()
	from := t.TempDir()
	lists := map[string]string{}
	for _, class := range []string{"airplane", "bowl"} {
		must.Succeed(t, os.Mkdir(filepath.Join(from, class), 0o777))
		for i := range 30 {
			var points strings.Builder
			for p := range 40 {
				a, h := float64(p+i), float64(p)/40
				if class == "bowl" {
					fmt.Fprintf(&points, "%.6f,%.6f,%.6f,%.6f,%.6f,0.000000\n", math.Cos(a), math.Sin(a), h,
						math.Cos(a), math.Sin(a))
				} else {
					fmt.Fprintf(&points, "%.6f,%.6f,0.000000,0.000000,0.000000,1.000000\n",
						math.Cos(a)*h, math.Sin(a)*h)
				}
			}
			name, split := fmt.Sprintf("%s_%04d", class, i+1), "train"
			if i >= 25 {
				split = "test"
			}
			writeText(t, filepath.Join(from, class, name+".txt"), points.String())
			lists[split] += name + "\n"
		}
	}
	classes := must.Get(lra.Lookup("modelnet40"))(t)
	writeText(t, filepath.Join(from, "modelnet40_shape_names.txt"), strings.Join(classes.Labels, "\n")+"\n")
	for split, text := range lists {
		writeText(t, filepath.Join(from, "modelnet40_"+split+".txt"), text)
	}
	return from
}

// shapeNetPartFolder writes a folder in the layout of ShapeNetPart and returns it. Its list has all 16
// categories, but only two categories have files. The parts of a shape are stacked along one axis.
func shapeNetPartFolder(t *testing.T) string {
	t.Helper()
	from := t.TempDir()
	var categories strings.Builder
	folders := map[string]string{}
	task := must.Get(lra.Lookup("shapenetpart"))(t)
	for i, tag := range task.Labels {
		category, _, _ := strings.Cut(tag, "/")
		if folders[category] == "" {
			folders[category] = fmt.Sprintf("%08d", 2691156+i)
			fmt.Fprintf(&categories, "%s\t%s\n", category, folders[category])
		}
	}
	writeText(t, filepath.Join(from, "synsetoffset2category.txt"), categories.String())
	lists := map[string][]string{}
	for category, first := range map[string]int{"Mug": 36, "Cap": 6} {
		folder := folders[category]
		must.Succeed(t, os.Mkdir(filepath.Join(from, folder), 0o777))
		for i := range 20 {
			var points strings.Builder
			for p := range 30 {
				fmt.Fprintf(&points, "%.5f %.5f %.5f 0.00000 0.00000 1.00000 %d.000000\n", math.Cos(float64(p+i)),
					math.Sin(float64(p)), float64(p)/30, first+p/15)
			}
			name := fmt.Sprintf("%d%s", i, category)
			writeText(t, filepath.Join(from, folder, name+".txt"), points.String())
			split := map[int]string{0: "val", 1: "test"}[i/2%10]
			if split == "" {
				split = "train"
			}
			lists[split] = append(lists[split], "shape_data/"+folder+"/"+name)
		}
	}
	must.Succeed(t, os.Mkdir(filepath.Join(from, "train_test_split"), 0o777))
	for split, list := range lists {
		text := must.Get(json.Marshal(list))(t)
		writeText(t, filepath.Join(from, "train_test_split", "shuffled_"+split+"_file_list.json"), string(text))
	}
	return from
}

// tiny lists the flags of a training run that takes about a second.
var tiny = []string{"--steps", "12", "--eval-every", "6", "--batch", "8", "--k", "8", "--hidden", "16", "--layers", "1",
	"--heads", "2", "--device", "cpu"}

// trainPublished runs train on a published task with the flags in [tiny] and returns its standard output
// followed by its standard error.
func trainPublished(t *testing.T, task, data, out string, more ...string) string {
	t.Helper()
	output, errs := exits(t, exitOK, "",
		append(append([]string{"train", task, "--data", data, "--out", out}, tiny...), more...)...)
	notContains(t, errs, "rows of the published task")
	return output + errs
}

// TestModelNet40 checks that files in the official layout are converted to a data set with all 40
// classes, that each preset trains on it, and that eval reports the mean accuracy of the classes.
func TestModelNet40(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	data := filepath.Join(t.TempDir(), "data")
	status, output, errs := program(nil, "data", "convert", "modelnet40", "--from", modelNet40(t),
		"--to", data, "--points", "24")
	if status != 0 || !strings.Contains(output, "test.arrow: 10 rows of 24 tokens") ||
		!strings.Contains(errs, "warning: train and val: expected the 9843 rows of the published task, found 50:") ||
		!strings.Contains(errs, "warning: test: expected the 2468 rows of the published task, found 10") {
		t.Fatalf("got status %d, want 0, 10 test rows of 24 tokens, and warnings about 50 rows of train and val and "+
			"10 rows of test; got output\n%s%s", status, output, errs)
	}
	for _, preset := range []string{"quick", "paper", "paper-invariant"} {
		model := filepath.Join(t.TempDir(), preset)
		trainPublished(t, "modelnet40", data, model, "--preset", preset)
		if config := readText(t, filepath.Join(model, "config.json")); strings.Contains(config,
			`"input": "ones"`) != (preset == "paper-invariant") || !strings.Contains(config, `"relative": "distance"`) {
			t.Errorf("%s: unexpected configuration %s", preset, config)
		}
		var result task.ClassesResult
		output := succeed(t, "", "eval", "--model", model, "--data", data, "--device", "cpu", "--json")
		if err := json.Unmarshal([]byte(output), &result); err != nil || result.Rows != 10 ||
			len(result.Classes) != 40 {
			t.Fatalf("%s: unexpected result %s, error %v", preset, output, err)
		}
		if want := (*result.Recall[0] + *result.Recall[6]) / 2; math.Abs(result.MeanClassAccuracy-want) > 1e-12 {
			t.Errorf("%s: got mean class accuracy %v, want %v", preset, result.MeanClassAccuracy, want)
		}
	}
	refuse(t, exitError, "modelnet40_shape_names.txt is missing", "", "data", "convert", "modelnet40", "--from",
		t.TempDir(), "--to", data+"2")
	refuse(t, exitError, "expected a directory with a folder for each class, found a file", "", "data", "convert",
		"modelnet40", "--from", filepath.Join(data, "test.arrow"), "--to", data+"2")
	refuse(t, exitUsage, "--points 0: expected 1 to", "", "data", "convert", "modelnet40", "--from", data, "--to",
		data+"2", "--points", "0")
}

// TestShapeNetPart checks that files in the official layout are converted to a data set with all 50
// parts, that two presets train on it, and that IoU selects the saved model.
func TestShapeNetPart(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	data := filepath.Join(t.TempDir(), "data")
	output, errs := exits(t, exitOK, "", "data", "convert", "shapenetpart", "--from", shapeNetPartFolder(t),
		"--to", data, "--points", "40")
	contains(t, output, "train.arrow: 32 rows of 40 tokens")
	again := filepath.Join(t.TempDir(), "again")
	exits(t, exitOK, "", "data", "convert", "shapenetpart", "--from", shapeNetPartFolder(t), "--to", again, "--points",
		"40", "--seed", "1")
	if must.Get(seq.OpenDataset(again))(t).Fingerprint() == must.Get(seq.OpenDataset(data))(t).Fingerprint() {
		t.Error("--seed 1 draws the points of seed 0")
	}
	contains(t, errs, "warning: val: expected the 1870 rows of the published task, found 4:")
	for _, preset := range []string{"quick", "paper-invariant"} {
		model := filepath.Join(t.TempDir(), preset)
		contains(t, trainPublished(t, "shapenetpart", data, model, "--preset", preset), "selected by iou")
		var result task.TagsResult
		if err := json.Unmarshal([]byte(succeed(t, "", "eval", "--model", model, "--data", data, "--device", "cpu",
			"--json")), &result); err != nil || result.Parts == nil || result.Parts.Shapes != 4 {
			t.Errorf("unexpected result %+v, error %v", result, err)
		}
	}
	refuse(t, exitError, "expected data of the task modelnet40, classification with", "", "train", "modelnet40",
		"--data", data, "--out", filepath.Join(t.TempDir(), "run"))
}
