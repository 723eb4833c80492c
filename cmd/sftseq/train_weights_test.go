package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/train"
)

// unequalData returns a data set with about three rows of class good for each row of class bad. The
// texts are independent of the class.
func unequalData(t *testing.T, flags ...string) string {
	t.Helper()
	table := "review,mood\n"
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		table += fmt.Sprintf("%d,%s\n", i, []string{"bad", "good", "good", "good"}[random.IntN(4)])
	}
	return tableData(t, "moods.csv", table,
		append([]string{"--text", "review", "--label", "mood", "--split", "0.6,0.2,0.2"}, flags...)...)
}

// TestClassWeights checks that class weights have a mean of 1 over the training rows and are saved
// with the run. A model predicts only the class that has all the weight.
func TestClassWeights(t *testing.T) {
	data := unequalData(t)
	runOf := func(flags ...string) (dir, errs string) {
		t.Helper()
		dir = filepath.Join(t.TempDir(), "run")
		args := append([]string{"train", "custom", "--members", "sft", "--data", data, "--out", dir,
			"--hidden", "8", "--steps", "60",
			"--batch", "16", "--eval-every", "60", "--lr", "0.05", "--warmup", "0"}, flags...)
		out, errs := exits(t, exitOK, "", args...)
		if len(flags) > 0 && !strings.Contains(out, " "+strings.Join(flags, " ")) {
			t.Errorf("the output does not repeat %q: %s", flags, out)
		}
		return dir, errs
	}
	predictions := func(dir string) (bad, good int) {
		t.Helper()
		lines := ""
		for i := range 40 {
			lines += fmt.Sprintf("{\"text\": \"%d\"}\n", 300+i)
		}
		for _, r := range replyLines(t, succeed(t, lines, "predict", "--model", dir)) {
			switch r.Label {
			case "bad":
				bad++
			case "good":
				good++
			}
		}
		return bad, good
	}
	plain, errs := runOf()
	if bad, good := predictions(plain); bad+good != 40 || bad > 20 || strings.Contains(errs, "class weights") {
		t.Errorf("without weights: got bad %d times and good %d times, want 40 predictions, at most 20 bad, and no "+
			"line of class weights in\n%s", bad, good, errs)
	}
	file := writeText(t, filepath.Join(t.TempDir(), "weights.json"), `{"good": 0}`)
	weighted, errs := runOf("--class-weights", file)
	if bad, good := predictions(weighted); good > 0 || bad != 40 || !strings.Contains(errs, "class weights: bad ") {
		t.Errorf("with weight on bad alone: got bad %d times and good %d times, want bad 40 times, and the class "+
			"weights in\n%s", bad, good, errs)
	}

	even, _ := runOf("--class-weights", "balanced")
	c := must.Get(train.LoadCheckpoint(even))(t)
	counts := must.Get(seq.OpenDataset(data))(t).Manifest.Splits["train"].Labels
	bad, good := float64(counts["bad"]), float64(counts["good"])
	for i, want := range []float64{(bad + good) / (2 * bad), (bad + good) / (2 * good)} {
		if got := c.Settings.ClassWeights[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("weight %d is %v, expected %v", i, got, want)
		}
	}
	// A resumed run keeps its class weights and refuses different class weights.
	for flags, want := range map[string]string{"": "", "balanced": "",
		file: "--class-weights " + file + ": the run was started with other weights"} {
		args := []string{"train", "custom", "--members", "sft", "--out", even, "--resume", "--steps", "61"}
		if flags != "" {
			args = append(args, "--class-weights", flags)
		}
		if status, _, errs := program(nil, args...); (status != 0) != (want != "") || !strings.Contains(errs, want) {
			t.Errorf("--class-weights %q: got status %d and errors %q, want %q (status 0 if empty)", flags, status,
				errs, want)
		}
	}
	after, err := train.LoadCheckpoint(even)
	if err != nil || after.State.Step != 61 || !slices.Equal(after.Settings.ClassWeights, c.Settings.ClassWeights) {
		t.Errorf("after a resume: got %+v, error %v, want step 61 and the class weights %v", after, err,
			c.Settings.ClassWeights)
	}
}

// TestClassWeightsRefuses checks that an error about a file of weights states what was expected, and names the
// line of malformed JSON or the class of an invalid entry.
func TestClassWeightsRefuses(t *testing.T) {
	data := unequalData(t)
	for text, want := range map[string]string{
		"{\"bad\": 2,\n\"good\" 1}": "weights.json:2: expected a JSON object of classes and their weights, such as " +
			`{"bad": 2.5}, found malformed JSON: invalid character '1' after object key`,
		`{"bad": 2, "good": "x"}`:  `weights.json: class "good": expected a number of at least 0, found "x"`,
		`null`:                     `weights, such as {"bad": 2.5}, found null`,
		`[1, 2]`:                   `weights, such as {"bad": 2.5}, found a list`,
		`{"better": 2}`:            `class "better": expected one of bad, good`,
		`{"bad": -1}`:              `class "bad": expected a number of at least 0, found -1`,
		`{"bad": null}`:            `class "bad": expected a number of at least 0`,
		`{"bad": 0, "good": 0}`:    "whose sum over the training rows is finite and above 0, found 0",
		`{"bad": 9e307, "good":9}`: "whose sum over the training rows is finite and above 0, found +Inf",
	} {
		file, out := writeText(t, filepath.Join(t.TempDir(), "weights.json"), text), filepath.Join(t.TempDir(), "run")
		refuse(t, exitError, want, "", "train", "custom", "--members", "sft", "--data", data, "--out",
			out, "--class-weights", file)
	}
	refuse(t, exitError, "expected balanced, or a JSON file", "", "train", "custom", "--members",
		"sft", "--data", data, "--out",
		t.TempDir(), "--class-weights", "balance")
}
