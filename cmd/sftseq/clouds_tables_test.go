package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestCloudTables checks that tables of clouds are converted to a data set with labels and ids, and
// trains a model on this data set. predict uses the ids of rows of Arrow, Parquet and JSON lines, and
// eval uses the ids of the data set. Flags that do not apply to clouds are errors.
func TestCloudTables(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	run := func(args ...string) (out, errs string) {
		t.Helper()
		return exits(t, exitOK, "", args...)
	}
	var lines strings.Builder
	for i := range 60 {
		fmt.Fprintf(&lines, `{"key":"cloud %d","points":[[0.%d,0,%d],[0,0.5,%d]],"class":"%s"}`+"\n", i, i+10, i%2, i%2,
			[]string{"low", "high"}[i%2])
	}
	table := at("clouds.jsonl")
	must.Succeed(t, os.WriteFile(table,
		[]byte(lines.String()+`{"key":"bad","points":[[0,0,0],[0,null,0]],"class":"low"}`+"\n"), 0o666))
	_, errs := run("data", "convert", "--from", table, "--to", at("data"), "--features", "points", "--label", "class",
		"--id", "key", "--split", "0.5,0.25,0.25")
	contains(t, errs, "1 of 61 rows left out: the row cannot be read\n  "+table+
		":61: column points: index 1: number 1: expected a number, found null")
	run("train", "custom", "--members", "sft", "--data", at("data"), "--out", at("run"), "--epochs", "1",
		"--k", "2", "--hidden", "16",
		"--intermediate", "16", "--relative", "none")
	test := filepath.Join(at("data"), "test.arrow")
	out, _ := run("data", "info", test)
	contains(t, out, "features    x, y, z of each token\n", "2 tokens, beginning with\n    [0.")
	run("predict", "--model", at("run"), "--input", test, "--output", at("a.csv"))
	scored, err := os.ReadFile(at("a.csv"))
	if err != nil || !strings.HasPrefix(string(scored), "id,label,probability_high,probability_low,error\ncloud ") {
		t.Errorf("predictions for the data set: got %s, error %v; want the columns id, label, probability_high, "+
			"probability_low and error, and a first row that begins with cloud", scored, err)
	}
	run("data", "convert", "--from", table, "--to", at("others"), "--features", "points", "--feature-names", "a,b,c",
		"--label", "class", "--split", "0.5,0.25,0.25")
	others := filepath.Join(at("others"), "test.arrow")
	parquetCopy(t, others, at("others.parquet"))
	parquetCopy(t, test, at("same.parquet"))
	for name, from := range map[string]string{"a.arrow": test, "b.arrow": others} {
		data, err := os.ReadFile(from)
		must.Succeed(t, errors.Join(err, os.MkdirAll(at("mixed"), 0o777),
			os.WriteFile(filepath.Join(at("mixed"), name), data, 0o666)))
	}
	for _, args := range [][]string{{"predict", "--input", others}, {"embed", "--input", others},
		{"predict", "--input", at("others.parquet"), "--features", "features"},
		{"predict", "--input", others, "--shard", "0/1"}, {"predict", "--input", at("others.parquet"), "--features",
			"features", "--shard", "0/1"},
		{"predict", "--input", at("mixed"), "--shard", "0/1"}} {
		output := at("others.csv")
		if slices.Contains(args, "--shard") {
			output = at("parts")
		}
		_, errs := exits(t, exitError, "", append(args, "--model", at("run"), "--output", output)...)
		contains(t, errs, args[2], `: the features of its tokens are "a", "b", "c", the model's "x", "y", "z"`)
	}
	run("predict", "--model", at("run"), "--input", at("same.parquet"), "--features", "features", "--id", "id",
		"--output", at("same.csv"))
	if same, err := os.ReadFile(at("same.csv")); err != nil || string(same) != string(scored) {
		t.Errorf("predictions for Parquet: %s, expected %s, %v", same, scored, err)
	}
	run("eval", "--model", at("run"), "--data", at("data"), "--errors", at("wrong.csv"))
	if wrong, err := os.ReadFile(at("wrong.csv")); err != nil || strings.Count(string(wrong), "\n") > 1 &&
		!strings.Contains(string(wrong), "\ncloud ") {
		t.Errorf("errors: got %s, error %v; want at most one line or a row that begins with cloud", wrong, err)
	}
	_, errs = exits(t, exitError, "", "predict", "--model", at("run"), "--input", table, "--features", "points", "--id",
		"key", "--keep", "class", "--output", at("b.csv"))
	contains(t, errs, "1 of 61 rows failed, the first: "+table+
		":61: column points: index 1: number 1: expected a number, found null")
	all, err := os.ReadFile(at("b.csv"))
	rows := strings.Split(strings.TrimSpace(string(all)), "\n")
	if err != nil || len(rows) != 62 || !strings.HasPrefix(rows[1], "cloud 0,low,") ||
		!strings.HasPrefix(rows[61], "bad,low,,,,") {
		t.Fatalf("predictions for the table: got %s, error %v; want 62 lines, the second beginning with cloud 0,low, "+
			"and the last with bad,low,,,,", all, err)
	}
	// predict prints the same predictions for a row of the data set and for its row of the table.
	for _, line := range strings.Split(strings.TrimSpace(string(scored)), "\n")[1:] {
		var i int
		if _, err := fmt.Sscanf(line, "cloud %d,", &i); err != nil {
			t.Fatalf("got %q, error %v; want cloud and a number at the beginning", line, err)
		}
		id, prediction, _ := strings.Cut(line, ",")
		equal(t, rows[i+1], id+","+[]string{"low", "high"}[i%2]+","+prediction)
	}
	for want, args := range map[string][]string{
		"--feature-names needs --features": {"data", "convert", "--from", table, "--to", at("x"),
			"--text", "key", "--feature-names", "a"},
		"--features and --tokenizer exclude each other": {"data", "convert", "--from", table, "--to", at("x"),
			"--features", "points", "--tokenizer", "byte"},
		"--text and --features exclude each other": {"data", "convert", "--from", table, "--to", at("x"),
			"--features", "points", "--text", "key"},
		"--spans needs text: token ids and features have no char": {"data", "convert", "--from", table, "--to", at("x"),
			"--features", "points", "--spans", "key"},
		"reads features: expected --features COLUMN": {"predict", "--model", at("run"),
			"--input", table, "--text", "key"},
		"expected --series or --features with the column of": {"predict", "--model", at("run"), "--input", table},
		"--tokens: the tokens of":                            {"data", "head", "--tokens", at("data")},
		"--relative sinusoid_hadamard: the tokens are an unordered set with " +
			"positions": {"train", "custom", "--members", "sft",
			"--data", at("data"), "--out",
			at("y"), "--relative", "sinusoid_hadamard"},
		"--sinusoid-dim: expected a model with sinusoids, found the relation " +
			"distance": {"train", "custom", "--members", "sft",
			"--data", at("data"), "--out",
			at("y"), "--sinusoid-dim", "8"},
		"--tokenizer: expected flags after cloud": {"data", "convert", "--tokenizer", "byte", "cloud",
			"--from", dir, "--to", at("x")},
		"--split: expected flags after listops": {"data", "convert", "--split", "1,0,0", "listops",
			"--from", dir, "--to", at("x")},
		"unknown flag --text; see sftseq data ": {"data", "convert", "cloud", "--text", "a",
			"--from", dir, "--to", at("x")},
	} {
		if status, _, errs := program(nil, args...); status != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: got status %d and error %s, want status %d and an error with %q", args, status, errs,
				exitUsage, want)
		}
	}
}

// parquetCopy writes the rows of an Arrow file and its metadata to a Parquet file.
func parquetCopy(t *testing.T, from, to string) {
	t.Helper()
	in := must.Get(os.Open(from))(t)
	defer in.Close()
	r := must.Get(ipc.NewFileReader(in))(t)
	defer r.Close()
	out := must.Get(os.Create(to))(t)
	w := must.Get(pqarrow.NewFileWriter(r.Schema(), out, parquet.NewWriterProperties(),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema())))(t)
	for i := range r.NumRecords() {
		record, err := r.Record(i)
		if err == nil {
			err = w.Write(record)
		}
		must.Succeed(t, err)
	}
	must.Succeed(t, w.Close())
}

// rowsOfSplits returns up to 100 rows of each split of a data set, as data head prints them.
func rowsOfSplits(t *testing.T, data string) (rows string) {
	t.Helper()
	for _, split := range []string{"train", "val", "test"} {
		rows += split + "\n" + succeed(t, "", "data", "head", filepath.Join(data, split+".arrow"), "--rows", "100")
	}
	return rows
}

// TestConvertCloud checks that a folder with a malformed file is converted without the file, and with
// some training files in the validation split. With --strict the malformed file is an error. A flag
// without effect is an error. Converting the folder as text causes a warning.
func TestConvertCloud(t *testing.T) {
	from, data := filepath.Join(t.TempDir(), "set"), filepath.Join(t.TempDir(), "data")
	for i := range 40 {
		for j, name := range []string{fmt.Sprintf("chair/train/%d.off", i), fmt.Sprintf("desk/test/%d.off", i),
			fmt.Sprintf("desk/train/%d.off", i)} {
			path := filepath.Join(from, name)
			must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
			text := fmt.Sprintf("OFF\n3 1 0\n0 0 0\n1 0 0\n0 2 %d\n3 0 1 2\n", 3+3*i+j) // every cloud is distinct
			if name == "desk/train/7.off" {
				text = text[:10]
			}
			must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
		}
	}
	status, out, errs := program(nil, "data", "convert", "cloud", "--from", from, "--to", data,
		"--points", "4", "--no-baselines")
	if status != 0 || !strings.Contains(errs, "1 of 120 rows left out: the file cannot be read\n  "+filepath.Join(from,
		"desk/train/7.off")+": expected 3 points") ||
		!strings.Contains(out, "val.arrow: ") || !strings.HasSuffix(out, "labels: chair, desk\n") {
		t.Errorf("got status %d, output %s, errors %s; want one file left out and the labels chair and desk", status,
			out, errs)
	}
	if status, out, _ := program(nil, "data", "head", "--rows", "1", data); status != 0 ||
		!strings.HasPrefix(out, `{"id":"chair/train/`) {
		t.Errorf("data head: got status %d and %s, want a row with the id chair/train/…", status, out)
	}
	far := data + "-far"
	done(t, "", "data", "convert", "cloud", "--from", from, "--to", far, "--points", "4",
		"--no-baselines", "--farthest")
	uniform, rows := rowsOfSplits(t, data), rowsOfSplits(t, far)
	if strings.Count(rows, "\n") != strings.Count(uniform, "\n") || rows == uniform {
		t.Errorf("farthest points %s, uniform points %s: want the same number of rows with different points", rows,
			uniform)
	}
	if manifest := readText(t, filepath.Join(far, "dataset.json")); !strings.Contains(manifest, `"farthest": true`) ||
		strings.Contains(readText(t, filepath.Join(data, "dataset.json")), "farthest") {
		t.Errorf("got manifest %s, want farthest only in the manifest of the data set with --farthest", manifest)
	}
	for want, flags := range map[string][]string{
		"so no files are left to sample":            {"--test-part", "0.5"},
		"7.off: the file cannot be read: expected ": {"--strict"},
	} {
		args := append([]string{"data", "convert", "cloud", "--from", from, "--to", data + "2"}, flags...)
		contains(t, failing(t, "", args...), want)
	}
	if status, _, errs := program(nil, "data", "convert", "--from", from, "--to", data+"3",
		"--no-baselines"); status != 0 ||
		!strings.Contains(errs, "were read as text: convert them to point clouds with sftseq data convert cloud "+
			"--from ") {
		t.Errorf("as text: got status %d, standard error\n%s\nwant status 0 and the advice to convert with sftseq "+
			"data convert cloud", status, errs)
	}
}

// TestFewFiles checks that a message names the classes that are left out because of few files.
func TestFewFiles(t *testing.T) {
	from, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	writeClouds(t, filepath.Join(from, "pins"), "header", 40)
	writeClouds(t, filepath.Join(from, "rare"), "rare", 3)
	convert := []string{"data", "convert", "cloud", "--from", from, "--to", data, "--points", "4",
		"--no-baselines", "--min-files"}
	status, out, errs := program(nil, append(convert, "4")...)
	if status != 0 || !strings.Contains(errs, "left out, with fewer than 4 files: rare") ||
		!strings.HasSuffix(out, "labels: pins\n") {
		t.Fatalf("got status %d, output\n%s\nand standard error\n%s\nwant status 0, rare left out in standard error, "+
			"and the last line labels: pins in the output", status, out, errs)
	}
	for want, minFiles := range map[string]string{"expected at least one class with 50 files": "50",
		"--min-files 0: expected at least 1": "0"} {
		contains(t, failing(t, "", append(convert, minFiles, "--force")...), want)
	}
}

// TestCloudExample runs the commands for tables of clouds that docs/data-clouds-graphs.md shows.
func TestCloudExample(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	page := must.Get(os.ReadFile("../../docs/data-clouds-graphs.md"))(t)
	_, section, _ := strings.Cut(string(page), "\nTables of clouds have")
	_, line, _ := strings.Cut(section, "```json\n")
	line, section, _ = strings.Cut(line, "\n```")
	_, commands, _ := strings.Cut(section, "```sh\n")
	commands, _, _ = strings.Cut(commands, "```")
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 80 {
		one := strings.NewReplacer("c1", fmt.Sprint("c", i), "0.1", fmt.Sprintf("0.%d", 10+i), "chair",
			[]string{"chair", "desk"}[i%2]).Replace(line)
		lines.WriteString(one + "\n")
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "clouds.jsonl"), []byte(lines.String()), 0o666))
	ran := 0
	for command := range strings.Lines(commands) {
		args := strings.Fields(command)[1:]
		for i, word := range args {
			if !strings.HasPrefix(word, "-") && strings.ContainsAny(word, "/.") {
				args[i] = filepath.Join(dir, word)
			}
		}
		done(t, "", args...)
		ran++
	}
	scored, err := os.ReadFile(filepath.Join(dir, "scored.csv"))
	if err != nil || ran != 4 || strings.Count(string(scored), "\n") != 81 ||
		!strings.Contains(string(scored), "\nc7,desk,") {
		t.Errorf("got %d commands, table %s, error %v; want 4 commands and 81 lines, one beginning with c7,desk,", ran,
			scored, err)
	}
}
