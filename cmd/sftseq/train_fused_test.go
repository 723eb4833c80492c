package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestTrainFused trains a linear model and a transformer in two folders, and checks that predict and
// serve compute the weighted sum of their logits, divided by the temperature. It checks that eval, with and
// without shards, and report support the fusion, and that commands for a single model refuse it.
func TestTrainFused(t *testing.T) {
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 600)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2")
	out := filepath.Join(t.TempDir(), "fused")
	output := runCustom(t, data, out, "--members", "linear,sft", "--steps", "20", "--device", "cpu", "--hidden", "8",
		"--layers", "1", "--stop-at", "10")
	contains(t, output, "linear: validation accuracy 100.00%", "stopped at step 10",
		"train custom --members linear,sft --data "+data+" --steps 20 ", " --out "+out+" --resume")
	notContains(t, output, "of the sum of their logits")
	output = printed(t, "", "train", "custom", "--members", "linear,sft", "--out", out, "--resume")
	contains(t, output, "members on the validation split (120 rows):\n  linear  accuracy 100.00%  loss 0.0",
		"\n  sft     accuracy ", "\n  sum     accuracy 100.00%  loss 0.", " (model in "+out+")\n",
		"\nvalidation baselines: largest class (", "evaluate with: sftseq eval --model "+out)
	equal(t, advice(&sft.Config{}, out, 0, false), "; try: sftseq train custom --members linear,sft --data "+data+
		" --hidden=8 --layers=1 --time 15m0s --out "+out+"-longer")
	f := must.Get(sft.ReadFusion(out))(t)
	if f == nil || f.Loss > math.Min(f.Losses[0], f.Losses[1]) {
		t.Fatalf("got fusion %+v, want a loss of at most the loss of each member", f)
	}
	f.Weights, f.Temperature = []float64{0.8, 0.5}, 2 // so that both models run
	must.Succeed(t, f.Save(out))

	lines := `{"id":1,"text":"the film was wonderful"}` + "\n" + `{"id":2,"text":"a boring plot"}` + "\n"
	const suffix = ": ensemble of 2 models: linear, sft\n"
	predictions, errs := exits(t, exitOK, lines, "predict", "--model", out, "--device", "cpu")
	equal(t, errs, out+suffix)
	got := decodeLines[prediction](t, predictions)
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
				t.Errorf("line %d, class %d: got logit %v, want %v", i, c, z, want)
			}
		}
	}
	served, _ := exits(t, exitOK, lines, "serve", "--model", out, "--device", "cpu", "--log", "error")
	equal(t, served, predictions)
	contains(t, printed(t, "", "eval", "--model", out, "--data", data, "--device", "cpu"),
		out+" (2 models together) on ", "accuracy  100.00%", "\nmembers\n  linear  accuracy 100.00%  loss 0.0",
		"  weight 0.8\n  sft     accuracy ", "  weight 0.5\n  sum     accuracy 100.00%  loss ")
	found, _ := exits(t, exitOK, "", "eval", "--json", "--model", out, "--data", data, "--device", "cpu")
	r := decode[task.ClassesResult](t, found)
	if m := r.Members; len(m) != 3 || m[0].Accuracy != 1 || m[2].Name != sumName ||
		math.Abs(m[2].Loss-r.Loss) > 1e-9 {
		t.Errorf("members %+v, want a linear model with accuracy 1 and a sum with the loss %v", r.Members, r.Loss)
	}
	parts := filepath.Join(t.TempDir(), "parts")
	printed(t, "", "eval", "--model", out, "--data", data, "--device", "cpu", "--shard", "0/1", "--output", parts)
	contains(t, printed(t, "", "eval", "--model", out, "--verify", "--output", parts), "accuracy  100.00%")

	page := filepath.Join(t.TempDir(), "report.html")
	done(t, "", "report", "--out", page, "--device", "cpu", out)
	contains(t, readText(t, page), "<h2>Members of "+out+"</h2>", ">validation accuracy</th>",
		`<th scope="row">linear</th><td class="n">0.8</td><td class="n">100.00%</td>`,
		"fused/sft", "120 rows of the validation split", "split test.</p>")
	refuse(t, exitError, "choose one of them, such as "+filepath.Join(out,
		"sft")+" (docs/export.md#models-of-several-members)", "", "export", "onnx", "--model",
		out, "--output", "m.onnx")
	refuse(t, exitError, out+": expected a run directory of sftseq train, with metrics.jsonl, found a folder of 2 "+
		"models: "+
		"pass "+filepath.Join(out, "sft")+"\n", "", "plot", out)
	train := []string{"train", "custom", "--members", "linear,sft", "--data", data}
	refuse(t, exitError, "already contains a model: choose another --out", "",
		append(train, "--out", out)...)
	tags := tableData(t, "tags.csv", "words,tags\na b,X O\nb a,O X\n", "--text", "words", "--tags", "tags",
		"--split", "0.6,0.2,0.2")
	refuse(t, exitUsage, "--members linear,sft: expected one prediction for each row, found the task tagging", "",
		"train",
		"custom", "--members", "linear,sft", "--data", tags, "--out", filepath.Join(t.TempDir(), "o"))
	must.Succeed(t, (&sft.Fusion{ModelType: config.FusionType, Members: []string{"linear", "gone"},
		Weights: []float64{1, 1}, Temperature: 1}).Save(out))
	_, errs = exits(t, exitError, lines, "predict", "--model", out)
	contains(t, errs, "gone")
}

// TestMembersPrintLinesOnce checks that members with different seeds do not repeat lines about the data and
// the settings.
func TestMembersPrintLinesOnce(t *testing.T) {
	output := runCustom(t, proseData(t, 100), filepath.Join(t.TempDir(), "run"), "--members", "linear,lexical",
		"--seeds", "1,2", "--steps", "2", "--hidden", "8", "--layers", "1", "--device", "cpu")
	contains(t, output, "lexical-1: ", "lexical-2: ")
	for _, line := range []string{"half of them up to", "validation has only "} {
		equal(t, strings.Count(output, line), 1, line)
	}
}

// TestBetterMember checks that the table of members names a member that is better than the sum.
func TestBetterMember(t *testing.T) {
	score := func(name string, loss, accuracy float64) task.MemberScore {
		return task.MemberScore{Name: name, FusionScore: metrics.FusionScore{Loss: loss, Accuracy: accuracy}}
	}
	scores := []task.MemberScore{score("linear", 0.3, 0.9), score("lexical-2", 0.2, 0.95), score(sumName, 0.2, 0.9)}
	equal(t, betterMember(scores, true, "runs/a"), "lexical-2 alone has a higher accuracy than the sum: use --model "+
		"runs/a/lexical-2, or train only this member with --members lexical --seed 2\n")
	equal(t, betterMember(scores, false, "runs/a"), "")
	scores[0].Loss = 0.1
	equal(t, betterMember(scores, false, "runs/a"), "linear alone has a lower loss than the sum: use --model "+
		"runs/a/linear, or train only this member with --members linear\n")
}

// TestTrainFusedStops checks that --resume continues a run that was stopped after the linear model
// or before the weights were fitted. A run on other data, with other members, or into a folder with a run
// is refused, and --resume still continues the existing run. Errors in flags are reported before --out is created.
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
	for want, args := range map[string][]string{"--stop-at -3: expected a step from 1": {"--stop-at", "-3"},
		`found "extra"`: {"extra"}, "--threads -1: expected 0": {"--threads", "-1"},
		`--memory "lots": expected a size`: {"--memory", "lots"}, "--device": {"--device", "tpu"},
		`--precision "fp8": expected`: {"--precision", "fp8"}} {
		_, errs := exits(t, exitUsage, "", train(data, args...)...)
		contains(t, errs, want)
	}
	for want, args := range map[string][]string{"memory": {"--memory", "1KiB"},
		"no-model": {"--init-from", filepath.Join(t.TempDir(), "no-model")}} {
		_, errs := exits(t, exitError, "", train(data, args...)...)
		contains(t, errs, want)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused run created its folder")
	}
	refuse(t, exitError, out+" does not exist: expected the directory of a run", "", train(data, "--resume")...)
	noFile(t, out)
	must.Succeed(t, os.MkdirAll(out, 0o777))
	refuse(t, exitError, out+" contains no run of this command: expected a folder of one of the models linear, sft, "+
		"found none", "", train(data, "--resume")...)
	output := runCustom(t, data, out, flags...)
	contains(t, output, "repeat with: sftseq train custom --preset quick --seed 1 --members linear,sft --data "+data)
	first := readText(t, filepath.Join(out, "config.json"))
	for _, removed := range [][]string{{"config.json"}, {"config.json", "sft"}} {
		for _, name := range removed {
			must.Succeed(t, os.RemoveAll(filepath.Join(out, name)))
		}
		refuse(t, exitError, "already contains a run of --members linear,sft: continue it with "+
			"--resume", "", train(data)...)
		refuse(t, exitError, "was not trained on "+other, "", train(other, "--resume")...)
		printed(t, "", train(data, "--resume")...)
		equal(t, readText(t, filepath.Join(out, "config.json")), first)
	}
	for _, name := range []string{"config.json", "sft"} { // only the linear model's folder remains
		must.Succeed(t, os.RemoveAll(filepath.Join(out, name)))
	}
	printed(t, "", slices.Concat([]string{"train", "custom", "--data", data, "--out", out, "--resume"}, flags[2:])...)
	equal(t, readText(t, filepath.Join(out, "config.json")), first)
	plain := filepath.Join(t.TempDir(), "plain")
	runCustom(t, data, plain, flags[2:]...)
	refuse(t, exitError, "--members linear,sft: the run was started with sft, and a resumed run cannot change it", "",
		slices.Concat([]string{"train", "custom", "--data", data, "--out", plain, "--resume"}, flags)...)
	refuse(t, exitError, "--members lexical: the run was started with sft, and a resumed run cannot change it", "",
		"train", "custom", "--data", data, "--out", plain, "--resume", "--members", "lexical")
	refuse(t, exitError, "--members sft: the run was started with linear,sft, and a resumed run cannot change it", "",
		"train", "custom", "--data", data, "--out", out, "--resume", "--members", "sft")
	if _, err := os.Stat(filepath.Join(plain, "linear")); err == nil {
		t.Error("a refused run left a linear model")
	}
	must.Succeed(t, os.WriteFile(filepath.Join(out, "config.json"),
		[]byte(`{"model_type":"fusion","members":["linear","sft"],"weights":[1],"temperature":1}`), 0o666))
	for _, args := range [][]string{{"predict", "--model", out}, {"export", "onnx", "--model", out, "--output",
		"m.onnx"}} {
		_, errs := exits(t, exitError, "", args...)
		contains(t, errs, "weights: 1 weights, expected one for each of the 2 members")
	}
}

// TestTrainFusedKinds checks that multi-label and regression models are fused, with a loss that is at
// most the loss of each member. A multi-label fusion has thresholds, and a regression fusion the
// temperature 1.
func TestTrainFusedKinds(t *testing.T) {
	labels, numbers := "text,topics\n", "text,sum,product\n"
	words := []string{"goal", "rain", "vote"}
	for i := range 600 {
		var text, topics []string
		sum := 0
		for k, word := range words {
			text = append(text, fmt.Sprintf("w%d", (i*7+k*3)%50))
			if i>>k&1 == 1 {
				text, topics, sum = append(text, word), append(topics, word), sum+k+1
			}
		}
		labels += fmt.Sprintf("%s,%s\n", strings.Join(text, " "), strings.Join(topics, ";"))
		numbers += fmt.Sprintf("%s,%d,%d\n", strings.Join(text, " "), sum, 3*sum+1)
	}
	for kind, c := range map[string]struct {
		table string
		flags []string
		want  string
	}{
		"labels":  {labels, []string{"--label", "topics", "--label-separator", ";"}, `"labels":["goal"]`},
		"numbers": {numbers, []string{"--numbers", "sum,product"}, `"sum":`},
	} {
		data := tableData(t, kind+".csv", c.table,
			append([]string{"--text", "text", "--split", "0.6,0.2,0.2"}, c.flags...)...)
		out := filepath.Join(t.TempDir(), kind)
		output := done(t, "", "train", "custom", "--data", data, "--out", out, "--steps", "30",
			"--hidden", "16", "--layers",
			"1", "--device", "cpu", "--lr", "0.01")
		contains(t, output, "linear: validation loss ", "members on the validation split (1",
			"\n  linear   loss 0.", "\n  sum ")
		f := must.Get(sft.ReadFusion(out))(t)
		if f.Loss > min(f.Losses[0], f.Losses[1]) || f.Accuracies != nil ||
			(kind == "labels") != (len(f.Thresholds) == 3) ||
			kind == "numbers" && f.Temperature != 1 {
			t.Errorf("%s: got fusion %+v, want a loss of at most the loss of each member, no accuracies, and three "+
				"thresholds of labels or the temperature 1 of numbers", kind, f)
		}
		f.Weights = []float64{0.7, 0.3}
		must.Succeed(t, f.Save(out))
		line := `{"text":"w1 goal w4"}` + "\n"
		predictions, _ := exits(t, exitOK, line, "predict", "--model", out, "--device", "cpu")
		contains(t, predictions, c.want)
		output, _ = exits(t, exitOK, "", "eval", "--model", out, "--data", data, "--device", "cpu")
		heading := "\nmembers\n"
		if kind == "numbers" {
			heading = "\nmembers (loss: mean squared error of standardised numbers)\n"
		}
		contains(t, output, "(2 models together)", heading+"  linear   loss 0.", "  weight 0.7\n  lexical  loss ")
	}
}

// TestTrainFusedAlone checks that predict applies the weight and the temperature of a fusion even if
// only one member has a positive weight, with and without --explain. With two positive weights,
// --explain explains both members. Without config.json, the error names the command to
// finish the training.
func TestTrainFusedAlone(t *testing.T) {
	data, out := proseData(t, 100), filepath.Join(t.TempDir(), "run")
	_, output := exits(t, exitUsage, "", "train", "custom", "--data", data, "--out", out, "--preset", "no")
	contains(t, output, `--preset "no": expected one of `)
	notContains(t, output, "linear")
	done(t, "", "train", "custom", "--data", data, "--out", out, "--steps", "10", "--hidden", "8", "--layers", "1",
		"--device", "cpu", "--seed", "1")
	f := must.Get(sft.ReadFusion(out))(t)
	line := `{"text":"a wonderful film"}` + "\n"
	logits := func(dir string, args ...string) []float32 {
		t.Helper()
		output, _ := exits(t, exitOK, line, append([]string{"predict", "--model", dir, "--device", "cpu"}, args...)...)
		return decodeLines[prediction](t, output)[0].Logits
	}
	for m, name := range f.Members {
		f.Weights, f.Temperature = []float64{0, 0}, 2
		f.Weights[m] = 0.5
		must.Succeed(t, f.Save(out))
		got, want := logits(out), logits(filepath.Join(out, name))
		for c := range want {
			if math.Abs(float64(got[c])-float64(want[c])/4) > 1e-5 {
				t.Errorf("%s: got logits %v, want a quarter of %v", name, got, want)
			}
		}
		_, output := exits(t, exitOK, "", "eval", "--model", out, "--data", data, "--device", "cpu")
		notContains(t, output, "models together", "members")
		if got := logits(out, "--explain"); math.Abs(float64(got[0])-float64(want[0])/4) > 1e-5 {
			t.Errorf("%s --explain: got logits %v, want a quarter of %v", name, got, want)
		}
	}
	f.Weights = []float64{0.5, 0.5}
	must.Succeed(t, f.Save(out))
	output, _ = exits(t, exitOK, line, "predict", "--model", out, "--explain", "--device", "cpu")
	if e := decodeLines[prediction](t, output)[0].Explain; e == nil || e.Pooling == nil || e.Linear == nil {
		t.Errorf("got %s, want explanations of both members: pooling and linear", output)
	}

	// Training writes config.json after the members, so it is missing after an interruption.
	must.Succeed(t, os.Remove(filepath.Join(out, "config.json")))
	refuse(t, exitError,
		"the training of this ensemble is unfinished: config.json, with the weights of the models, is "+
			"missing (finish it with sftseq train custom --data "+data+" --out "+out+" --resume, or choose one model with "+
			"--model: lexical, linear)", line, "predict", "--model", out)
}

// TestInitialModelOfText checks that train custom --init-from on text trains the members linear and sft by default,
// because a lexical model cannot start from another model.
func TestInitialModelOfText(t *testing.T) {
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 60)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2")
	initial, out := filepath.Join(t.TempDir(), "initial"), filepath.Join(t.TempDir(), "members")
	done(t, "", smallPretraining(data, initial)...)
	start := []string{"train", "custom", "--data", data, "--init-from", initial, "--device", "cpu", "--steps", "4",
		"--out"}
	contains(t, done(t, "", append(start, out)...), " parameters from "+initial, " --members linear,sft ")
	refuse(t, exitError,
		"--init-from: "+out+": expected a model, found a folder of 2 models: choose one of them, such "+
			"as --init-from "+filepath.Join(out, "sft")+" (linear, sft)", "", "train", "custom", "--data", data,
		"--init-from", out, "--out", filepath.Join(t.TempDir(), "more"))
}
