package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// runMeasurement runs a study with --out dir and returns its table and its points.
func runMeasurement[T any](t *testing.T, dir, name string, args ...string) (table string, points []T) {
	t.Helper()
	table = execute(t.Context(), t, 0, "",
		append([]string{name, "--out", dir, "--threads", "1", "--force"}, args...)...)
	figure, err := os.ReadFile(filepath.Join(dir, name+".svg"))
	if err != nil || !strings.Contains(string(figure), "<svg") {
		t.Errorf("%s: expected an SVG chart: %v, %.60s", name, err, figure)
	}
	text, err := os.ReadFile(filepath.Join(dir, pointsName))
	must(t, err)
	if !strings.Contains(table, "paper") || !strings.Contains(table, dir) {
		t.Errorf("%s: expected notes with the paper's result and the directory below the table:\n%s", name, table)
	}
	for line := range strings.Lines(string(text)) {
		var point T
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&point); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		points = append(points, point)
	}
	return table, points
}

// execute runs a command line, expects an exit status and a text in standard error, and returns
// standard output.
func execute(ctx context.Context, t *testing.T, status int, want string, args ...string) (stdout string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(ctx, args, &out, &errs); got != status || !strings.Contains(errs.String(), want) {
		t.Fatalf("%v: status %d, expected %d; standard error %q, expected %q in it", args, got, status,
			errs.String(), want)
	}
	return out.String()
}

// TestStudiesWithoutModel checks the points of the studies gradients, rank and pseudoconvexity. Those of
// gradients depend on the seed, but not on the number of threads.
func TestStudiesWithoutModel(t *testing.T) {
	dir := t.TempDir()
	sizes := []string{"--tokens", "64,256", "--draws", "3"}
	table, points := runMeasurement[gradientPoint](t, dir, "gradients", sizes...)
	if len(points) != 2 || points[1].Tokens != 256 || points[1].Draws != 3 ||
		points[0].Value.Min > points[0].Value.Mean || !strings.Contains(table, ": W_V ") {
		t.Errorf("gradients: got the points %+v, want 2 sizes with 3 draws; the table:\n%s", points, table)
	}
	if _, again := runMeasurement[gradientPoint](t, dir, "gradients",
		append(sizes, "--threads", "3")...); !slices.Equal(again, points) {
		t.Errorf("gradients on three threads: got %+v, want %+v as on one thread", again, points)
	}
	if _, other := runMeasurement[gradientPoint](t, dir, "gradients",
		append(sizes, "--seed", "2")...); slices.Equal(other, points) {
		t.Error("gradients: seeds 1 and 2 have the same points")
	}
	table, ranks := runMeasurement[rankPoint](t, t.TempDir(), "rank", "--tokens", "24", "--width", "16",
		"--layers", "30", "--draws", "1")
	if len(ranks) != 3*30 || strings.Count(table, "\nsoftmax") != 7 || ranks[0].Probability != leakyReLU ||
		ranks[0].Single.Mean < 2 || ranks[89].Single.Mean != 1 {
		t.Errorf("rank: got %d points, want 90, the first with a mean rank of at least 2, the last with 1: %+v\n%s",
			len(ranks), ranks, table)
	}
	table, tests := runMeasurement[pseudoconvexityPoint](t, t.TempDir(), "pseudoconvexity", "--tests", "60")
	if len(tests) != len(pseudoconvexityCases) || tests[0].Inside != 0 || tests[0].Anywhere == 0 ||
		tests[0].Tests != 60 || !strings.Contains(table, "W_Q, W_K  dot, heads 1") {
		t.Errorf("pseudoconvexity: got %+v, want %d cases with 60 tests\n%s", tests, len(pseudoconvexityCases), table)
	}
}

// TestCosts checks that each part except the remainder has a time, and that only parts whose formula
// reproduces the paper's counts have a paper count for 32 sampled tokens. The time of the relative encoding,
// a difference, may be 0.
func TestCosts(t *testing.T) {
	table, parts := runMeasurement[costPoint](t, t.TempDir(), "cost", "--k", "32", "--reps", "1", "--device", "cpu")
	if len(parts) != len(costParts) {
		t.Fatalf("got %d parts, want %d: %+v\n%s", len(parts), len(costParts), parts, table)
	}
	for i, p := range parts {
		if (p.Paper > 0) != costParts[i].matchesPaper || p.Full <= 0 ||
			(p.Seconds > 0) == (p.Part == "remainder") && p.Part != "relative" {
			t.Errorf("got %+v, want operations, a time except for the remainder, and a count of the paper: %v", p,
				costParts[i].matchesPaper)
		}
	}
}

// smallShapes generates a data set of a few clouds with 20 points each.
func smallShapes(t *testing.T) string {
	t.Helper()
	dir, rule := filepath.Join(t.TempDir(), "shapes"), lra.UsualShapes
	rule.Points = 20
	if _, err := lra.Shapes.Generate(t.Context(), dir, lra.GenerateOptions{Train: 24, Val: 12, Test: 6,
		Rule: &rule}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// readRunConfig reads the configuration of a run in a directory.
func readRunConfig(t *testing.T, dir, run string) *sft.Config {
	t.Helper()
	c, err := config.Read(filepath.Join(dir, "runs", run, "seed-1", "config.json"))
	must(t, err)
	return c
}

// TestConvergence checks that the study trains three models. A complete run is not trained again,
// and a run with different settings is refused.
func TestConvergence(t *testing.T) {
	dir, args := t.TempDir(), []string{"--data", smallShapes(t), "--steps", "3", "--device", "cpu"}
	table, points := runMeasurement[curvePoint](t, dir, "convergence", args...)
	if len(points) != 3*2*3 || !strings.Contains(table, "\nsoftmax, dot, relative ") {
		t.Errorf("got %d points, want 18: %+v\n%s", len(points), points, table)
	}
	for i, p := range points {
		if i > 0 && points[i-1].Variant == p.Variant && points[i-1].Split == p.Split &&
			p.Best < points[i-1].Best || p.Accuracy > p.Best {
			t.Errorf("got %+v, want the maximum of the accuracy so far as best", p)
		}
	}
	for run, want := range map[string][3]string{"leaky": {"maxout", "leaky_relu", config.DistanceRelation},
		"softmax": {"dot", "softmax", config.DistanceRelation}, "vanilla": {"dot", "softmax", config.NoRelation}} {
		if c := readRunConfig(t, dir, run); [3]string{c.Score, c.Probability, c.Relative} != want ||
			c.NumSampledTokens != 20 {
			t.Errorf("%s: got %s, %s, %s and %d sampled tokens, want %v and 20", run, c.Score, c.Probability,
				c.Relative, c.NumSampledTokens, want)
		}
	}
	model := filepath.Join(dir, "runs", "leaky", "seed-1", "model.safetensors")
	before, err := os.Stat(model)
	must(t, err)
	if _, again := runMeasurement[curvePoint](t, dir, "convergence", args...); !slices.Equal(again, points) {
		t.Error("the same command returned different points")
	}
	if after, err := os.Stat(model); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("a complete run was trained again (%v)", err)
	}
	execute(t.Context(), t, 1, pointsName+" already exists from an earlier run",
		append([]string{"convergence", "--out", dir}, args...)...)
	execute(t.Context(), t, 1, "contains a run with other data, settings or another model",
		append([]string{"convergence", "--out", dir, "--force"}, append(args, "--steps", "4")...)...)
}

// TestSampling checks that the study trains a model for each number of sampled tokens and each
// seed.
func TestSampling(t *testing.T) {
	dir := t.TempDir()
	table, points := runMeasurement[curvePoint](t, dir, "sampling", "--data", smallShapes(t), "--steps", "3", "--k",
		"2,20",
		"--seeds", "1,2", "--device", "cpu")
	if len(points) != 2*2*2*3 || !strings.Contains(table, "\nk 2 (10%)  ") ||
		readRunConfig(t, dir, "k-2").NumSampledTokens != 2 || readRunConfig(t, dir, "k-20").NumSampledTokens != 20 {
		t.Errorf("got %d points, want 24 of runs with 2 and 20 sampled tokens: %+v\n%s", len(points), points, table)
	}
}

// TestStudiesOfTrainedModels checks that the relative study trains three models after an
// interruption, and that the similarity and inference studies measure one of the models.
func TestStudiesOfTrainedModels(t *testing.T) {
	dir, data := t.TempDir(), smallShapes(t)
	relative := []string{"--data", data, "--steps", "3", "--device", "cpu"}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	execute(stopped, t, 1, "run the same command to resume", append([]string{"relative", "--out", dir}, relative...)...)
	_, points := runMeasurement[curvePoint](t, dir, "relative", relative...)
	both, features, relation := readRunConfig(t, dir, "both"), readRunConfig(t, dir, "features"), readRunConfig(t,
		dir, "relation")
	if len(points) != 3*2*3 || both.Relative != config.DistanceRelation || both.Input == relation.Input ||
		relation.Input != config.OnesInput || features.Relative != config.NoRelation ||
		relation.Relative != config.DistanceRelation {
		t.Errorf("got %d points, want 18; relative encodings and inputs: both %q, %q; features %q; relation %q, %q",
			len(points), both.Relative, both.Input, features.Relative, relation.Relative, relation.Input)
	}

	model := filepath.Join(dir, "runs", "relation", "seed-1")
	modelArgs := []string{"--model", model, "--data", data, "--device", "cpu"}
	_, layers := runMeasurement[similarityPoint](t, t.TempDir(), "similarity", append(modelArgs, "--rows", "5")...)
	if len(layers) != 4 || layers[0].Sequences != 5 {
		t.Fatalf("similarity: got %+v, want 4 points of 5 sequences", layers)
	}
	// The features of all points are equal at first. Later layers distinguish the points by their
	// distances.
	if first, last := layers[0], layers[3]; math.Abs(first.Cosine.Mean-1) > 1e-6 || first.Rank.Max != 1 ||
		last.Rank.Min < 2 || last.Cosine.Mean >= 1-1e-9 {
		t.Errorf("similarity: got %+v, want equal points at first and different points at last", layers)
	}
	metrics, err := train.ReadMetrics(model)
	must(t, err)
	var best train.EvaluationReport
	for _, v := range metrics.Validation {
		if v.Best {
			best = v
		}
	}
	trained := "16" // number of sampled tokens that training chooses for these short clouds
	_, times := runMeasurement[inferencePoint](t, t.TempDir(), "inference",
		append(modelArgs, "--k", "2,"+trained, "--reps", "1")...)
	if len(times) != 2 || times[0].K != 2 || times[0].Seconds <= 0 || times[1].Rows != 12 ||
		times[1].Accuracy != *best.Accuracy ||
		math.Abs(times[1].Loss-best.Loss) > 1e-7 || math.Abs(times[0].Loss-best.Loss) < 1e-6 {
		t.Errorf("%+v, want the validation accuracy %v and loss %v", times, *best.Accuracy, best.Loss)
	}
	if _, test := runMeasurement[inferencePoint](t, t.TempDir(), "inference",
		append(modelArgs, "--k", "2", "--reps", "1", "--split", "test")...); test[0].Rows != 6 {
		t.Errorf("inference on the test split: got %+v, want 6 rows", test)
	}
	execute(t.Context(), t, 1, "row 1: label -1, expected one of the model's", "inference", "--model", model, "--data",
		unlabelled(t, data), "--k", "2", "--device", "cpu", "--out", filepath.Join(t.TempDir(), "out"))
}

// unlabelled returns the directory of a copy of a data set's first two validation rows: the first row
// has the label 0, the second has no label.
func unlabelled(t *testing.T, data string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "unlabelled")
	set, err := seq.OpenDataset(data)
	must(t, err)
	rows, err := set.Open("val")
	must(t, err)
	defer rows.Close()
	b, err := seq.CreateDataset(dir, set.Spec(), false)
	must(t, err)
	defer b.Abort()
	w, err := b.Split("val")
	must(t, err)
	for i, label := range []int32{0, seq.NoLabel} {
		e, err := rows.Example(i)
		must(t, err)
		e.Label = label
		must(t, w.Write(e))
	}
	must(t, w.Close())
	_, err = b.Finish(nil)
	must(t, err)
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// golden returns the directory of a golden model.
func golden(name string) string { return filepath.Join("..", "..", "sft", "testdata", "golden", name) }

// TestForeignData checks that data of a different kind than the training data are an error. A temperature, which
// is fitted on the validation split, is not compared.
func TestForeignData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "listops")
	if _, err := lra.ListOps.Generate(t.Context(), dir, lra.GenerateOptions{Train: 4, Val: 4, Test: 4}); err != nil {
		t.Fatal(err)
	}
	set, err := seq.OpenDataset(dir)
	must(t, err)
	model := lra.ListOps.Presets[0].Config
	must(t, model.DescribeData(set.Spec()))
	model.Temperature = 0.5
	must(t, compareData(&model, set))
	model.VocabSize = 99
	if err := compareData(&model, set); err == nil ||
		err.Error() != fmt.Sprintf("the model was trained on data with vocab_size 99, not %d", set.Spec().VocabSize) {
		t.Errorf("got error %v, want one about the vocabulary", err)
	}
	for _, name := range []string{"similarity", "inference"} {
		execute(t.Context(), t, 1, "the model cannot read this data: ", name, "--model", golden("clouds"), "--data",
			dir, "--out", filepath.Join(t.TempDir(), "out"))
	}
}

// TestInterrupted checks that an interrupted study without a model leaves no file.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"rank", "gradients", "pseudoconvexity", "cost"} {
		dir := filepath.Join(t.TempDir(), "out")
		execute(ctx, t, 1, "interrupted", name, "--out", dir)
		if found, err := os.ReadDir(dir); err == nil && len(found) > 0 {
			t.Errorf("%s: found the files %v after an interruption, want none", name, found)
		}
	}
}

// TestUsage checks that errors in the command line lead to the status 2, and that no files are written.
func TestUsage(t *testing.T) {
	data, dir := smallShapes(t), filepath.Join(t.TempDir(), "out")
	execute(t.Context(), t, 2, "expected the name of a study")
	execute(t.Context(), t, 2, `unknown study "x"`, "x")
	for _, c := range []struct {
		want string
		args []string
	}{
		{`unexpected argument "x"`, []string{"rank", "x"}},
		{"flag provided but not defined: -wide", []string{"rank", "--wide"}},
		{"-layers: expected a whole number from 1 to", []string{"rank", "--layers", "0"}},
		{"-threads: expected a whole number from 1 to", []string{"rank", "--threads", "-1"}},
		{`-tokens: "x": expected distinct whole numbers`, []string{"gradients", "--tokens", "64,x"}},
		{"--tokens: a slope needs at least two", []string{"gradients", "--tokens", "64"}},
		{"-k: \"0\": expected distinct whole numbers from 1 to 1024", []string{"cost", "--k", "0"}},
		{"--data is missing", []string{"relative"}},
		{"--device: ", []string{"cost", "--device", "abacus"}},
		{"--k 21: expected at most 20, the length of the longest sequence", []string{"sampling", "--data", data, "--k", "21"}},
		{`-seeds: "1": expected distinct whole numbers`, []string{"relative", "--seeds", "1,1"}},
		{"--model and --data are required", []string{"similarity", "--model", golden("pre")}},
		{"-reps: expected a whole number from 1 to", []string{"inference", "--reps", "0"}},
	} {
		execute(t.Context(), t, 2, c.want, append([]string{c.args[0], "--out", dir}, c.args[1:]...)...)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s exists after errors in the command line", dir)
	}
}

// TestHelp checks that the program lists the studies, and that the help of every study has its description
// and its default of --out.
func TestHelp(t *testing.T) {
	list := execute(t.Context(), t, 0, "", "--help")
	for _, s := range studies {
		if !strings.Contains(list, s.summary) {
			t.Errorf("the summary of %s is missing in\n%s", s.name, list)
		}
		if out := execute(t.Context(), t, 0, "", s.name, "--help"); !strings.Contains(out, s.help) ||
			!strings.Contains(out, "studies/"+s.name) {
			t.Errorf("%s --help: the description or the default of --out is missing in\n%s", s.name, out)
		}
	}
}
