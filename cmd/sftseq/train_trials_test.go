package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// longRows returns a data set of rows with more tokens than chunkedMedian.
func longRows(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("text,label\n")
	for i := range 30 {
		fmt.Fprintf(&text, "%s,%s\n", strings.Repeat([]string{"a dull plot ", "a fine cast "}[i%2], 360+i),
			[]string{"bad", "good"}[i%2])
	}
	return tableData(t, "long.csv", text.String(), "--text", "text", "--label", "label", "--split", "0.6,0.2,0.2",
		"--tokenizer", "byte")
}

// choice matches the printed result of chooseChunks.
var choice = regexp.MustCompile(`validation loss ([\d.]+) in chunks \((\d+) steps\), ([\d.]+) without chunks \((\d+) steps\): ` +
	`chunks are (not )?chosen`)

// readChoice returns the value of --chunks that a printed result states, and the numbers of steps with and without
// chunks. It checks that the value follows from the losses.
func readChoice(t *testing.T, progress string) (chunks string, steps [2]int) {
	t.Helper()
	occurs(t, progress, "validation loss ", 1)
	found := choice.FindStringSubmatch(progress)
	if found == nil {
		t.Fatalf("no choice of chunks in %q", progress)
	}
	chunks = measuredChunks
	if found[5] != "" {
		chunks = noChunks
	}
	chunked, flat := must.Get(strconv.ParseFloat(found[1], 64))(t), must.Get(strconv.ParseFloat(found[3], 64))(t)
	if chunked < 0.01 || flat < 0.01 {
		t.Errorf("got losses %v in chunks and %v without chunks, want at least 0.01", chunked, flat)
	}
	equal(t, betterChunks(flat, chunked, seq.Classification), chunks)
	return chunks, [2]int{must.Get(strconv.Atoi(found[2]))(t), must.Get(strconv.Atoi(found[4]))(t)}
}

// TestChooseChunks checks that long rows are trained flat or in chunks by the losses of two runs that are shorter than
// the whole run, that the recorded command repeats the choice, and that a flag or short rows prevent the measurement.
func TestChooseChunks(t *testing.T) {
	data := longRows(t)
	out := filepath.Join(t.TempDir(), "run")
	flags := []string{"train", "custom", "--members", "sft", "--hidden", "8", "--k", "4", "--batch", "4", "--device",
		"cpu", "--data"}
	read := func(dir string) string {
		return formatChunks(must.Get(config.Read(filepath.Join(dir, "config.json")))(t).Chunks)
	}
	_, progress := exits(t, exitOK, "", append(flags, data, "--steps", "600", "--stop-at", "1", "--out", out)...)
	contains(t, progress, "half of the rows have more than 4096 tokens")
	chunks, steps := readChoice(t, progress)
	if min(steps[0], steps[1]) < minSteps || max(steps[0], steps[1]) > 150 { // 30 steps without chunks fit
		t.Errorf("got trials of %v steps for a run of 600, want %d to 150", steps, minSteps)
	}
	begun := must.Get(train.LoadCheckpoint(out))(t)
	equal(t, formatChunks(begun.Config.Chunks), chunks)
	contains(t, must.Get(provenance.Of(begun.Config))(t).Command, " --chunks "+chunks+" ")

	for _, chosen := range []string{noChunks, measuredChunks} {
		dir := filepath.Join(t.TempDir(), chosen)
		_, progress := exits(t, exitOK, "", append(flags, data, "--steps", "2", "--chunks", chosen, "--out", dir)...)
		equal(t, strings.Contains(progress, "measuring whether"), false)
		equal(t, read(dir), chosen)
	}
	short := filepath.Join(t.TempDir(), "short")
	_, progress = exits(t, exitOK, "", append(flags, proseData(t, 60), "--steps", "2", "--out", short)...)
	equal(t, strings.Contains(progress, "measuring whether"), false)
}

// TestChooseChunksOfSeeds checks that the choice for the first seed of a kind of model applies to all its seeds, even
// in a resumed run. The run is too short to compare losses, and trains the kind of model that it prints as chosen.
func TestChooseChunksOfSeeds(t *testing.T) {
	var text strings.Builder
	text.WriteString("text,label\n")
	for i := range 40 {
		fmt.Fprintf(&text, "%s,%d\n", strings.Repeat("a fine cast ", 360+i), i/2%2)
	}
	data := tableData(t, "noise.csv", text.String(), "--text", "text", "--label", "label", "--split", "0.6,0.2,0.2",
		"--tokenizer", "byte")
	out := filepath.Join(t.TempDir(), "run")
	flags := []string{"train", "custom", "--data", data, "--members", "linear,sft", "--hidden", "32", "--batch", "4",
		"--device", "cpu", "--seeds", "3,4", "--steps", "12", "--out", out}
	read := func(member string) string {
		return formatChunks(must.Get(config.Read(filepath.Join(out, member, "config.json")))(t).Chunks)
	}
	_, progress := exits(t, exitOK, "", flags...)
	contains(t, progress, "too little time to compare losses: a step takes ")
	first := read("sft-3")
	contains(t, progress, map[string]string{measuredChunks: ": chunks are chosen",
		noChunks: ": chunks are not chosen"}[first])
	// Without these files the run looks stopped after its first seed.
	must.Succeed(t, errors.Join(os.Remove(filepath.Join(out, "config.json")), os.RemoveAll(filepath.Join(out, "sft-4"))))
	_, progress = exits(t, exitOK, "", append(flags, "--resume")...)
	equal(t, strings.Contains(progress, "measuring whether"), false)
	equal(t, read("sft-3"), first)
	equal(t, read("sft-4"), first)
}

// TestTrialPlan checks that a trial ends within its time, and that steps of unknown or too long duration do not fit.
func TestTrialPlan(t *testing.T) {
	times := stepTimes{step: time.Second, evaluation: 5 * time.Second}
	for _, c := range []struct {
		trial  trial
		within time.Duration
		steps  int
		fits   bool
	}{
		{trial{full: 100, times: times}, 30 * time.Second, 25, true},
		{trial{full: 20, times: times}, 30 * time.Second, 20, true},
		{trial{full: 100, times: times}, 14 * time.Second, 9, false},
		{trial{full: 100}, time.Hour, 0, false},
	} {
		fits := c.trial.plan(c.within)
		equal(t, fits, c.fits)
		equal(t, c.trial.steps, c.steps)
	}
}

// TestChunksOfOneLayer checks that --chunks adds a second layer if a model has one layer by default.
func TestChunksOfOneLayer(t *testing.T) {
	text := "a,b,same\n"
	for i := range 60 {
		text += fmt.Sprintf("the old film %d,a film of %d,%d\n", i, i, i%2)
	}
	data := tableData(t, "pairs.csv", text, "--pair", "a,b", "--label", "same", "--tokenizer", "words:50", "--split", "0.6,0.2,0.2")
	read := func(flags ...string) *config.Config {
		dir := filepath.Join(t.TempDir(), "run")
		done(t, "", append([]string{"train", "custom", "--members", "sft", "--data", data, "--device", "cpu", "--hidden", "8",
			"--steps", "2", "--out", dir}, flags...)...)
		return must.Get(config.Read(filepath.Join(dir, "config.json")))(t)
	}
	equal(t, read().NumLayers, 1)
	c := read("--chunks", "64")
	equal(t, [2]int{c.NumLayers, c.Chunks.Layers}, [2]int{2, 1})
}

// TestBetterChunks checks that a flat model of classes is chosen only if its loss is clearly lower, and likewise a
// chunked model of tags.
func TestBetterChunks(t *testing.T) {
	for _, x := range []struct {
		flat, chunked float64
		want, tags    string
	}{{0.5, 0.6, noChunks, noChunks}, {0.69, 0.7, measuredChunks, noChunks}, {0.7, 0.69, measuredChunks, noChunks},
		{0.6, 0.5, measuredChunks, measuredChunks}} {
		equal(t, betterChunks(x.flat, x.chunked, seq.Classification), x.want)
		equal(t, betterChunks(x.flat, x.chunked, seq.Tagging), x.tags)
	}
}

// TestFormatChunks checks that parsing a value of --chunks and formatting the result returns the value.
func TestFormatChunks(t *testing.T) {
	for _, text := range []string{noChunks, "64", "fixed:100"} {
		equal(t, formatChunks(must.Get(config.ParseChunks(text))(t)), text)
	}
}

// tooLongRows returns a data set of long rows. One row has more tokens than a model without chunks can read.
func tooLongRows(t *testing.T) string {
	t.Helper()
	text := "text,label\n"
	for i := range 30 {
		plot, label := []string{"a dull plot ", "a fine cast "}[i%2], []string{",bad\n", ",good\n"}[i%2]
		text += strings.Repeat(plot, 360+i) + label
	}
	text += strings.Repeat("a fine cast ", 90_000) + ",good\n" // 1,080,000 bytes
	return tableData(t, "long.csv", text, "--text", "text", "--label", "label", "--split", "0.6,0.2,0.2", "--tokenizer",
		"byte")
}

// TestChooseChunksForTooLongRows checks that chunks are chosen without a measurement for a row that a model without
// chunks cannot read.
func TestChooseChunksForTooLongRows(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	_, progress := exits(t, exitOK, "", "train", "custom", "--members", "linear,lexical", "--hidden", "8", "--k", "4",
		"--steps", "2", "--device", "cpu", "--data", tooLongRows(t), "--out", out)
	contains(t, progress, "a model without chunks cannot be trained (", "1080000 tokens in one sequence, but the "+
		"model accepts at most 1048576 (max_position_embeddings)): chunks are chosen")
	m := must.Get(config.Read(filepath.Join(out, "lexical", "config.json")))(t)
	equal(t, formatChunks(m.Chunks), measuredChunks)
}

// TestChooseChunksInShortRuns checks that chunks are chosen if a run has too few steps for a comparison.
func TestChooseChunksInShortRuns(t *testing.T) {
	_, progress := exits(t, exitOK, "", "train", "custom", "--members", "sft", "--hidden", "8", "--k", "4", "--steps",
		"1", "--device", "cpu", "--data", longRows(t), "--out", filepath.Join(t.TempDir(), "run"))
	contains(t, progress, "the run has too few steps (1) to compare losses: chunks are chosen")
}
