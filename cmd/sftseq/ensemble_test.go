package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft"
)

// TestEnsemble checks that predict and serve return the mean probabilities of the models in a folder of
// train --seeds, and that eval and sharded prediction accept the folder.
func TestEnsemble(t *testing.T) {
	data, out := unequalData(t), filepath.Join(t.TempDir(), "runs [x]")
	output := printed(t, "", "train", "custom", "--members", "sft", "--data", data, "--out", out, "--seeds",
		"3,1,2", "--max-length", "64",
		"--hidden", "8", "--steps", "6", "--batch", "16", "--eval-every", "3", "--lr", "0.05", "--warmup", "0")
	contains(t, output, "the ensemble of all seeds is usually more accurate: use it with --model '"+out+"'\n")
	contains(t, output, "--seed 2 ", " --out '"+filepath.Join(out+"-again", "seed-2")+"'")
	together := out + ": ensemble of 3 models: seed-1, seed-2, seed-3\n"
	predict := func(model, wantErrs string, args ...string) []prediction {
		t.Helper()
		lines := `{"text":"7"}` + "\n" + `{"text":"123"}` + "\n"
		output, errs := exits(t, exitOK, lines, append(args, "--model", model)...)
		if compileMessage.ReplaceAllString(errs, "") != wantErrs {
			t.Fatalf("got standard error %q, want %q", errs, wantErrs)
		}
		var replies []prediction
		for line := range strings.Lines(output) {
			r := decode[prediction](t, line)
			replies = append(replies, r)
		}
		return replies
	}
	got := predict(out, together, "predict")
	mean := make([][2]float64, len(got))
	for _, seed := range []string{"seed-1", "seed-2", "seed-3"} {
		for i, r := range predict(filepath.Join(out, seed), "", "predict") {
			for class, p := range r.Probabilities {
				mean[i][class] += float64(p) / 3
			}
		}
	}
	for i, r := range got {
		for class, p := range r.Probabilities {
			if math.Abs(float64(p)-mean[i][class]) > 1e-6 || len(r.Probabilities) != 2 {
				t.Errorf("line %d: probability %v of class %d, expected %v", i, p, class, mean[i][class])
			}
		}
	}
	served := predict(out, together, "serve", "--log", "error")
	for i := range got {
		if served[i].Label != got[i].Label || served[i].Probabilities[0] != got[i].Probabilities[0] {
			t.Errorf("line %d: the server returns %+v, predict %+v", i, served[i], got[i])
		}
	}

	evalArgs := []string{"eval", "--model", out, "--data", data, "--split", "val"}
	result := decode[struct{ Models, Rows int }](t, printed(t, "", append(evalArgs, "--json")...))
	if result.Models != 3 || result.Rows != 40 {
		t.Fatalf("got result %+v, want 3 models and 40 rows", result)
	}
	hasPrefix(t, printed(t, "", evalArgs...), out+" (3 models together) on ")

	// A second run of the shard finds its part complete, and --verify accepts the part.
	parts, rows := filepath.Join(t.TempDir(), "parts"), filepath.Join(data, "val.arrow")
	shard := []string{"predict", "--model", out, "--input", rows, "--shard", "0/1", "--output", parts}
	done(t, "", shard...)
	contains(t, printed(t, "", shard...), "nothing to do")
	done(t, "", "predict", "--verify", "--model", out, "--output", parts)

	one := out + ": expected a model, found a folder of 3 models: choose one of them, such as --model '" +
		filepath.Join(out, "seed-1") + "' (seed-1, seed-2, seed-3)"
	for _, c := range []refusal{
		{"embed: " + one, []string{"embed", "--model", out}},
		{"--explain: " + one, []string{"predict", "--explain", "--model", out}},
		{"--index: " + one, []string{"serve", "--index", filepath.Join(t.TempDir(), "index"), "--model", out}},
		{"--queries: " + one, []string{"eval", "--queries", "3", "--model", out, "--data", data}},
	} {
		contains(t, failing(t, "", c.args...), c.want)
	}

	// If a model is added to the folder, the existing parts belong to another job.
	member := func(name string) string { return filepath.Join(out, name) }
	copyModel := func(from, name string) {
		t.Helper()
		must.Succeed(t, os.CopyFS(member(name), os.DirFS(from)))
	}
	remove := func(names ...string) {
		t.Helper()
		must.Succeed(t, os.RemoveAll(member(filepath.Join(names...))))
	}
	fourth := filepath.Join(t.TempDir(), "fourth")
	runCustom(t, data, fourth, "--seed", "4", "--stop-at", "3", "--max-length", "64", "--hidden", "8", "--steps", "6",
		"--batch", "16", "--eval-every", "3")
	copyModel(fourth, "seed-4")
	failing(t, "", "predict", "--verify", "--model", out, "--output", parts)
	hasPrefix(t, printed(t, "", "eval", "--model", out, "--data", data),
		out+" (4 models together) (training has not ended) on ")
	remove("seed-4")

	// All models read the head of a longer sequence.
	long := `{"text":"` + strings.Repeat("7", 100) + `"}`
	contains(t, printed(t, long, "predict", "--model", out, "--truncate"), `"used":64`)

	// The error about a model that does not fit the ensemble names the model.
	for _, c := range []struct{ from, gone, want string }{
		{goldenPath("pre"), "", "x does not fit: number of labels: expected 2 as in the first model, found 10; or choose one " +
			"of the folder's models with --model (seed-1, seed-2, seed-3, x)"},
		{goldenPath("regression"), "", "x does not fit: task: expected classification as in the first model, found regression"},
		{member("seed-1"), "", "x is the same as seed-1"},
		{member("seed-1"), "model.safetensors", "reading x of the ensemble: "},
		{member("seed-1"), "config.json", "reading x of the ensemble: "},
	} {
		copyModel(c.from, "x")
		if c.gone != "" {
			remove("x", c.gone)
		}
		refuse(t, exitError, c.want, "", "predict", "--model", out)
		remove("x")
	}

	alone := filepath.Join(t.TempDir(), "runs")
	must.Succeed(t, os.CopyFS(filepath.Join(alone, "seed-1"), os.DirFS(filepath.Join(out, "seed-1"))))
	if r := predict(alone, alone+": the model seed-1\n", "predict"); len(r) != 2 ||
		r[0].Probabilities[0] != predict(filepath.Join(out, "seed-1"), "", "predict")[0].Probabilities[0] {
		t.Errorf("got %+v, want two predictions, as from seed-1 itself", r)
	}
}

// TestEnsembleOfLabels checks that each run of a multi-label task chooses its own thresholds, and that
// the ensemble uses the mean thresholds.
func TestEnsembleOfLabels(t *testing.T) {
	dir := t.TempDir()
	data, out := filepath.Join(dir, "data"), filepath.Join(dir, "runs")
	table := "text,topics\n"
	for i := range 120 {
		table += fmt.Sprintf("%d,%s\n", i, []string{"a", "b", "a b", "c", "b c"}[i*i%5])
	}
	succeed(t, "", "data", "convert", "--from", writeText(t, filepath.Join(dir, "x.csv"), table), "--to", data,
		"--text", "text", "--label", "topics", "--label-separator", " ")
	runCustom(t, data, out, "--seeds", "1,2", "--hidden", "8", "--steps", "6", "--batch", "16", "--eval-every", "3")
	type labelsReply struct {
		Labels        []string
		Probabilities map[string]float64
	}
	line := func(model string) (reply labelsReply, thresholds []float64) {
		t.Helper()
		reply = decode[labelsReply](t, printed(t, `{"text":"7"}`, "predict", "--model", model))
		if model != out {
			thresholds = must.Get(sft.Load(model))(t).Config.Thresholds
		}
		return reply, thresholds
	}
	a, thresholds1 := line(filepath.Join(out, "seed-1"))
	b, thresholds2 := line(filepath.Join(out, "seed-2"))
	if len(thresholds1) != 3 || slices.Equal(thresholds1, thresholds2) {
		t.Fatalf("got thresholds %v and %v, want 3 thresholds per run that differ", thresholds1, thresholds2)
	}
	got, _ := line(out)
	var want []string
	for i, name := range []string{"a", "b", "c"} {
		mean := (a.Probabilities[name] + b.Probabilities[name]) / 2
		if math.Abs(got.Probabilities[name]-mean) > 1e-6 {
			t.Errorf("probability %v of %s, expected %v", got.Probabilities[name], name, mean)
		}
		if mean >= (thresholds1[i]+thresholds2[i])/2 {
			want = append(want, name)
		}
	}
	equal(t, got.Labels, want)
	// eval of the data and eval --verify of a shard with all rows print the same report.
	measured := func(args ...string) task.LabelsResult {
		t.Helper()
		return decode[task.LabelsResult](t,
			printed(t, "", append([]string{"eval", "--model", out, "--json"}, args...)...))
	}
	parts := filepath.Join(dir, "parts")
	done(t, "", "eval", "--model", out, "--data", data, "--shard", "0/1", "--output", parts)
	whole, sharded := measured("--data", data), measured("--verify", "--output", parts)
	equal(t, whole.MultiLabelReport, sharded.MultiLabelReport)
	for i, l := range whole.Labels {
		equal(t, l.Threshold, (thresholds1[i]+thresholds2[i])/2, i)
	}
}

// TestEnsembleOfPairs checks that eval measures an ensemble of pair models, but does not rank
// documents: ranking needs the embeddings of a single model.
func TestEnsembleOfPairs(t *testing.T) {
	data, _ := pairFile(t, 20, 8)
	runs := t.TempDir()
	for name, from := range map[string]string{"a": goldenPath("retrieval"),
		"b": withConfig(t, "retrieval", "sampler_seed", 5)} {
		must.Succeed(t, os.CopyFS(filepath.Join(runs, name), os.DirFS(from)))
	}
	result := decode[task.ClassesResult](t, printed(t, "", "eval", "--model", runs, "--data", data, "--json"))
	if result.Models != 2 || result.Report.Rows != 20 || result.Ranking != nil {
		t.Errorf("got result %+v, want 2 models, 20 rows and no ranking", result)
	}
	refuse(t, exitError, "found a folder of 2 models: choose one of them", "", "eval", "--model", runs,
		"--data", data, "--queries", "5")
}
