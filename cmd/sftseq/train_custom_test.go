package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft/config"
)

// customData converts a small table of reviews to a data set, with additional flags of data
// convert.
func customData(t *testing.T, flags ...string) string {
	t.Helper()
	table := "review,mood\n"
	for i := range 60 {
		table += fmt.Sprintf("%d %s,%s\n", i, []string{"aab", "xyz"}[i%2], []string{"good", "bad"}[i%2])
	}
	return tableData(t, "moods.csv", table,
		append([]string{"--text", "review", "--split", "0.5,0.25,0.25"}, flags...)...)
}

// TestCustomDescribesTheRun checks the printed settings of a run with flags, and that unsuitable data
// cause an error without a description.
func TestCustomDescribesTheRun(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover; its baselines are slow")
	data := customData(t, "--label", "mood")
	flags := writeText(t, filepath.Join(t.TempDir(), "flags.json"), `{"k": 2, "feed-forward-dropout": 0.25}`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--epochs", "1"},
			"hidden 64, layers 2, k 16, convolutions 7, batch 16, epochs 1, dropout 0.2, schedule exponential\n"},
		{[]string{"--steps", "1", "--hidden", "8", "--batch", "4", "--config", flags},
			"hidden 8, layers 2, k 2, convolutions 7, batch 4, steps 1, dropout 0.25, schedule exponential\n"},
	} {
		status, _, errs := program(nil,
			append([]string{"train", "custom", "--members", "sft", "--data", data, "--out",
				filepath.Join(t.TempDir(), "run")},
				c.args...)...)
		if status != 0 || strings.Count(errs, ", half of them up to ") != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%q: status %d, expected %q:\n%s", c.args, status, c.want, errs)
		}
		equal(t, strings.Contains(errs, " 1 step\n"), slices.Contains(c.args, "--steps"), errs)
	}
	// Data that cannot be trained on cause an error and no description.
	for data, want := range map[string]string{
		customData(t): "has no labels (label_names in dataset.json)",
		customData(t, "--label", "mood", "--split", "0,0.5,0.5"): `the data set has no split "train", only val, test`,
	} {
		_, errs := exits(t, exitError, "", "train", "custom", "--members", "sft", "--data", data, "--out", t.TempDir())
		contains(t, errs, want)
		notContains(t, errs, "half of them")
	}
}

// TestRepeatCommand checks that the printed command trains the same model, even after the end of the
// run was changed several times.
func TestRepeatCommand(t *testing.T) {
	testenv.NoRace(t, "repeats runs of other tests")
	t.Run("schedule by epochs", func(t *testing.T) { repeatCommand(t, "--schedule", "step") })
	t.Run("default schedule", func(t *testing.T) { repeatCommand(t) })
	t.Run("schedule by the last step", func(t *testing.T) {
		repeatCommand(t, "--schedule", "cosine", "--final-rate", "0.1", "--lr", "0.01", "--warmup", "0")
	})
}

// repeatCommand resumes a run several times, mostly with another end. Whenever the run reaches its
// end, repeatCommand runs the printed command and compares the two runs.
func repeatCommand(t *testing.T, flags ...string) {
	data, dir := customData(t, "--label", "mood"), filepath.Join(t.TempDir(), "run")
	begin := []string{"train", "custom", "--members", "sft", "--data", data, "--out", dir,
		"--hidden", "8", "--batch", "8",
		"--log-every", "1", "--steps", "2"}
	begin = append(begin, flags...)
	for _, c := range []struct {
		args []string
		end  string
	}{
		{begin, " --steps 2"},
		{[]string{"train", "custom", "--members", "sft", "--out", dir, "--resume", "--steps", "3"}, " --steps 3"},
		{[]string{"train", "custom", "--members", "sft", "--out", dir, "--resume", "--steps=5"}, " --steps 5"},
		{[]string{"train", "custom", "--members", "sft", "--out", dir, "--resume"}, " --steps 5"},
		{[]string{"train", "custom", "--members", "sft", "--out", dir, "--resume", "--epochs", "2",
			"--stop-at", "7"}, ""}, // prints the command to resume instead
		{[]string{"train", "custom", "--members", "sft", "--out", dir, "--resume", "--steps",
			"9", "--stop-at", "8"}, ""},
		{[]string{"train", "custom", "--members", "sft", "--out", dir, "--resume", "--steps", "10",
			"--epochs", "1"}, " --steps 10"}, // --steps takes precedence
		{[]string{"train", "custom", "--members", "sft", "--out", dir, "--resume", "--epochs", "3"}, " --epochs 3"},
	} {
		status, out, errs := program(nil, c.args...)
		if c.end == "" {
			prefix := "stopped at step " + c.args[len(c.args)-1] + " and stored the checkpoint; continue with:\n" +
				"  sftseq train custom --out "
			if status != 0 || !strings.HasPrefix(out, prefix) || strings.Contains(out, "repeat") {
				t.Fatalf("%q: got status %d, output %q; want status 0, prefix %q, no \"repeat\"\n%s", c.args, status,
					out, prefix, errs)
			}
			continue
		}
		_, command, _ := strings.Cut(out, "repeat with: sftseq ")
		command, _, _ = strings.Cut(command, "\n")
		if status != 0 || !strings.HasSuffix(command, c.end) {
			t.Fatalf("%q: got status %d, command %q; want status 0, suffix %q\n%s\n%s", c.args, status, command, c.end,
				out, errs)
		}
		for again := range strings.SplitSeq(command, " && sftseq ") {
			equal(t, strings.Count(again, "--steps")+strings.Count(again, "--epochs"), 1, again)
			done(t, "", strings.Fields(again)...)
		}
		compareRuns(t, dir, dir+"-again")
		must.Succeed(t, os.RemoveAll(dir+"-again"))
	}
}

// TestSamplerNoise checks that train custom configures models to sample randomly at inference, too
// (sampler_noise always), unless --sampler-noise train is set.
func TestSamplerNoise(t *testing.T) {
	data := customData(t, "--label", "mood")
	for _, c := range []struct {
		flags []string
		want  string
	}{{nil, "always"}, {[]string{"--sampler-noise", "train"}, "train"}} {
		dir := filepath.Join(t.TempDir(), "run")
		args := append([]string{"train", "custom", "--members", "sft", "--data", data, "--out", dir, "--steps", "1",
			"--hidden", "8"}, c.flags...)
		done(t, "", args...)
		cfg, err := config.Read(filepath.Join(dir, "config.json"))
		if err != nil || cfg.SamplerNoise != c.want {
			t.Errorf("%q: got configuration %+v, error %v, want sampler_noise %s", c.flags, cfg, err, c.want)
		}
	}
}

// TestModelFlags checks that invalid values of model flags are errors that name the flag, and that no
// run directory is created.
func TestModelFlags(t *testing.T) {
	data, out := customData(t, "--label", "mood"), filepath.Join(t.TempDir(), "run")
	for _, c := range []struct{ flag, value, want string }{
		{"--hidden", "17", "--hidden 17: expected a multiple of"},
		{"-k", "-1", "-k -1: expected 0 to"},
		{"--layers", "-1", "--layers -1: expected 1 to"},
		{"--max-length", "0", "--max-length 0: expected 1 to"},
		{"--input-window", "-1", `--input-window "-1": expected N or N:tail=M`},
		{"--input-window", "5:tail=6", `--input-window "5:tail=6": expected N or N:tail=M with 1 ≤ M ≤ N`},
		{"--drop-token", "1", "--drop-token 1: expected 0 ≤ rate < 1"},
		{"--norm", "x", `--norm "x": expected pre, post`},
		{"--sampler-noise", "x", `--sampler-noise "x": expected train, always`},
		{"--point-scale", "0.6:1.4", "--point-scale 0.6:1.4: expected data with the features x, y and z: omit the flag"},
	} {
		refuse(t, exitUsage, c.want, "", "train", "custom", "--members", "sft", "--data", data,
			"--out", out, c.flag, c.value)
	}
	noFile(t, out)
}

// TestCustomCalibrates checks that train custom saves a temperature, and that predict and eval divide
// the logits by it. Without a temperature in config.json, they do not scale the logits.
func TestCustomCalibrates(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover")
	data, dir := customData(t, "--label", "mood"), filepath.Join(t.TempDir(), "run")
	output := printed(t, "", "train", "custom", "--members", "sft", "--data", data, "--out", dir, "--steps", "3",
		"--hidden", "8", "--batch", "4")
	contains(t, output, ", the lowest loss within one standard error of the best, ")
	path := filepath.Join(dir, "config.json")
	cfg := must.Get(config.Read(path))(t)
	if cfg.Temperature == 0 {
		t.Fatal("config.json has no temperature")
	}
	in := `{"id":"a","text":"1 aab"}` + "\n"
	logits := func() []float64 {
		var out struct{ Logits, Probabilities []float64 }
		must.Succeed(t, json.Unmarshal([]byte(succeed(t, in, "predict", "--model", dir)), &out))
		if p := 1 / (1 + math.Exp(out.Logits[1]-out.Logits[0])); math.Abs(p-out.Probabilities[0]) > 1e-6 {
			t.Errorf("got probabilities %v, want the softmax of the logits %v", out.Probabilities, out.Logits)
		}
		return out.Logits
	}
	loss := func() (r struct{ Loss float64 }) {
		must.Succeed(t, json.Unmarshal([]byte(succeed(t, "", "eval", "--model", dir, "--data", data,
			"--split", "val", "--json")), &r))
		return r
	}
	calibrated, calibratedLoss := logits(), loss().Loss
	temperature := cfg.Temperature
	cfg.Temperature = 0
	must.Succeed(t, cfg.Write(path))
	plain, plainLoss := logits(), loss().Loss
	for i, z := range plain {
		if math.Abs(calibrated[i]*temperature-z) > 1e-5*math.Abs(z) {
			t.Errorf("got logit %g with temperature %g, want %g divided by the temperature", calibrated[i],
				temperature, z)
		}
	}
	if !(calibratedLoss < plainLoss) {
		t.Errorf("got loss %g with the temperature, want less than %g without it", calibratedLoss, plainLoss)
	}
}

// TestBaselineIsBetter checks that the last line of train and of eval names a baseline that is
// better than the model, and that the suggested commands run.
func TestBaselineIsBetter(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover")
	data, dir := customData(t, "--label", "mood"), filepath.Join(t.TempDir(), "run")
	train := []string{"train", "custom", "--members", "sft", "--data", data, "--hidden", "8", "--input-window", "3",
		"--seed", "7", "--device", "cpu"}
	last := func(text string) string {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		return lines[len(lines)-1]
	}
	single := last(printed(t, "", append(train, "--out", dir+"-single", "--steps", "1")...))
	const longer = "; the last evaluation was the best: train longer first, for example without --steps: sftseq " +
		"train custom "
	contains(t, single, " is better than the model (", longer)
	contains(t, last(succeed(t, "", "eval", "--model", dir+"-single", "--data", data, "--split", "val")), longer)
	line := last(printed(t, "", append(train, "--out", dir, "--epochs", "1")...))
	contains(t, line, "on the validation split word n-grams, logistic regression (100.00%) is better than the model (",
		"; try: sftseq train custom ")
	_, commands, _ := strings.Cut(line, "; try: ")
	for i, command := range strings.Split(commands, "; or: ") {
		words := strings.Fields(command)
		equal(t, words[0], "sftseq")
		contains(t, command, []string{" --input-window 6", " --hidden 16 --layers 3 --k 32", " --seeds 1,2,3"}[i],
			" --epochs 1")
		done(t, "", words[1:]...)
	}
	contains(t, last(succeed(t, "", "eval", "--model", dir, "--data", data, "--split", "val")),
		"word n-grams, logistic regression (100.00%) is better than the model (", "; try: sftseq train custom ")
	better := filepath.Join(filepath.Dir(dir), "better")
	output := printed(t, "", "train", "custom", "--members", "sft", "--data", data, "--out", better, "--lr",
		"0.01", "--epochs", "30")
	notContains(t, output, "is better than the model")
	contains(t, last(output), "repeat with: ")
}
