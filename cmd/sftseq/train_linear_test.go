package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/sft"
)

// linearModel trains a linear model on a data set and returns its directory and the printed text.
func linearModel(t *testing.T, data string, flags ...string) (dir, printed string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "linear")
	return dir, runCustom(t, data, dir, append([]string{"--members", "linear"}, flags...)...)
}

// TestTrainLinear checks that eval, predict, serve, report and info accept a linear model. A repeated run
// with another number of threads writes the same weights.
func TestTrainLinear(t *testing.T) {
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 600)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2")
	model, output := linearModel(t, data)
	contains(t, output, "linear model of 360 rows: ", " n-grams of 1 to 2 tokens",
		"validation accuracy 100.00%, loss ", "(epoch ",
		", model in "+model, "repeat with: sftseq train custom --members linear --seed 1 --data "+data+
			" --out "+model+"-again")
	out := succeed(t, "", "eval", "--model", model, "--data", data)
	contains(t, out, "accuracy  100.00%", "word n-grams, logistic regression")
	notContains(t, out, "better than the model", "as good as the model")
	again, _ := linearModel(t, data, "--threads", "3", "--device", "cpu")
	equal(t, readText(t, filepath.Join(again, "model.safetensors")),
		readText(t, filepath.Join(model, "model.safetensors")))

	lines := `{"id":1,"text":"the film was wonderful"}` + "\n" + `{"id":2,"text":"a boring plot"}` + "\n"
	predictions := succeed(t, lines, "predict", "--model", model)
	got := decodeLines[prediction](t, predictions)
	if len(got) != 2 || got[0].Label != "good" || got[1].Label != "bad" || got[0].Probabilities[1] < 0.7 {
		t.Errorf("got predictions\n%swant good with a probability of at least 0.7, and bad", predictions)
	}
	equal(t, succeed(t, lines, "serve", "--model", model, "--log", "error"), predictions)
	request := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"method":"sequence/classify","params":{"text":"the film was wonderful"}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"sequence/embed","params":{"text":"the film"}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"method":"sequence/classify","params":{"text":"the film","explain":true}}` + "\n"
	contains(t, succeed(t, request, "serve", "--model", model, "--log", "error"), `"label":"good"`,
		"a linear model has no embeddings", `"explain":{"linear":{"output":`)
	explained := decodeLines[prediction](t, succeed(t, lines, "predict", "--model", model, "--explain"))
	for i, text := range []string{"the film was wonderful", "a boring plot"} {
		found := slices.ContainsFunc(explained[i].Explain.Linear.NGrams[:2], func(g sft.NGramExplanation) bool {
			read := strings.Fields(text)[g.Places[0][0]:g.Places[0][1]]
			return g.Contribution > 0 && g.Text == strings.Join(read, " ") &&
				(slices.Contains(read, "wonderful") || slices.Contains(read, "boring"))
		})
		if explained[i].Label != got[i].Label || !found {
			t.Errorf("%q: got %+v, want the label %v and a contribution of wonderful or boring", text, explained[i],
				got[i].Label)
		}
	}
	page := filepath.Join(t.TempDir(), "r.html")
	exits(t, exitOK, "", "report", "--out", page, model)
	contains(t, readText(t, page), "Linear models have no training curve", "accuracy 100.00%", "“wonderful” ",
		"background:rgb(var(--sampled) / 0.75)")
	notContains(t, readText(t, page), "<h2>Curves</h2>", "Each layer attends", "has not been evaluated yet")
	table := filepath.Join(t.TempDir(), "out.csv")
	succeed(t, "", "predict", "--model", model, "--input", writeText(t, filepath.Join(t.TempDir(), "in.csv"),
		"review\na boring plot\n"), "--text", "review", "--output", table)
	contains(t, readText(t, table), "bad")
	contains(t, succeed(t, "", "info", "--model", model), `"model_type": "linear"`, "linear model of n-grams", "features  ", "memory  ")
}

// TestLinearBaselines checks that training a linear model prints the warnings about the data and the
// baselines, and that train and eval suggest a command if a baseline is at least as good.
func TestLinearBaselines(t *testing.T) {
	rows := "text,label,split\n"
	for i := range 90 { // the label is independent of the text
		rows += fmt.Sprintf("word%d,%s,%s\n", i%5, []string{"a", "b", "b"}[i/5%3],
			[]string{"train", "val", "test"}[i/30])
	}
	rows += "word1,c,train\nword2,c,train\n"
	data := tableData(t, "t.csv", rows, "--text", "text", "--label", "label", "--split-column", "split")
	model, output := linearModel(t, data)
	contains(t, output, "warning: 1 of 3 classes has no row in test, so it does not measure it: c\n",
		"validation baselines: largest class (b) 66.67%, ", "\non the validation split the model (66.67%) is no "+
			"better than largest class (b) (66.67%); try a model with layers beside the linear model: sftseq train "+
			"custom --data "+data+" --out "+model+"-members\n")
	contains(t, succeed(t, "", "eval", "--model", model, "--data", data), "\nthe model (66.67%) is no better than "+
		"largest class (b) (66.67%); try a model with layers beside the linear model: sftseq train custom --data "+data)
}

// TestTrainLinearKinds checks linear models for multi-label classification, regression and pairs.
func TestTrainLinearKinds(t *testing.T) {
	labels := tableData(t, "t.csv", labelledRows(600), "--text", "sequence", "--label", "topics", "--label-separator",
		"|", "--tokenizer", "byte", "--split", "0.6,0.2,0.2")
	model, output := linearModel(t, labels)
	contains(t, output, "validation loss ", "n-grams of 1 to 6 bytes")
	report := decode[struct {
		MacroF1 float64 `json:"macro_f1"`
	}](t, succeed(t, "", "eval", "--model", model, "--data", labels, "--json"))
	if report.MacroF1 < 0.9 {
		t.Errorf("macro F1 %v, want at least 0.9", report.MacroF1)
	}
	contains(t, succeed(t, `{"text":"xxaxxxbxx"}`, "predict", "--model", model), `"labels":["a","b"]`)

	r := rand.New(rand.NewPCG(1, 1))
	var numbers, pairs strings.Builder
	numbers.WriteString("text,price\n")
	pairs.WriteString("left,right,side\n")
	for range 600 {
		n := r.IntN(5)
		fmt.Fprintf(&numbers, "w%d level%d w%d,%d\n", r.IntN(9), n, r.IntN(9), 100+10*n)
		sides := [2]string{fmt.Sprint("w", r.IntN(9)), fmt.Sprint("w", r.IntN(9))}
		side := r.IntN(2)
		sides[side] += " here"
		fmt.Fprintf(&pairs, "%s,%s,%d\n", sides[0], sides[1], side)
	}
	data := tableData(t, "n.csv", numbers.String(), "--text", "text", "--numbers", "price", "--tokenizer", "byte",
		"--split", "0.6,0.2,0.2")
	model, output = linearModel(t, data)
	contains(t, output, "validation loss ", "(penalty ")
	result := decode[struct {
		R2 float64 `json:"r2"`
	}](t, succeed(t, "", "eval", "--model", model, "--data", data, "--json"))
	if result.R2 < 0.95 {
		t.Errorf("R² %v, want at least 0.95", result.R2)
	}
	contains(t, succeed(t, `{"text":"w1 level4 w2"}`, "predict", "--model", model), `{"price":1`)

	data = tableData(t, "p.csv", pairs.String(), "--pair", "left,right", "--label", "side", "--tokenizer", "byte",
		"--split", "0.6,0.2,0.2")
	model, output = linearModel(t, data)
	contains(t, output, "validation accuracy 100.00%")
	contains(t, succeed(t, "", "eval", "--model", model, "--data", data), "accuracy  100.00%")
	contains(t, succeed(t, `{"text_a":"w1 here","text_b":"w1"}`, "predict", "--model", model), `"label":"0"`)
}

// TestTrainLinearPairs checks that pairs are classified by whether their texts share a rare word,
// although no single word predicts the class.
func TestTrainLinearPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var rows strings.Builder
	rows.WriteString("left,right,related\n")
	for i := range 900 {
		names := [2]string{fmt.Sprintf("X%x", r.Uint32()), fmt.Sprintf("X%x", r.Uint32())}
		if i%2 == 1 {
			names[1] = names[0]
		}
		fmt.Fprintf(&rows, "the film w%d %s,w%d a plot w%d of %s,%d\n", r.IntN(9), names[0], r.IntN(9), r.IntN(9),
			names[1], i%2)
	}
	data := tableData(t, "p.csv", rows.String(), "--pair", "left,right", "--label", "related", "--tokenizer", "byte",
		"--split", "0.6,0.2,0.2")
	model, output := linearModel(t, data)
	contains(t, output, "linear model of 540 rows: a comparison of 1080 texts (weight ",
		"validation accuracy 100.00%, loss ", "(n-grams ", ", comparison ")
	contains(t, succeed(t, "", "eval", "--model", model, "--data", data), "accuracy  100.00%")
	lines := `{"text_a":"the film Xab12 here","text_b":"a plot of Xab12"}` + "\n" +
		`{"text_a":"the film Xab12 here","text_b":"a plot of Xcd99"}` + "\n"
	predictions := succeed(t, lines, "predict", "--model", model)
	got := decodeLines[prediction](t, predictions)
	if len(got) != 2 || got[0].Label != "1" || got[1].Label != "0" {
		t.Errorf("got predictions\n%swant the labels 1 and 0", predictions)
	}
	equal(t, succeed(t, lines, "serve", "--model", model, "--log", "error"), predictions)
}

// TestTrainRetrieval checks that train retrieval trains a linear model unless --preset selects a model with
// layers. A run with layers can be resumed without --preset.
func TestTrainRetrieval(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(4, 2))
	for _, split := range []string{"train", "eval", "test"} {
		rows := 120
		if split == "train" {
			rows = 400
		}
		var text strings.Builder
		for i := range rows {
			names := [2]string{fmt.Sprintf("X%x", r.Uint32()), fmt.Sprintf("X%x", r.Uint32())}
			word := "has"
			switch {
			case i%10 == 1: // this word alone predicts the class, so that the n-grams contribute, too
				word = "cites"
			case i%2 == 1:
				names[1] = names[0]
			}
			fmt.Fprintf(&text, "%d\ta%d\tb%d\tthe paper %s %s w%d\tabout %s w%d\n", i%2, i, i, names[0], word,
				r.IntN(9), names[1], r.IntN(9))
		}
		writeText(t, filepath.Join(dir, "new_aan_pairs."+split+".tsv"), text.String())
	}
	data := filepath.Join(dir, "data")
	mustRunData(t, "convert", "retrieval", "--from", dir, "--to", data, "--no-baselines")
	task := []string{"train", "retrieval", "--data", data, "--out"}
	linear, layers, other := filepath.Join(dir, "linear"), filepath.Join(dir, "layers"), filepath.Join(dir, "other")
	contains(t, done(t, "", append(task, linear, "--epochs", "3")...), "a comparison of 800 texts",
		"repeat with: sftseq train custom --members linear --seed 1 --data "+data+" --epochs 3 --out "+linear+"-again")
	contains(t, succeed(t, "", "eval", "--model", linear, "--data", data, "--queries", "0"), "accuracy  9", "AUC  1.0000")
	weights := func(dir string) string { return readText(t, filepath.Join(dir, "model.safetensors")) }
	runCustom(t, data, filepath.Join(dir, "again"), "--members", "linear", "--epochs", "3")
	equal(t, weights(filepath.Join(dir, "again")), weights(linear))
	done(t, "", append(task, filepath.Join(dir, "five"), "--preset", "quick")...)
	if weights(filepath.Join(dir, "five")) == weights(linear) {
		t.Error("--epochs has no effect")
	}
	done(t, "", append(task, layers, "--preset", "paper", "--layers", "1", "--hidden", "8", "--steps", "2", "--stop-at",
		"1")...)
	contains(t, done(t, "", "train", "retrieval", "--out", layers, "--resume"), "(step 2 of 2)")
	refuse(t, exitUsage, "--layers does not apply to a linear model: omit the flag, or train a model with layers "+
		"(--preset paper)", "", append(task, other, "--layers", "2")...)
	refuse(t, exitUsage, "--resume: a linear model is trained in one go", "", append(task, linear, "--resume")...)
	refuse(t, exitUsage, "sftseq data convert retrieval --from", "", "train", "retrieval", "--out", other)
	refuse(t, exitError, "expected data of the task retrieval", "", "train", "retrieval", "--out", other, "--data",
		tableData(t, "reviews.csv", readText(t, proseTable(t, 60)), "--text", "review", "--label", "mood",
			"--tokenizer", "byte", "--split", "0.6,0.2,0.2"))
}

// TestTrainLinearRefuses checks that unsupported uses of a linear model are refused with an error that
// states the cause.
func TestTrainLinearRefuses(t *testing.T) {
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 60)), "--text", "review", "--label", "mood",
		"--tokenizer", "byte", "--split", "0.6,0.2,0.2")
	model, _ := linearModel(t, data)
	train := []string{"train", "custom", "--data", data, "--out", filepath.Join(t.TempDir(), "out")}
	refuseAll(t, exitUsage, train, []refusal{
		{`--members "linaer": expected one or more of linear,lexical,sft, without repeats`,
			[]string{"--members", "linaer"}},
		{"--hidden does not apply to a linear model: omit the flag, or train a model with layers " +
			"(--members lexical or sft)",
			[]string{"--members", "linear", "--hidden", "8"}},
		{"--resume: a linear model is trained in one go and has no checkpoint to continue from: omit the flag",
			[]string{"--members", "linear", "--resume"}},
		{"--seeds does not apply to a linear model: omit the flag, or train a model with layers " +
			"(--members lexical or sft)",
			[]string{"--members", "linear", "--seeds", "1,2"}},
		{"--device vulkan: expected cpu or auto, because a linear model runs on the CPU",
			[]string{"--members", "linear", "--device", "vulkan"}},
		{"--epochs 0: expected at least 1", []string{"--members", "linear", "--epochs", "0"}},
	})
	refuse(t, exitUsage, "--data is missing", "", "train", "custom", "--members", "linear")
	file := writeText(t, filepath.Join(t.TempDir(), "file"), "")
	for _, members := range []string{"linear", "linear,lexical"} {
		output, errs := exits(t, exitError, "", "train", "custom", "--members", members, "--data", data, "--out",
			filepath.Join(file, "out"))
		contains(t, errs, file+" is not a directory: choose another --out")
		notContains(t, output+errs, "linear model of") // found before training
	}
	refuse(t, exitError, "already contains a config.json, which a new run would replace: choose another --out", "",
		"train", "custom", "--members", "linear", "--data", data, "--out", model)
	refuse(t, exitUsage, "has no checkpoint to continue from: train another model, without the flag and with "+
		"another --out", "", "train", "custom", "--members", "linear", "--data", data, "--out", model, "--resume")
	refuse(t, exitError, "--resume: "+model+" contains a linear model, which is trained in one go and has no "+
		"checkpoint to continue from: choose another --out", "", "train", "custom", "--data", data, "--out", model,
		"--resume")
	refuse(t, exitError, "--init-from "+model+": a linear model has no layers to start from", "",
		append(train, "--init-from", model)...)
	refuse(t, exitUsage, "--device vulkan: expected cpu or auto, because a linear model runs on the CPU", "",
		"eval", "--model", model, "--data", data, "--device", "vulkan")
	const layers = ": expected a model with layers, found a linear model of n-grams: sftseq train custom " +
		"--members sft trains a model with layers\n"
	for want, args := range map[string][]string{
		"--queries: " + sft.ErrLinear.Error(): {"eval", "--model", model, "--data", data, "--queries", "3"},
		"sftseq: " + model + layers:           {"export", "onnx", "--output", "m.onnx", model},
		"--index: " + sft.ErrLinear.Error(): {"serve", "--model", model, "--index",
			filepath.Join(t.TempDir(), "i")},
		"--cluster: " + sft.ErrLinear.Error(): {"info", "--model", model, "--cluster", "4,10Gbit"},
		"q: " + model + layers:                {"grads", "--model", model, "--input", "-", "--output", "g"},
		"--config " + model + layers:          {"bench", "model", "--config", model},
		model + ": expected a run directory of sftseq train, with metrics.jsonl, found a linear model, whose " +
			"training has no curves (sftseq report shows its scores)": {"plot", model},
	} {
		refuse(t, exitError, want, "", args...)
	}
	_, errs := exits(t, exitError, `{"text":"a film"}`, "embed", "--model", model)
	contains(t, errs, sft.ErrLinear.Error())
	tags := tableData(t, "tags.csv", "words,tags\n"+strings.Repeat("a b,X O\n", 30), "--text", "words", "--tags",
		"tags", "--split", "0.6,0.2,0.2")
	refuse(t, exitError, "a linear model expects the task classification, retrieval, multi-label or regression, "+
		"found tagging (train with --members sft)",
		"", "train", "custom", "--members", "linear", "--data", tags, "--out", filepath.Join(t.TempDir(), "out"))
}
