package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestTrainFused: a linear model and one with layers are trained in two folders, and the one above them answers with
// the weighted sum of their logits: in lines, tables, shards, over a server and in eval.
func TestTrainFused(t *testing.T) {
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 600)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2")
	out := filepath.Join(t.TempDir(), "fused")
	said := runCustom(t, data, out, "--members", "linear,sft", "--steps", "20", "--device", "cpu", "--hidden", "8",
		"--layers", "1", "--stop-at", "10")
	contains(t, said, "linear: validation accuracy 100.00%", "stopped at step 10",
		"train custom --members linear,sft --data "+data+" --steps 20 ", " --out "+out+" --resume")
	notContains(t, said, "of the sum of their logits")
	said = printed(t, "", "train", "custom", "--members", "linear,sft", "--out", out, "--resume")
	contains(t, said, "validation loss of the members: linear 0.", " (weight ", "; of the sum of their logits 0.",
		", model in "+out+"\n", "evaluate with: sftseq eval --model "+out)
	f := must.Get(sft.ReadFusion(out))(t)
	if f == nil || f.Loss > math.Min(f.Losses[0], f.Losses[1]) {
		t.Fatalf("%+v", f)
	}

	lines := `{"id":1,"text":"the film was wonderful"}` + "\n" + `{"id":2,"text":"a boring plot"}` + "\n"
	const together = ": 2 models, which answer together: linear, sft\n"
	answers, errs := exits(t, exitOK, lines, "predict", "--model", out, "--device", "cpu")
	equal(t, errs, out+together)
	got := decodeLines[prediction](t, answers)
	var members [][]prediction
	for _, name := range f.Members {
		members = append(members,
			decodeLines[prediction](t,
				succeed(t, lines, "predict", "--model", filepath.Join(out, name), "--device", "cpu")))
	}
	for i, p := range got {
		for c, z := range p.Logits {
			want := 0.0
			for m, w := range f.Weights {
				want += w * float64(members[m][i].Logits[c]) / f.Temperature
			}
			if math.Abs(float64(z)-want) > 1e-5 {
				t.Errorf("line %d, class %d: %v, want %v", i, c, z, want)
			}
		}
	}
	served, _ := exits(t, exitOK, lines, "serve", "--model", out, "--device", "cpu", "--log", "error")
	equal(t, served, answers)
	contains(t, printed(t, "", "eval", "--model", out, "--data", data, "--device", "cpu"),
		out+" (2 models together) on ", "accuracy  100.00%")
	parts := filepath.Join(t.TempDir(), "parts")
	printed(t, "", "eval", "--model", out, "--data", data, "--device", "cpu", "--shard", "0/1", "--output", parts)
	contains(t, printed(t, "", "eval", "--model", out, "--verify", "--output", parts), "accuracy  100.00%")

	refuse(t, exitError, out+": expected a model, found the folder of 2: name one of them, such as ", "", "report", out)
	refuse(t, exitError, "name one of them, such as", "", "export", "onnx", "--model", out, "--output", "m.onnx")
	train := []string{"train", "custom", "--members", "linear,sft", "--data", data}
	refuse(t, exitError, "already holds a model or a run: choose another --out for --members linear,sft", "",
		append(train, "--out", out)...)
	tags := tableData(t, "tags.csv", "words,tags\na b,X O\nb a,O X\n", "--text", "words", "--tags", "tags",
		"--split", "0.6,0.2,0.2")
	refuse(t, exitUsage, "--members linear,sft: expected one class for each row, found the task tagging", "", "train",
		"custom", "--members", "linear,sft", "--data", tags, "--out", filepath.Join(t.TempDir(), "o"))
	must.Succeed(t, (&sft.Fusion{ModelType: config.FusionType, Members: []string{"linear", "gone"},
		Weights: []float64{1, 1}, Temperature: 1}).Save(out))
	_, errs = exits(t, exitError, lines, "predict", "--model", out)
	contains(t, errs, "gone")
}

// TestTrainFusedStops: a run that was stopped after the linear model, or before the weights, goes on with --resume; one
// in a folder with a run, or of other data, is refused and leaves the folder unchanged; what is wrong with the flags is
// found before anything is written.
func TestTrainFusedStops(t *testing.T) {
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 200)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2")
	other := tableData(t, "others.csv", readText(t, proseTable(t, 190)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2")
	out := filepath.Join(t.TempDir(), "fused")
	flags := []string{"--members", "linear,sft", "--steps", "4", "--device", "cpu", "--hidden", "8", "--layers", "1"}
	train := func(data string, more ...string) []string {
		return slices.Concat([]string{"train", "custom", "--data", data, "--out", out}, flags, more)
	}
	for want, args := range map[string][]string{"--stop-at -3, expected a step from 1": {"--stop-at", "-3"},
		`found "extra"`: {"extra"}} {
		_, errs := exits(t, exitUsage, "", train(data, args...)...)
		contains(t, errs, want)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused run made its folder")
	}
	said := runCustom(t, data, out, flags...)
	contains(t, said, "repeat with: sftseq train custom --preset quick --seed 1 --members linear,sft --data "+data)
	first := readText(t, filepath.Join(out, "config.json"))
	for _, gone := range [][]string{{"config.json"}, {"config.json", "sft"}} {
		for _, name := range gone {
			must.Succeed(t, os.RemoveAll(filepath.Join(out, name)))
		}
		refuse(t, exitError, "already holds a run of --members linear,sft: --resume continues it", "", train(data)...)
		refuse(t, exitError, "was trained on other data than "+other, "", train(other, "--resume")...)
		printed(t, "", train(data, "--resume")...)
		equal(t, readText(t, filepath.Join(out, "config.json")), first)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	runCustom(t, data, plain, flags[2:]...)
	refuse(t, exitError, "already holds a model or a run", "",
		slices.Concat([]string{"train", "custom", "--data", data, "--out", plain, "--resume"}, flags)...)
	if _, err := os.Stat(filepath.Join(plain, "linear")); err == nil {
		t.Error("a refused run left a linear model")
	}
	must.Succeed(t, os.WriteFile(filepath.Join(out, "config.json"),
		[]byte(`{"model_type":"fusion","members":["linear","sft"],"weights":[1],"temperature":1}`), 0o666))
	for _, args := range [][]string{{"predict", "--model", out}, {"export", "onnx", "--model", out, "--output", "m"}} {
		_, errs := exits(t, exitError, "", args...)
		contains(t, errs, "weights: 1 weights, expected one for each of the 2 members")
	}
}
