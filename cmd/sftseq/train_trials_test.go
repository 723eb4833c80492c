package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
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

// TestChooseChunks checks that long rows are trained flat or in chunks by the losses of two short runs, that the
// printed command repeats the choice, and that a flag replaces it.
func TestChooseChunks(t *testing.T) {
	data := longRows(t)
	out := filepath.Join(t.TempDir(), "run")
	flags := []string{"train", "custom", "--data", data, "--members", "sft", "--hidden", "8", "--k", "4", "--batch",
		"4", "--device", "cpu"}
	read := func(dir string) *config.Config { return must.Get(config.Read(filepath.Join(dir, "config.json")))(t) }
	output, progress := exits(t, exitOK, "", append(flags, "--steps", "12", "--out", out)...)
	contains(t, progress, "half of the rows have more than 4096 tokens", "validation loss ", " in chunks, ")
	chunks := formatChunks(read(out).Chunks)
	want := map[string]string{measuredChunks: "chunks are chosen", noChunks: "chunks are not chosen"}[chunks]
	contains(t, progress, want)
	contains(t, output, " --chunks "+chunks+" ")

	for _, chosen := range []string{noChunks, measuredChunks} {
		dir := filepath.Join(t.TempDir(), chosen)
		_, progress := exits(t, exitOK, "", append(flags, "--steps", "2", "--chunks", chosen, "--out", dir)...)
		equal(t, strings.Contains(progress, "measuring"), false)
		equal(t, formatChunks(read(dir).Chunks), chosen)
	}
}

// TestChooseChunksOfSeeds checks that all seeds of a fusion's member are trained in the chunks of the first, and that
// --time covers the measurement.
func TestChooseChunksOfSeeds(t *testing.T) {
	data := longRows(t)
	out := filepath.Join(t.TempDir(), "run")
	_, progress := exits(t, exitOK, "", "train", "custom", "--data", data, "--members", "linear,sft", "--hidden", "8",
		"--k", "4", "--batch", "4", "--device", "cpu", "--seeds", "3,4", "--time", "6s", "--out", out)
	occurs(t, progress, "validation loss ", 1)
	first := must.Get(config.Read(filepath.Join(out, "sft-3", "config.json")))(t)
	second := must.Get(config.Read(filepath.Join(out, "sft-4", "config.json")))(t)
	equal(t, formatChunks(first.Chunks), formatChunks(second.Chunks))
	contains(t, progress, map[string]string{measuredChunks: "chunks are chosen",
		noChunks: "chunks are not chosen"}[formatChunks(first.Chunks)])
}

// TestBetterChunks checks that a flat model is only chosen if its loss is clearly lower.
func TestBetterChunks(t *testing.T) {
	for _, x := range []struct {
		flat, chunked float64
		want          string
	}{{0.5, 0.6, noChunks}, {0.69, 0.7, measuredChunks}, {0.7, 0.7, measuredChunks}, {0.6, 0.5, measuredChunks}} {
		equal(t, betterChunks(x.flat, x.chunked), x.want)
	}
}

// TestFormatChunks checks that a formatted flag is parsed to the same chunks.
func TestFormatChunks(t *testing.T) {
	for _, text := range []string{noChunks, "64", "fixed:100"} {
		equal(t, formatChunks(must.Get(config.ParseChunks(text))(t)), text)
	}
}
