package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// proseData converts reviews to a data set. One word of each review determines its class.
func proseData(t *testing.T, rows int) string {
	t.Helper()
	return tableData(t, "reviews.csv", readText(t, proseTable(t, rows)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2")
}

// TestLayersTime checks that a slow linear model leaves half of --time to the models with layers.
func TestLayersTime(t *testing.T) {
	for _, c := range []struct{ elapsed, want time.Duration }{
		{0, 10 * time.Minute},
		{3 * time.Minute, 7 * time.Minute},
		{6 * time.Minute, 5 * time.Minute},
		{time.Hour, 5 * time.Minute},
	} {
		if got := layersTime(10*time.Minute, c.elapsed); got != c.want {
			t.Errorf("after %v: got %v for the models with layers, want %v", c.elapsed, got, c.want)
		}
	}
}

// sameFusion checks that two runs have the same models, weights and metrics.
func sameFusion(t *testing.T, a, b string, members ...string) {
	t.Helper()
	for _, name := range members {
		compareRuns(t, filepath.Join(a, name), filepath.Join(b, name))
	}
	for _, name := range []string{"config.json", "linear/model.safetensors"} {
		equal(t, readText(t, filepath.Join(a, name)), readText(t, filepath.Join(b, name)), name)
	}
}

// TestTrainCustomMembers checks that without --members a run trains a linear model and a transformer
// with --time, and then fits the weights of the sum. The run is stopped and resumed. The printed
// command repeats it and writes the same files.
func TestTrainCustomMembers(t *testing.T) {
	data, out := proseData(t, 900), filepath.Join(t.TempDir(), "run")
	flags := []string{"--device", "cpu", "--hidden", "8", "--layers", "1", "--time", "3s", "--batch", "1",
		"--seed", "1"}
	runTrain := func(more ...string) string {
		t.Helper()
		return done(t, "", slices.Concat([]string{"train", "custom", "--data", data}, flags, more)...)
	}
	output := runTrain("--out", out, "--stop-at", "5") // a slow machine trains the minimum, 10 steps
	contains(t, output, "linear: validation accuracy 100.00%", "lexical: ", "stopped at step 5",
		"continue with:\n  sftseq train custom --members linear,lexical --time 3s ")
	noFile(t, filepath.Join(out, "config.json"))
	output = done(t, "", "train", "custom", "--out", out, "--resume")
	contains(t, output, "lexical: validation accuracy ", ", selected by scaled-loss ",
		"members on the validation split (180 rows)", "\nvalidation baselines: largest class (")
	notContains(t, output, "linear: validation accuracy")
	s := must.Get(train.LoadCheckpoint(filepath.Join(out, "lexical")))(t).Settings
	if s.Select != train.ScaledLoss || s.Patience != 0 || s.EvalEvery < minEvalEvery {
		t.Errorf("got settings %+v, want the selection %s, the patience 0 and at least %d steps between evaluations", s,
			train.ScaledLoss, minEvalEvery)
	}
	command := regexp.MustCompile(`repeat with: sftseq (.*)`).FindStringSubmatch(output)
	if command == nil {
		t.Fatalf("no command in %s", output)
	}
	contains(t, command[1], "train custom --preset quick --seed 1 --members linear,lexical --data "+data,
		"--out "+out+"-again")
	if !regexp.MustCompile(` --(steps|epochs) \d+`).MatchString(command[1]) {
		t.Errorf("no --steps or --epochs in %s", command[1])
	}
	done(t, "", strings.Fields(strings.ReplaceAll(command[1], "'", ""))...)
	sameFusion(t, out, out+"-again", "lexical")
}

// TestTrainCustomAlone checks three cases that write a single model into --out itself: data that
// linear models do not support, a resumed run of one model, and --members sft. It also checks --time for
// such a model, and errors for invalid flags.
func TestTrainCustomAlone(t *testing.T) {
	rows := "words,tags\n"
	for i := range 30 {
		rows += fmt.Sprintf("a b%d,X O\n", i)
	}
	tags := tableData(t, "tags.csv", rows, "--text", "words", "--tags", "tags", "--split", "0.6,0.2,0.2")
	small := []string{"--steps", "3", "--hidden", "8", "--layers", "1", "--device", "cpu"}
	out := filepath.Join(t.TempDir(), "tags")
	done(t, "", append([]string{"train", "custom", "--data", tags, "--out", out}, small...)...)
	must.Get(train.LoadCheckpoint(out))(t)

	data, out := proseData(t, 100), filepath.Join(t.TempDir(), "sft")
	output := runCustom(t, data, out, append(small, "--stop-at", "1")...)
	contains(t, output, "sftseq train custom --out "+out+" --resume")
	output = done(t, "", "train", "custom", "--out", out, "--resume")
	contains(t, output, "repeat with: sftseq train custom --preset quick --seed 1 --members sft --data "+data,
		"validation baselines")
	refuse(t, exitError, out+" already contains a run: continue it with --resume, or choose another --out", "",
		"train", "custom",
		"--data", data, "--out", out)
	timed, rows := []string{"--hidden", "8", "--layers", "1", "--device", "cpu", "--time", "2s", "--batch", "1"},
		proseData(t, 900)
	output = runCustom(t, rows, filepath.Join(t.TempDir(), "timed"), timed...)
	contains(t, output, " steps of about ", " fit into the remaining ", "repeat with: ", " --steps ")
	output = runCustom(t, rows, filepath.Join(t.TempDir(), "stopped"), append(timed, "--stop-at", "1")...)
	contains(t, output, " steps of about ") // --stop-at does not end the measurement
	refuseAll(t, exitUsage, []string{"train", "custom", "--data", data, "--out", filepath.Join(t.TempDir(), "no")},
		[]refusal{
			{"--time 0s: expected more than 0, such as 5m", []string{"--time", "0s"}},
			{"--time -5m: expected more than 0", []string{"--time", "-5m"}},
			{"--time -2h: expected more than 0", []string{"--time", "-2h"}},
			{"--time -10m: expected more than 0", []string{"--time", "-10m"}},
			{`--select "r2": expected a metric of task classification, one of accuracy (`, []string{"--select", "r2"}},
			{"--time excludes --steps and --epochs", []string{"--time", "1m", "--steps", "3"}},
			{"--time excludes --steps and --epochs", []string{"--time", "1m", "--epochs", "3", "--members",
				"sft"}},
			{`--members "sft,sft": expected one or more of`, []string{"--members", "sft,sft"}},
		})
}

// TestTrainFusedSeeds checks that --seeds trains one linear model and a transformer for each seed.
// The transformers divide their prior weight equally. When --resume starts a missing seed, the seed gets
// the number of steps of the other seeds.
func TestTrainFusedSeeds(t *testing.T) {
	data, out := proseData(t, 100), filepath.Join(t.TempDir(), "run")
	args := []string{"train", "custom", "--data", data, "--out", out, "--hidden", "8", "--layers", "1", "--device",
		"cpu", "--time", "4s", "--seeds", "1,2", "--batch", "1"}
	done(t, "", args...)
	f := must.Get(sft.ReadFusion(out))(t)
	equal(t, fmt.Sprint(f.Members), "[linear lexical-1 lexical-2]")
	for i, want := range []float64{0.6, 0.15, 0.15} { // too few rows to fit weights: the prior is kept
		if math.Abs(f.Weights[i]-want) > 1e-12 {
			t.Errorf("got weights %v, want weight %d to be %v, the prior", f.Weights, i, want)
		}
	}
	settings := func(name string) string {
		s := must.Get(train.LoadCheckpoint(filepath.Join(out, name)))(t).Settings
		s.Seed = 0
		return fmt.Sprintf("%+v", s)
	}
	want := settings("lexical-2")
	equal(t, settings("lexical-1"), want)
	must.Succeed(t, os.RemoveAll(filepath.Join(out, "lexical-2")))
	done(t, "", append(args, "--resume")...)
	equal(t, settings("lexical-2"), want)
	lines := `{"text":"a wonderful film"}` + "\n"
	predictions, _ := exits(t, exitOK, lines, "predict", "--model", out, "--device", "cpu")
	contains(t, predictions, `"label":"`)
}

// TestKillsOfFusions kills runs of several members at random moments and resumes them. The models,
// weights and metrics equal those of an uninterrupted run.
func TestKillsOfFusions(t *testing.T) {
	program := built(t)
	data := proseData(t, 300)
	whole, resumed := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "resumed")
	flags := func(out string, more ...string) []string {
		return append([]string{"train", "custom", "--data", data, "--out", out, "--steps", "60", "--hidden", "8",
			"--layers", "1", "--save-every", "1ms", "--seeds", "1,2"}, more...)
	}
	duration := timed(t, program, flags(whole)...)
	k, runs := newKiller(t, 7), 0
	next := func(more ...string) []string {
		args := flags(resumed, more...)
		if entries, err := os.ReadDir(resumed); err == nil && len(entries) > 0 {
			args = append(args, "--resume")
		}
		return args
	}
	for try := 0; k.wantsMore(t); try++ {
		if k.run(t, duration*2/3, program, next("--threads", []string{"1", "2", "3"}[try%3])...) {
			runs++
			sameFusion(t, whole, resumed, "lexical-1", "lexical-2")
			must.Succeed(t, os.RemoveAll(resumed))
		}
	}
	timed(t, program, next()...)
	sameFusion(t, whole, resumed, "lexical-1", "lexical-2")
	t.Logf("%d runs equal the uninterrupted run", runs+1)
}

// TestResumeBeforeCheckpoint resumes a run that was killed after a member's folders were created and before
// its first checkpoint was written. The fusion equals that of an uninterrupted run.
func TestResumeBeforeCheckpoint(t *testing.T) {
	data, whole, out := proseData(t, 100), filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "run")
	flags := []string{"train", "custom", "--data", data, "--hidden", "8", "--layers", "1", "--device", "cpu", "--seed",
		"1", "--steps", "4", "--out"}
	for _, dir := range []string{whole, out} {
		done(t, "", append(flags, dir)...)
	}
	must.Succeed(t, errors.Join(os.Remove(filepath.Join(out, "config.json")),
		os.RemoveAll(filepath.Join(out, lexicalMember)),
		os.MkdirAll(filepath.Join(out, lexicalMember, "last"), 0o777)))
	done(t, "", append(flags, out, "--resume")...)
	sameFusion(t, whole, out, lexicalMember)
}

// TestPlanSteps checks that the planned steps and their evaluations fit into the time, and that one
// more step does not.
func TestPlanSteps(t *testing.T) {
	m := &seq.Manifest{Task: seq.Classification, Splits: map[string]seq.SplitInfo{"train": {Rows: 20000},
		"val": {Rows: 2000}}}
	task := func(steps int) *lra.Task { return lra.CustomRun(m, lra.RunFlags{Batch: 16, Steps: steps}) }
	p := &lengthPlan{task: task, rows: 20000, validationRows: 2000,
		times: stepTimes{step: 10 * time.Millisecond, evaluation: time.Second}}
	for within, want := range map[time.Duration]int{time.Second: minSteps, time.Hour: 50000,
		100 * time.Second: 8500} {
		got := p.maxSteps(50000, within)
		if got != want {
			t.Errorf("got %d steps in %v, want %d", got, within, want)
		}
		if got > minSteps && p.timeOf(got) > within || got < 50000 && p.timeOf(got+1) <= within {
			t.Errorf("got %d steps, which take %v, want the most steps within %v", got, p.timeOf(got), within)
		}
	}
	equal(t, p.maxSteps(4, time.Second), 4)
}

// TestStepTimer checks that the time per token excludes the first step, and that the timer stops
// the run after enough measured steps.
func TestStepTimer(t *testing.T) {
	stopped := 0
	w := &stepTimer{duration: time.Hour, maxSteps: 3, stop: func() { stopped++ }}
	state := func(tokens int) train.State {
		s := train.State{}
		s.Interval.Tokens = tokens
		return s
	}
	w.observe(state(1000))
	if w.perToken() != 0 {
		t.Error("a time per token was measured in the first step")
	}
	w.start = w.start.Add(-time.Second)
	w.observe(train.StepReport{Tokens: 1500})
	w.observe(state(500))
	if p := w.perToken(); stopped != 1 || p < 1e6 || p > 2e6 {
		t.Errorf("got %v ns per token and %d stops, want 1e6 to 2e6 ns and 1 stop", p, stopped)
	}
}

// TestDefaultSeeds checks that few rows of words get three lexical members with equal weights, unless
// --seed is given, and that the printed commands have these seeds. A stopped and resumed run writes
// the same files.
func TestDefaultSeeds(t *testing.T) {
	data, out := proseData(t, 600), filepath.Join(t.TempDir(), "run")
	flags := []string{"train", "custom", "--data", data, "--device", "cpu", "--hidden", "8", "--layers", "1",
		"--steps", "20"}
	output := done(t, "", slices.Concat(flags, []string{"--out", out, "--stop-at", "5"})...)
	contains(t, output, " --seeds 1,2,3 ")
	output = done(t, "", slices.Concat(flags, []string{"--out", out, "--resume"})...)
	contains(t, output, "lexical-3: validation accuracy ", " --seeds 1,2,3 ")
	f := must.Get(sft.ReadFusion(out))(t)
	equal(t, fmt.Sprint(f.Members), "[linear lexical-1 lexical-2 lexical-3]")
	if f.Weights[1] != f.Weights[2] || f.Weights[1] != f.Weights[3] {
		t.Errorf("weights %v, want equal weights of the lexical members", f.Weights)
	}
	whole := filepath.Join(t.TempDir(), "whole")
	done(t, "", slices.Concat(flags, []string{"--out", whole})...)
	sameFusion(t, whole, out, "lexical-1", "lexical-2", "lexical-3")
	single := filepath.Join(t.TempDir(), "single")
	done(t, "", slices.Concat(flags, []string{"--out", single, "--seed", "2", "--stop-at", "5"})...)
	done(t, "", "train", "custom", "--out", single, "--resume")
	equal(t, fmt.Sprint(must.Get(sft.ReadFusion(single))(t).Members), "[linear lexical]")
	bytes := tableData(t, "reviews.csv", readText(t, proseTable(t, 60)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2", "--tokenizer", "byte")
	output = done(t, "", "train", "custom", "--data", bytes, "--device", "cpu", "--hidden", "8", "--layers", "1",
		"--steps", "20", "--stop-at", "5", "--out", filepath.Join(t.TempDir(), "bytes"))
	contains(t, output, "stopped at step 5")
	notContains(t, output, "--seeds")
}

// TestLexicalFlags checks that among lexical models only models of bytes have attention, and that
// training on many rows takes one epoch.
func TestLexicalFlags(t *testing.T) {
	for _, c := range []struct {
		tokenizer         string
		rows              int64
		k, epochs, ngrams string
	}{{"words", 7999, "0", "3", "tokens:1-2:2^18"}, {"words", 8000, "0", "1", "tokens:1-2:2^18"},
		{"hf", 8000, "0", "1", "tokens:1-2:2^18"}, {"byte", 7999, "16", "3", "bytes:3-6+2:2^20"},
		{"byte", 8000, "16", "1", "bytes:3-6+2:2^20"}} {
		flags := map[string]string{}
		for _, f := range lexicalFlags(&seq.Manifest{Tokenizer: json.RawMessage(`{"type":"` + c.tokenizer + `"}`),
			Splits: map[string]seq.SplitInfo{"train": {Rows: c.rows}}}) {
			flags[f[0]] = f[1]
		}
		equal(t, flags["k"], c.k, fmt.Sprintf("%+v", c))
		equal(t, flags["epochs"], c.epochs, fmt.Sprintf("%+v", c))
		equal(t, flags["ngrams"], c.ngrams, fmt.Sprintf("%+v", c))
		_, hasPatience := flags["patience"]
		equal(t, hasPatience, c.epochs == lexicalEpochs, fmt.Sprintf("%+v", c))
	}
}

// TestLexicalSeeds checks that many rows, many tokens and bytes get a single lexical member.
func TestLexicalSeeds(t *testing.T) {
	for _, c := range []struct {
		tokenizer string
		rows      int64
		length    float64
		want      string
	}{{"words", 7999, 100, "1,2,3"}, {"words", 8000, 100, ""}, {"words", 2000, 800, ""}, {"hf", 2000, 750, "1,2,3"},
		{"byte", 2000, 100, ""}} {
		m := &seq.Manifest{Tokenizer: json.RawMessage(`{"type":"` + c.tokenizer + `"}`),
			Splits: map[string]seq.SplitInfo{
				"train": {Rows: c.rows, Lengths: seq.Quantiles{Mean: c.length}}}}
		equal(t, lexicalSeeds(m), c.want, fmt.Sprintf("%+v", c))
	}
}

// TestDefaultMembers checks that the default members are a linear and a lexical model for text, and a
// linear model and a transformer without n-grams for other tokens.
func TestDefaultMembers(t *testing.T) {
	for tokenizer, want := range map[string]string{"words": "linear,lexical", "byte": "linear,lexical",
		"hf": "linear,lexical", "dna": "linear,sft", "mulaw": "linear,sft", "ids": "linear,sft"} {
		m := &seq.Manifest{Tokenizer: json.RawMessage(`{"type":"` + tokenizer + `"}`)}
		var names []string
		for _, k := range memberKinds {
			if k.isDefault(m) {
				names = append(names, k.name)
			}
		}
		equal(t, strings.Join(names, ","), want)
	}
}
