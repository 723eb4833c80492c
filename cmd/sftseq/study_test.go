package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/study"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// runStudy runs a study into a folder, and returns its table and its points.
func runStudy[T any](t *testing.T, dir, name string, args ...string) (table string, points []T) {
	t.Helper()
	status, out, errs := program(nil, append([]string{"study", name, "--out", dir, "--threads", "1"}, args...)...)
	if status != exitOK {
		t.Fatalf("study %s: status %d\n%s", name, status, errs)
	}
	picture, err := os.ReadFile(filepath.Join(dir, name+".svg"))
	if err != nil || !strings.Contains(string(picture), "<svg") {
		t.Errorf("study %s: the picture: %v, %.60s", name, err, picture)
	}
	text, err := os.ReadFile(filepath.Join(dir, pointsName))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "paper") || !strings.Contains(out, dir) {
		t.Errorf("study %s: what is below the table:\n%s", name, out)
	}
	return out, decodeLines[T](t, string(text))
}

// TestStudyPrograms: the studies without a model print a row for each point, the same ones
// for a seed.
func TestStudyPrograms(t *testing.T) {
	dir := t.TempDir()
	flags := []string{"--tokens", "64,256", "--draws", "3"}
	table, gradients := runStudy[study.GradientPoint](t, dir, "gradients", flags...)
	if len(gradients) != 2 || gradients[1].Tokens != 256 || gradients[1].Draws != 3 || gradients[0].Value.Min > gradients[0].Value.Mean || !strings.Contains(table, "by W_V ") {
		t.Errorf("%+v\n%s", gradients, table)
	}
	if _, again := runStudy[study.GradientPoint](t, dir, "gradients", append(flags, "--threads", "3")...); !slices.Equal(again, gradients) {
		t.Errorf("three threads: %+v, one: %+v", again, gradients)
	}
	if _, other := runStudy[study.GradientPoint](t, dir, "gradients", append(flags, "--seed", "2")...); slices.Equal(other, gradients) {
		t.Error("another seed has the same points")
	}
	table, ranks := runStudy[study.RankPoint](t, t.TempDir(), "rank", "--tokens", "24", "--width", "16", "--layers", "30", "--draws", "1")
	if len(ranks) != 3*30 || strings.Count(table, "\nsoftmax") != 7 || ranks[0].Probability != study.LeakyReLU || ranks[0].Single.Mean < 2 || ranks[89].Single.Mean != 1 {
		t.Errorf("%d points, %+v\n%s", len(ranks), ranks, table)
	}
	table, tests := runStudy[study.PseudoconvexityPoint](t, t.TempDir(), "pseudoconvexity", "--tests", "60")
	if len(tests) != len(study.PseudoconvexityCases) || tests[0].Inside != 0 || tests[0].Anywhere == 0 || tests[0].Tests != 60 || !strings.Contains(table, "W_Q, W_K  dot, heads 1") {
		t.Errorf("%+v\n%s", tests, table)
	}
}

// TestStudyMeasurements: the studies of times say what was measured, beside what the paper
// has where its sizes are.
func TestStudyMeasurements(t *testing.T) {
	testenv.NoRace(t, "measures and simulates with what other tests run")
	table, layers := runStudy[layerResult](t, t.TempDir(), "runtime", "--length", "128", "--reps", "1", "--shape", "notebook")
	if len(layers) != 5 || layers[0].Layer != "vanilla" || layers[0].Ratio != 1 || layers[0].Heads != 8 || layers[0].MLP != 2048 || layers[4].K != 64 || layers[4].Seconds <= 0 || layers[4].PaperSeconds != 0 {
		t.Errorf("%+v\n%s", layers, table)
	}
	table, parts := runStudy[costPoint](t, t.TempDir(), "cost", "--length", "128", "--k", "32", "--reps", "1")
	if len(parts) != len(study.CostParts) {
		t.Fatalf("%+v\n%s", parts, table)
	}
	for _, p := range parts {
		counted := !slices.Contains([]string{study.PartSampling, study.PartRemainder, study.PartScores}, p.Part)
		if (p.Paper > 0) != counted || p.Full <= 0 || (p.Seconds > 0) == (p.Part == study.PartRemainder) && p.Part != study.PartRelative {
			t.Errorf("%+v", p)
		}
	}
}

// smallShapes generates a few clouds of 20 points.
func smallShapes(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shapes")
	succeed(t, "", "data", "generate", "shapes", "--out", dir, "--train", "24", "--val", "12", "--test", "6", "--points", "20", "--no-baselines")
	return dir
}

// TestStudyTraining: each study trains the models that it is of, takes runs that are there as
// they are, and refuses those of other settings.
func TestStudyTraining(t *testing.T) {
	testenv.NoRace(t, "measures and simulates with what other tests run")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	short := []string{"--points", "16", "--steps", "6", "--evaluations", "3", "--batch", "4"}
	own := append([]string{"--task", "custom", "--data", smallShapes(t)}, short[2:]...)
	configOf := func(dir, run string) *sft.Config {
		c, err := sft.ReadConfig(filepath.Join(dir, "runs", run, "seed-1", "config.json"))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	dir := t.TempDir()
	table, points := runStudy[curvePoint](t, dir, "convergence", short...)
	if len(points) != 3*2*3 || !strings.Contains(table, "\nsoftmax, dot, relative ") {
		t.Errorf("%+v\n%s", points, table)
	}
	for i, p := range points {
		if i > 0 && points[i-1].Variant == p.Variant && points[i-1].Split == p.Split && p.Best < points[i-1].Best || p.Accuracy > p.Best {
			t.Errorf("%+v", p)
		}
	}
	for run, want := range map[string][3]string{"leaky": {"maxout", "leaky_relu", sft.DistanceRelation}, "softmax": {"dot", "softmax", sft.DistanceRelation}, "vanilla": {"dot", "softmax", sft.NoRelation}} {
		if c := configOf(dir, run); [3]string{c.Score, c.Probability, c.Relative} != want || c.NumSampledTokens != 16 {
			t.Errorf("%s: %s, %s, %s, %d sampled", run, c.Score, c.Probability, c.Relative, c.NumSampledTokens)
		}
	}
	before, err := os.Stat(filepath.Join(dir, "runs", "leaky", "seed-1", "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if _, again := runStudy[curvePoint](t, dir, "convergence", short...); !slices.Equal(again, points) {
		t.Error("the same command has other points")
	}
	if after, err := os.Stat(filepath.Join(dir, "runs", "leaky", "seed-1", "model.safetensors")); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("a run that is complete was trained anew (%v)", err)
	}
	status, _, errs := program(nil, append([]string{"study", "convergence", "--out", dir}, append(short, "--batch", "8")...)...)
	if status != exitError || !strings.Contains(errs, "holds a run of other data, settings or another model") {
		t.Errorf("another batch: status %d\n%s", status, errs)
	}

	dir = t.TempDir()
	table, points = runStudy[curvePoint](t, dir, "sampling", append(own, "--k", "2,20", "--seeds", "1,2")...)
	if len(points) != 2*2*2*3 || !strings.Contains(table, "\nk 2 (10%)  ") || configOf(dir, "k-2").NumSampledTokens != 2 || configOf(dir, "k-20").NumSampledTokens != 20 {
		t.Errorf("%+v\n%s", points, table)
	}
	dir = t.TempDir()
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	var out, complaint bytes.Buffer
	status = run(stopped, append([]string{"sftseq", "study", "relative", "--out", dir, "--threads", "1"}, own...), nil, &out, &complaint)
	if _, err := os.Stat(filepath.Join(dir, pointsName)); status != exitError || err == nil || !strings.Contains(complaint.String(), "the same command goes on") {
		t.Errorf("stopped: status %d, %v\n%s", status, err, complaint.String())
	}
	_, points = runStudy[curvePoint](t, dir, "relative", own...)
	both, features, relation := configOf(dir, "both"), configOf(dir, "features"), configOf(dir, "relation")
	if len(points) != 3*2*3 || both.Relative != sft.DistanceRelation || both.Input == relation.Input || relation.Input != sft.OnesInput || features.Relative != sft.NoRelation || relation.Relative != sft.DistanceRelation {
		t.Errorf("%+v", points)
	}
}

// TestStudyModels: what is measured of a model that the study trains, or is given.
func TestStudyModels(t *testing.T) {
	testenv.NoRace(t, "measures and simulates with what other tests run")
	dir, data := t.TempDir(), smallShapes(t)
	short := []string{"--task", "custom", "--data", data, "--steps", "4", "--evaluations", "2", "--batch", "4"}
	_, layers := runStudy[similarityPoint](t, dir, "similarity", append(short, "--rows", "5", "--layers", "3", "--input", "ones")...)
	if len(layers) != 4 || layers[0].Sequences != 5 {
		t.Fatalf("%+v", layers)
	}
	// Points without features begin alike, and their distances tell them apart.
	if first, last := layers[0], layers[3]; math.Abs(first.Cosine.Mean-1) > 1e-6 || first.Rank.Max != 1 || last.Rank.Min < 2 || last.Cosine.Mean >= 1-1e-9 {
		t.Errorf("%+v", layers)
	}
	model := filepath.Join(dir, "runs", "preset", "seed-1")
	if _, given := runStudy[similarityPoint](t, t.TempDir(), "similarity", "--model", model, "--data", data, "--rows", "5"); !slices.Equal(given, layers) {
		t.Errorf("the model by itself: %+v, want %+v", given, layers)
	}
	metrics, err := sft.ReadMetrics(model)
	if err != nil {
		t.Fatal(err)
	}
	best := metrics.Validation[0]
	for _, v := range metrics.Validation {
		if v.Best {
			best = v
		}
	}
	trained := "16" // of clouds as short as these
	_, times := runStudy[inferencePoint](t, t.TempDir(), "inference", "--model", model, "--data", data, "--k", "2,"+trained, "--reps", "1")
	if len(times) != 2 || times[0].K != 2 || times[0].Seconds <= 0 || times[1].Rows != 12 || times[1].Accuracy != *best.Accuracy ||
		math.Abs(times[1].Loss-best.Loss) > 1e-7 || math.Abs(times[0].Loss-best.Loss) < 1e-6 {
		t.Errorf("%+v, validation reached %v and the loss %v", times, *best.Accuracy, best.Loss)
	}
	if _, test := runStudy[inferencePoint](t, t.TempDir(), "inference", "--model", model, "--data", data, "--k", "2", "--reps", "1", "--split", "test"); test[0].Rows != 6 {
		t.Errorf("%+v", test)
	}
}

// TestStudyForeignData: data that a model does not read are an error, not a measurement.
func TestStudyForeignData(t *testing.T) {
	for _, study := range []string{"similarity", "inference"} {
		refuse(t, exitError, "the features of its tokens are", "", "study", study, "--model", goldenPath("clouds"), "--data", generated(t), "--out", filepath.Join(t.TempDir(), "out"))
	}
}

// TestStudyUnlabelled: a row without a label has no accuracy.
func TestStudyUnlabelled(t *testing.T) {
	model, err := sft.ReadConfig(goldenPath("pre", "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	spec := seq.Spec{Task: seq.Classification, Name: "rows", Tokenizer: model.Tokenizer, VocabSize: model.VocabSize, PadID: model.PadTokenID, LabelNames: model.LabelNames}
	b, err := seq.CreateDataset(dir, spec, false)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	w, err := b.Split("val")
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []int32{1, seq.NoLabel} {
		if err := w.Write(seq.Example{A: []int32{1, 2, 3}, Label: label}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(nil); err != nil {
		t.Fatal(err)
	}
	refuse(t, exitError, "row 1: label -1, expected one of the model's", "", "study", "inference", "--model", goldenPath("pre"), "--data", dir, "--k", "2", "--reps", "1", "--out", filepath.Join(t.TempDir(), "out"))
}

// TestStudyInterrupted: a study that is stopped leaves no file.
func TestStudyInterrupted(t *testing.T) {
	for _, name := range []string{"rank", "gradients", "pseudoconvexity", "cost", "runtime"} {
		dir := filepath.Join(t.TempDir(), "out")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out, errs bytes.Buffer
		if status := run(ctx, []string{"sftseq", "study", name, "--out", dir}, nil, &out, &errs); status != exitError || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("study %s: status %d, %s", name, status, errs.String())
		}
		if found, err := os.ReadDir(dir); err == nil && len(found) > 0 {
			t.Errorf("study %s left %v", name, found)
		}
	}
}

// TestStudyUsage: what is wrong with the flags of a study, before anything is computed.
func TestStudyUsage(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"expected one of the commands rank, similarity, convergence, sampling, runtime, cost, gradients, pseudoconvexity, inference, relative, found none", nil},
		{"found \"x\"", []string{"rank", "x"}},
		{"--layers 0, expected 1 to", []string{"rank", "--layers", "0"}},
		{"--threads -1, expected 0 to", []string{"rank", "--threads", "-1"}},
		{"--out is empty", []string{"rank", "--out", ""}},
		{"--tokens: \"x\", expected numbers", []string{"gradients", "--tokens", "x"}},
		{"--tokens: a slope needs at least two", []string{"gradients", "--tokens", "64"}},
		{"--leak 0, expected a number above 0", []string{"gradients", "--leak", "0"}},
		{"--width 3, expected an even number", []string{"pseudoconvexity", "--width", "3"}},
		{"--k 64, of sequences of 32 tokens", []string{"cost", "--length", "32", "--k", "64"}},
		{"--shape \"wide\"", []string{"runtime", "--shape", "wide"}},
		{"--task: task \"imdb\" is not known", []string{"convergence", "--task", "imdb"}},
		{"--task custom is of a data set of your own", []string{"convergence", "--task", "custom"}},
		{"--data is missing", []string{"sampling", "--task", "text"}},
		{"--seed and --seeds exclude each other", []string{"relative", "--seed", "1", "--seeds", "1,2"}},
		{"--steps and --epochs exclude each other", []string{"relative", "--steps", "1", "--epochs", "1"}},
		{"--seeds: \"1\", expected different numbers", []string{"relative", "--seeds", "1,1"}},
		{"--steps 0, expected 1 to", []string{"relative", "--steps", "0"}},
		{"--data is missing: rows that --model reads", []string{"similarity", "--model", goldenPath("pre")}},
		{"--reps 0, expected 1 to", []string{"inference", "--reps", "0"}},
	} {
		args := append([]string{"study"}, c.args...)
		if len(c.args) > 0 && !slices.Contains(c.args, "--out") {
			args = append(args, "--out", filepath.Join(dir, "out"))
		}
		refuse(t, exitUsage, c.want, "", args...)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("something is left")
	}
}

// TestStudyHelp: every study has help with an example, and is named by the command.
func TestStudyHelp(t *testing.T) {
	for _, c := range studyCommand().Subcommands {
		if out := succeed(t, "", "study", c.Name, "--help"); !strings.Contains(out, "Example") || !strings.Contains(out, "studies/"+c.Name) {
			t.Errorf("study %s: %s", c.Name, out)
		}
	}
}
