package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/sft/config"
)

// TestHints checks the errors about the wrong kind of input, such as a table or a folder instead of a
// data set or JSON lines, or a folder of runs instead of one run, and the next steps that they suggest.
func TestHints(t *testing.T) {
	dir := t.TempDir()
	csv := writeText(t, filepath.Join(dir, "my reviews.csv"), "text,label\na,x\n")
	folder := filepath.Join(dir, "sounds")
	must.Succeed(t, os.MkdirAll(filepath.Join(folder, "dog"), 0o777))
	sets := filepath.Join(dir, "sets")
	for _, name := range []string{"a", "b"} {
		must.Succeed(t, os.MkdirAll(filepath.Join(sets, name), 0o777))
		writeText(t, filepath.Join(sets, name, "dataset.json"), "{}")
	}
	runs := filepath.Join(dir, "runs")
	for _, seed := range []string{"seed-1", "seed-2"} {
		must.Succeed(t, os.CopyFS(filepath.Join(runs, seed), os.DirFS(goldenPath("pre"))))
	}
	suggestion := "found a table (csv): convert it first, for example:\n  sftseq data convert --from '" + csv +
		"' --to 'data/my reviews' --text COLUMN --label COLUMN\n"
	refuseAll(t, exitError, nil, []refusal{
		{"--data " + csv + ": expected a data set, " + suggestion, []string{"train", "custom", "--members",
			"sft", "--data", csv, "--out",
			filepath.Join(dir, "out")}},
		{"--data " + csv + ": expected a data set, " + strings.TrimSuffix(suggestion, "\n") + " --tokenizer from:" +
			goldenPath("pre") + " --split 0,0,1\n",
			[]string{"eval", "--model", goldenPath("pre"), "--data", csv}},
		{csv + ": expected a data set, " + suggestion, []string{"data", "info", csv}},
		{csv + ": expected a data set, " + suggestion, []string{"data", "head", csv}},
		{csv + ": expected a data set, " + suggestion, []string{"data", "stats", csv}},
		{"found a folder of files: convert it first, for example:\n  sftseq data convert --from " + folder +
			" --to data/sounds", []string{"train", "custom", "--members", "sft", "--data", folder, "--out",
			filepath.Join(dir, "out")}},
		{"expected a data set, found a folder of data sets: choose one of them, such as " + filepath.Join(sets, "a"),
			[]string{"eval", "--model", goldenPath("pre"), "--data", sets}},
		{"the data set is incomplete", []string{"eval", "--model", goldenPath("pre"), "--data", t.TempDir()}},
		{runs + ": expected a model, found a folder of 2 models: choose one of them, such as --model " +
			filepath.Join(runs, "seed-1") + " (seed-1, seed-2)", []string{"info", "--model", runs}},
		{runs + ": expected a model, found a folder of 2 models: choose one of them, such as " + filepath.Join(runs,
			"seed-1") + " (seed-1, seed-2)", []string{"export", "onnx", runs, "--output", filepath.Join(dir, "out")}},
		{runs + ": expected a model, found a folder of 2 models: choose one of them, such as " + filepath.Join(runs,
			"seed-1") + " (seed-1, seed-2)", []string{"export", "pytorch", runs, "--output",
			filepath.Join(dir, "out")}},
		{folder + ": expected a file, found a directory\n", []string{"grads", "--model", goldenPath("pre"), "--input",
			folder, "--output", filepath.Join(dir, "out")}},
		{"--config " + runs + ": expected a model, found a folder of 2 models: choose one of them, such as --config " +
			filepath.Join(runs, "seed-1") + " (seed-1, seed-2)", []string{"bench", "model", "--config", runs}},
		{"--config " + folder + ": expected a model directory with config.json, found none\n",
			[]string{"bench", "model", "--config", folder}},
		{"--config " + dir + "/no: expected a config.json, a model directory or a task, such as text or text:paper (",
			[]string{"bench", "model", "--config", dir + "/no"}},
		{`--config text:quik: preset "quik": expected one of quick,`, []string{"bench", "model", "--config",
			"text:quik"}},
		{csv + ": expected a new or empty folder, or an earlier export, found a file\n", []string{"export", "pytorch",
			goldenPath("pre"), "--output", csv}},
		{runs + ": expected a run directory of sftseq train, with config.json: no such file or directory",
			[]string{"report", "--out", filepath.Join(dir, "x.html"), runs}},
		{"nope: no such file", []string{"data", "convert", "--from", filepath.Join(dir, "nope"), "--to",
			filepath.Join(dir, "out"), "--text", "text"}},
	})
	contains(t, failing(t, "", "predict", "--model", goldenPath("pre"), "a.wav"),
		"a.wav: expected a FILE of JSON lines (pass other files and folders with --input): sound files are read from "+
			"a folder, one per row: pass the folder")
	refuseAll(t, exitUsage, nil, []refusal{
		{"expected a FILE of JSON lines, found csv: read tables with --input '" + csv + "' --text COLUMN",
			[]string{"predict", "--model", goldenPath("pre"), csv}},
		{"expected a FILE of JSON lines, found arrow: read it with --input x.arrow --output FILE.arrow",
			[]string{"embed", "--model", goldenPath("pre"), "x.arrow"}},
		{folder + ": expected a FILE of JSON lines, found a directory: read folders with --input DIR --text COLUMN",
			[]string{"predict", "--model", goldenPath("pre"), folder}},
	})
	for lines, want := range map[string]string{
		"text,label\na,x\n": "2 of 2 lines failed; the first line looks like a CSV table: read it with " +
			"--input FILE.csv --text COLUMN\n",
		"text;label\n":   "1 of 1 lines failed; the first line looks like",
		"PAR1\x00\xff\n": "1 of 1 lines failed; the input is a table: read it with --input FILE\n",
		"some words\n":   `1 of 1 lines failed; expected one JSON object per line, such as {"text": "…"} (read lines of text with --input FILE.txt)` + "\n",
		"{\"a\":1}\n": "1 of 1 lines failed; read other columns of JSON lines with --input FILE " +
			"--text COLUMN\n",
		"{\"bytes\":\"YQ==\"}\n":       "1 of 1 lines failed, the first: standard input:1: ",
		"{\"features\":[[1]]}\n":       "1 of 1 lines failed, the first: standard input:1: ",
		"{\"tokens\":\"a\"}\n":         "1 of 1 lines failed, the first: standard input:1: tokens: ",
		"a,b\n{\"tokens\":[1,2]}\n":    "1 of 2 lines failed, the first: standard input:1: ",
		"{\"tokens\":[1]}\na,b\nc,d\n": "2 of 3 lines failed, the first: standard input:2: ",
	} {
		if status, _, errs := program(strings.NewReader(lines), "predict", "--model",
			goldenPath("pre")); status != exitError || !strings.Contains(errs, want) {
			t.Errorf("%q: status %d, %q, want %q", lines, status, errs, want)
		}
	}
}

// TestPairHints checks that the advice for a model of pairs names --pair.
func TestPairHints(t *testing.T) {
	for lines, want := range map[string]string{
		"{\"a\":\"x\",\"b\":\"y\"}\n": "read other columns of JSON lines with --input FILE --pair A,B\n",
		"a,b\nx,y\n":                  "read it with --input FILE.csv --pair A,B\n",
	} {
		if status, _, errs := program(strings.NewReader(lines), "predict", "--model", goldenPath("retrieval")); status !=
			exitError || !strings.Contains(errs, want) {
			t.Errorf("%q: status %d, %q, want %q", lines, status, errs, want)
		}
	}
}

// TestNamesOnce checks that an error contains the path, or the cause, only once.
func TestNamesOnce(t *testing.T) {
	dir := t.TempDir()
	hf := filepath.Join(dir, "hf")
	must.Succeed(t, os.Mkdir(hf, 0o777))
	writeText(t, filepath.Join(hf, "dataset_dict.json"), `{"splits":["train"]}`)
	absent := filepath.Join(dir, "absent.parquet")
	for _, c := range []struct {
		once string
		args []string
	}{
		{absent, []string{"data", "convert", "--from", absent, "--to", filepath.Join(dir, "to"), "--text", "text"}},
		{"no such file", []string{"data", "convert", "--from", hf, "--to", filepath.Join(dir, "to"), "--text", "text"}},
		{hf, []string{"data", "convert", "--from", hf, "--to", filepath.Join(dir, "to"), "--text", "text"}},
		{absent, []string{"data", "convert", "pathfinder", "--from", absent, "--to", filepath.Join(dir, "to")}},
		{hf, []string{"predict", "--model", goldenPath("pre"), hf}},
	} {
		if status, _, errs := program(nil, c.args...); status == 0 || strings.Count(errs, c.once) != 1 {
			t.Errorf("%q: status %d, %s names %s %d times, want an error that names it once", c.args,
				status, errs, c.once, strings.Count(errs, c.once))
		}
	}
}

// TestSummary checks that info prints only the size and the first items of a learned vocabulary.
// --json prints the whole tokenizer.
func TestSummary(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("text,label\n")
	for i := range 300 {
		text.WriteString(strings.Repeat("word"+string(rune('a'+i%26))+string(rune('a'+i/26))+" ",
			3) + "," + string(rune('x'+i%2)) + "\n")
	}
	from, data, run := writeText(t, filepath.Join(dir, "x.csv"), text.String()), filepath.Join(dir, "data"),
		filepath.Join(dir, "run")
	done(t, "", "data", "convert", "--from", from, "--to", data, "--text", "text", "--label",
		"label", "--tokenizer", "words")
	runCustom(t, data, run, "--steps", "1", "--batch", "4", "--hidden", "8", "--k", "4")
	const last = "wordzk"
	for _, args := range [][]string{{"data", "info", data}, {"info", "--model", run}} {
		out := succeed(t, "", args...)
		contains(t, out, " items, starting with word", "words")
		notContains(t, out, last)
		if out := succeed(t, "", append(args, "--json")...); !strings.Contains(out, last) &&
			!strings.Contains(out, "wordyk") {
			t.Errorf("%q --json prints neither %q nor \"wordyk\", want one of these words:\n%s", args, last, out)
		}
	}
	for spec, want := range map[string]string{
		`{"type":"byte"}`: `{"type":"byte"}`,
		`{"codebook":"` + strings.Repeat("A",
			300) + `","rate":8000,"type":"audio-vq"}`: `{"type":"audio-vq","codebook":"302 bytes","rate":8000}`,
		`{"type":"x","map":{"a":"` + strings.Repeat("b",
			300) + `"},"lower":true}`: `{"type":"x","lower":true,"map":"1 entry"}`,
		`{"type":"words","words":["` + strings.Repeat("é",
			100) + `","b","c","d"],"odd":[1,2]}`: `{"type":"words","odd":[1,2],"words":"4 items, starting with éééééééééééééééééééé, b, c"}`,
	} {
		equal(t, string(summary([]byte(spec))), want)
	}
}

// TestMovedData checks that eval and train --resume print the recorded path of a run's data if --data is
// missing or wrong. If the data were moved, they also suggest --data with the new path.
func TestMovedData(t *testing.T) {
	data := tableData(t, "t.csv", motifRows(60, 24), "--text", "sequence", "--numbers", "length", "--tokenizer",
		"dna:1", "--split", "0.6,0.2,0.2")
	run, moved := filepath.Join(t.TempDir(), "run"), data+"-moved"
	runCustom(t, data, run, "--steps", "2", "--stop-at", "1", "--device", "cpu")
	at := filepath.Join(t.TempDir(), "elsewhere")
	there := "; " + run + " was trained on --data " + data
	refuse(t, exitUsage, "--data is missing: expected an Arrow file or a data set directory"+there+"; see",
		"", "eval", "--model", run)
	refuse(t, exitError, "--data: "+at+": no such file or directory"+there+"\n", "", "eval",
		"--model", run, "--data", at)
	must.Succeed(t, os.Rename(data, moved))
	hint := "; " + run + " was trained on " + data +
		", which no longer exists: pass its new path with --data"
	refuse(t, exitUsage, "--data is missing: expected an Arrow file or a data set directory"+hint,
		"", "eval", "--model", run)
	refuseAll(t, exitError, nil, []refusal{
		{"--data: " + data + ": no such file or directory" + hint + "\n",
			[]string{"eval", "--model", run, "--data", data}},
		{"--data: " + data + ": no such file or directory" + hint + "\n",
			[]string{"train", "custom", "--members", "sft", "--out", run, "--resume"}},
		{"--data: " + at + ": no such file or directory" + hint + "\n",
			[]string{"train", "custom", "--members", "sft", "--out", run,
				"--resume", "--data", at}},
		{"--data: " + at + ": no such file or directory\n",
			[]string{"train", "custom", "--members", "sft", "--out", run + "-fresh", "--data", at}},
	})
	done(t, "", "train", "custom", "--members", "sft", "--out", run, "--resume", "--data", moved, "--device", "cpu")
	cfg := must.Get(config.Read(filepath.Join(run, "config.json")))(t)
	p := must.Get(provenance.Of(cfg))(t)
	p.DataDir = "data/words"
	must.Succeed(t, p.Store(cfg))
	must.Succeed(t, os.WriteFile(filepath.Join(run, "config.json"), must.Get(json.Marshal(cfg))(t), 0o666))
	refuse(t, exitError, "was trained on data/words, which does not exist relative to this directory: pass its path "+
		"with --data",
		"", "eval", "--model", run, "--data", at)
}
