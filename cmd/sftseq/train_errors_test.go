package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/train"
)

// TestTrainRefuses checks that an invalid command line is an error that names the cause, leaves no
// file of the data set open and does not change the checkpoint of an existing run. Flags that repeat the settings of a
// resumed run are accepted.
func TestTrainRefuses(t *testing.T) {
	data, runs := tinyData(t), t.TempDir()
	trained := filepath.Join(runs, "done")
	tiny := []string{"train", "listops", "--data", data, "--steps", "2", "--batch", "4", "--hidden", "8", "--k", "4",
		"--schedule", "step", "--out"}
	done(t, "", append(tiny, trained)...)
	checkpoint := filepath.Join(trained, "last", "checkpoint.safetensors")
	before := readText(t, checkpoint)
	foreign := filepath.Join(runs, "foreign")
	must.Succeed(t, os.Mkdir(foreign, 0o777))
	writeText(t, filepath.Join(foreign, "config.json"), "{}")
	fresh, empty := filepath.Join(runs, "fresh"), t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{append(tiny, trained), 1, "already contains a run"},
		{append(tiny, foreign), 1, "already contains a config.json, which a new run would replace"},
		{append(tiny, fresh, "--resume"), 1,
			"--resume: " + fresh + " does not exist: expected the directory of a run (existing runs: " + trained +
				"); omit --resume to start a new run in " + fresh},
		{append(tiny, empty, "--resume"), 1,
			empty + " contains no run of this command: expected the file last/checkpoint.safetensors, found none; " +
				"omit --resume to start a new run there"},
		{append(tiny, runs, "--resume"), 1, "expected the file last/checkpoint.safetensors, found a run of several " +
			"models (existing runs: " + trained + "); resume it with the command that started it"},
		{append(tiny, empty, "--resume", "--seeds", "1,2"), 1,
			empty + " contains no run of this command: expected a folder of a seed, such as seed-1, found none; omit"},
		{append(tiny, trained, "--resume", "--k", "5"), 1,
			"--k 5: the run was started with other settings (num_sampled_tokens was 4)"},
		{append(tiny, trained, "--resume", "--seed", "9"), 1,
			"--seed 9: the run was started with other settings (seed was 1), and a resumed run cannot change them: " +
				"omit the flag, or start another run with another --out"},
		{append(tiny, trained, "--resume", "--select", "loss"), 1,
			"--select loss: the run was started with other settings ("},
		{append(tiny, trained, "--resume", "--select", "accuracy"), 0, "repeat with"},
		{append(tiny, trained, "--resume", "--schedule", "step"), 0, "repeat with"},
		{append(tiny, trained, "--resume", "--schedule", "linear"), 1,
			"--schedule linear: the run was started with other settings (decay_rate was 0.9, schedule was not set"},
		{append(tiny, fresh, "--schedule", "cosin"), 2, `--schedule "cosin": expected one of step, cosine, linear`},
		{append(tiny, fresh, "--schedule", "cosine", "--step-size", "3"), 2,
			"step-size 3: expected none: the schedule is cosine"},
		{append(tiny, fresh, "--final-rate", "0.1"), 2, "final-rate 0.1: expected none: the schedule is step"},
		{append(tiny, trained, "--resume", "--embedding-init", "normal"), 0, "repeat with"},
		{append(tiny, trained, "--resume", "--embedding-init", "fourier"), 1,
			"--embedding-init fourier: the run was started with other settings ("},
		{append(tiny, fresh, "--embedding-init", "ones"), 2,
			`--embedding-init "ones": expected one of normal, fourier`},
		{append(tiny, fresh, "--init-from", trained, "--embedding-init", "fourier"), 2,
			"--embedding-init and --init-from exclude each other"},
		{append(tiny, fresh, "--token-deletion", "1"), 2, "token-deletion 1: expected 0 ≤ rate < 1"},
		{append(tiny, fresh, "--schedule", "linear", "--final-rate", "-1"), 2,
			"final-rate -1: expected 0 ≤ rate ≤ 1"},
		{append(tiny, fresh, "--stop-at", "0"), 2, "--stop-at 0: expected a step from 1"},
		{append(tiny, trained, "--resume", "--stop-at", "1"), 2, "--stop-at 1: expected a step after "},
		{append(tiny, fresh, "--seeds", "1,2", "--stop-at", "1"), 2, "--stop-at and --seeds exclude each other"},
		{append(tiny, fresh, "--select", "luck"), 2,
			`--select "luck": expected one of accuracy, loss, macro-f1, `},
		{append(tiny, fresh, "--select", "mae"), 2,
			`--select "mae": expected a metric of task classification, one of accuracy (`},
		{append(tiny, fresh, "--save-every", "-5m"), 2, "--save-every -5m: expected 0s (after each step) or more"},
		{append(tiny, fresh, "--config", writeText(t, filepath.Join(runs, "a.json"), `{"bach": 3}`)),
			1, `a.json: unknown flag "bach". Did you mean --batch?`},
		{append(tiny, fresh, "--seeds", "1,x"), 2, `--seeds "1,x": expected numbers separated by commas, found "x"`},
		{append(tiny, fresh, "--seeds", "1,2,01"), 2, `--seeds "1,2,01": expected different numbers, found 1 twice`},
		{append(tiny, fresh, "--lr", "-1"), 2, "lr -1"},
		{[]string{"train", "listops", "--data", data, "--out", fresh, "--epochs", "-3"}, 2,
			"--epochs -3: expected at least 1"},
		{append(tiny, fresh, "--epochs", "3"), 2, "--steps and --epochs exclude each other; see sftseq train listops"},
		{append(tiny, fresh, "--device", "tpu"), 2, "tpu"},
		{append(tiny, fresh, "--memory", "lots"), 2, "--memory"},
		{append(tiny, fresh, "--memory", "1MiB"), 1, "needs"},
		{append(tiny, fresh, "--heads", "3"), 2, "--heads 3: expected a divisor of --hidden, 8"},
		{append(tiny, fresh, "--max-length", "12"), 1,
			"the model accepts at most 12 (max_position_embeddings): accept it with --max-length "},
		{append(tiny, fresh, "--stages", "5:4"), 1, "at most 4 tokens"},
		{append(tiny, fresh, "--stages", "5:first1000000"), 1,
			"stage 1 trains on 1000000 rows, but the training data has only"},
		{append(tiny, fresh, "--stages", "5:next4"), 2, `--stages "5:next4": expected STEPS:LENGTH, STEPS:firstROWS or`},
		{append(tiny, fresh, "--stages", "5:last0"), 2, `--stages "5:last0": expected STEPS:LENGTH, STEPS:firstROWS or`},
		{[]string{"train", "listops", "--resume", trained}, 2, "--resume has no value: --out is the directory of the run"},
		{append(tiny, fresh, "--embedding-init", "codebook"), 1, "found the tokenizer listops"},
		{append(tiny, fresh, "more"), 2,
			`expected flags only, found "more": pass the input with --data; see sftseq train listops --help`},
		{[]string{"train", "listop"}, 2, "listop"},
	} {
		out, errs := exits(t, c.code, "", c.args...)
		contains(t, out+errs, c.want)
		if open := openFiles(data); len(open) > 0 {
			t.Errorf("%q: %q are left open", c.args, open)
		}
	}
	equal(t, readText(t, checkpoint), before)
}

// TestConfigErrors checks that an error about a --config file names the file and what was found in it, with the
// flag of an invalid value or the line of malformed JSON.
func TestConfigErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	const object = `expected one JSON object of flags, such as {"batch": 32}, found `
	for text, want := range map[string]string{
		`{"lr": null}`:             ": lr: expected a string, a number, true or false, found null\n",
		`{"lr": {"a": 1}}`:         ": lr: expected a string, a number, true or false, found an object\n",
		`{"lr": [1, 2]}`:           ": lr: expected a string, a number, true or false, found a list\n",
		`{"lr": "abc"}`:            `: lr: expected a number, found "abc"` + "\n",
		"{\"lr\": 1,\n \"k\" 3}\n": ":2: " + object + "malformed JSON: invalid character '3' after object key\n",
		"{\"lr\": 1,\n":            ":2: " + object + "malformed JSON: unexpected EOF\n",
		"{}\n\n{}":                 ":3: " + object + "text after it\n",
		" \n":                      ": " + object + "an empty file\n",
		"[1]":                      ": " + object + "a list\n",
		"null":                     ": " + object + "null\n",
	} {
		refuse(t, exitError, "sftseq: --config "+writeText(t, path, text)+want, "", "train", "custom", "--config", path)
	}
	refuse(t, exitError, "--config "+filepath.Dir(path)+": expected a regular file, found a directory", "", "train",
		"custom", "--config", filepath.Dir(path))
}

// openFiles returns the files in dir that this process has open; nil on systems without /proc.
func openFiles(dir string) (open []string) {
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, l := range links {
		if path, err := os.Readlink(l); err == nil && strings.HasPrefix(path, dir) {
			open = append(open, path)
		}
	}
	return open
}

// TestTrainFlags checks that a configuration file sets flags, that the command line overrides it, that a
// run can be extended, and that plot draws its curves.
func TestTrainFlags(t *testing.T) {
	dir := t.TempDir()
	out, figure := filepath.Join(dir, "run"), filepath.Join(dir, "figures", "curve.svg")
	config := writeText(t, filepath.Join(dir, "flags.json"),
		`{"k": 3, "batch": 5, "hidden": 8, "stages": "1:20", "convolutions": "5,3:16"}`)
	done(t, "", "train", "listops", "--data", tinyData(t), "--out", out, "--steps", "2",
		"--config", config, "--batch", "4")
	done(t, "", "train", "listops", "--out", out, "--resume", "--steps", "4")
	contains(t, readText(t, filepath.Join(out, "config.json")), `"num_sampled_tokens": 3`, `"hidden_size": 8`,
		`"sinusoid_dim": 8`, `"batch": 4`, `"stages"`, `"kernel_size": 5`, `"dilation": 16`)
	contains(t, readText(t, filepath.Join(out, "metrics.jsonl")), `"step":4`)
	if text, errs := exits(t, exitOK, "", "plot", "--output", figure, out); text != "" ||
		errs != figure+": curves of run\n" {
		t.Errorf("plot: got output %q, standard error %q; want \"\", %q", text, errs, figure+": curves of run\n")
	}
	contains(t, readText(t, figure), "<svg")
	other := t.TempDir()
	refuse(t, exitError,
		"sftseq: "+other+": expected a run directory of sftseq train, with metrics.jsonl, found none", "",
		"plot", other)
}

// TestParseStages checks that --stages accepts a maximum length, first rows and last rows.
func TestParseStages(t *testing.T) {
	stages := must.Get(parseStages("3:160,4:first20,5:last6"))(t)
	equal(t, stages, []train.Stage{{Steps: 3, Length: 160}, {Steps: 4, Rows: 20}, {Steps: 5, LastRows: 6}})
}

// TestConfigAndCommandLine checks that --steps of the command line replaces epochs of --config, and that a file
// with both is refused.
func TestConfigAndCommandLine(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	mustRunData(t, "generate", "pathfinder", "--out", data, "--train", "8", "--val", "2", "--test", "0", "--no-baselines")
	args := func(file, text string) []string {
		return []string{"train", "pathfinder", "--data", data, "--batch", "2", "--hidden", "8", "--layers", "1", "--k", "4",
			"--config", writeText(t, filepath.Join(dir, file), text), "--out", filepath.Join(dir, "run-"+file)}
	}
	output := done(t, "", append(args("epochs.json", `{"epochs": 9}`), "--steps", "1")...)
	contains(t, output, "(step 1 of 1)", "evaluate with: sftseq eval --model "+filepath.Join(dir, "run-epochs.json")+
		" --data "+data+" --split val\n")
	refuse(t, exitUsage, "--steps and --epochs exclude each other", "", args("both.json", `{"epochs": 9, "steps": 1}`)...)
}
