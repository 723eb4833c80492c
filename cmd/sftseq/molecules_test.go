package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// section are the commands of a block of shell behind a heading of docs/own-data.md, the first being 1.
func section(t *testing.T, heading string, block int) (commands []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/own-data.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n### "+heading+"\n")
	for range block {
		_, text, _ = strings.Cut(text, "```sh\n")
	}
	text, _, _ = strings.Cut(text, "```")
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "sftseq "); ok {
			commands = append(commands, command)
		}
	}
	return commands
}

// TestMolecules runs the commands on molecules in docs/own-data.md, on molecules whose number is how many
// oxygens they have. Rows that cannot be used are told of.
func TestMolecules(t *testing.T) {
	testenv.NoRace(t, "goes the ways of TestClouds, TestConvertCloud and TestGraphs")
	dir := t.TempDir()
	table := "smiles,tpsa\nC(,1\n"
	for i := range 60 {
		table += fmt.Sprintf("%s%s%s,%d\n", strings.Repeat("C", 1+i%7), strings.Repeat("O", 1+i%3), strings.Repeat("N", i%4), 1+i%3)
	}
	writeText(t, filepath.Join(dir, "tpsa.csv"), table)
	commands := section(t, "Molecules", 1)
	if len(commands) != 4 {
		t.Fatalf("commands %q", commands)
	}
	writeText(t, filepath.Join(dir, "new.smi"), "CCO ethanol\nC(\nOCCN\n")
	said := ""
	for i, command := range commands {
		args := strings.Fields(regexp.MustCompile(`\b(tpsa\.csv|new\.smi|scored\.csv|data/|runs/)`).ReplaceAllString(command, dir+"/$1"))
		status, out, errs := program(nil, args...)
		if status != 0 && i < 3 { // one of the new molecules is none
			t.Fatalf("%s: status %d, %s", command, status, errs)
		}
		said += out + errs
	}
	checkMoleculeAnswers(t, dir)
	for _, want := range []string{"1 of 61 rows left out: no molecule in SMILES", "tpsa.csv:2: column smiles: sign 2: expected a ) that closes the branch", "sums and moments, ridge regression", "mean of the training split"} {
		if !strings.Contains(said, want) {
			t.Errorf("expected %q in\n%s", want, said)
		}
	}
	to := filepath.Join(dir, "to")
	convert := func(more ...string) []string {
		return append([]string{"data", "convert", "graph", "--from", filepath.Join(dir, "tpsa.csv"), "--to", to}, more...)
	}
	for want, args := range map[string][]string{
		"--tags: not expected with --smiles":            convert("--smiles", "smiles", "--tags", "x"),
		"--strict: not expected without --smiles":       convert("--strict"),
		"--random-walk 257: expected 1 to 256 steps":    convert("--smiles", "smiles", "--random-walk", "257"),
		`column "size": expected one of`:                convert("--smiles", "smiles", "--numbers", "size"),
		"tpsa.csv:2: no molecule in SMILES: column smi": convert("--smiles", "smiles", "--numbers", "tpsa", "--strict"),
	} {
		if status, _, errs := program(nil, args...); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
		if _, err := os.Stat(filepath.Join(to, "dataset.json")); err == nil {
			t.Errorf("%v: a data set is there", args)
		}
	}
}

// TestMoleculesTask runs the commands on rdkit-data's molecules in docs/own-data.md, on a short file of the
// same form. Its rows are those of a table of the same molecules; other files are refused.
func TestMoleculesTask(t *testing.T) {
	testenv.NoRace(t, "goes the ways of TestClouds, TestConvertCloud and TestGraphs")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	var rows strings.Builder
	for i := range 60 {
		fmt.Fprintf(&rows, "%s%s%s,%d.50\n", strings.Repeat("C", 1+i%7), strings.Repeat("O", 1+i%3), strings.Repeat("N", i%4), 1+i%3)
	}
	const folder, name = "rdkit/usr/share/RDKit/Data/NCI", "first_5k.tpsa.csv"
	if err := os.MkdirAll(in(folder), 0o777); err != nil {
		t.Fatal(err)
	}
	file := writeText(t, in(filepath.Join(folder, name)), moleculesHeader.Line+"\n"+rows.String())
	commands := section(t, "Molecules", 2)
	if len(commands) != 3 {
		t.Fatalf("commands %q", commands)
	}
	said := ""
	for i, command := range commands {
		args := strings.Fields(regexp.MustCompile(`\b(rdkit/|data/|runs/)`).ReplaceAllString(command, dir+"/$1"))
		if i == 1 {
			args = append(args, "--epochs", "2")
		}
		status, out, errs := program(nil, args...)
		if status != 0 {
			t.Fatalf("%s: status %d, %s", command, status, errs)
		}
		said += out + errs
	}
	for _, want := range []string{"the task has 4999 there", "selected by mae", "mean of the training split"} {
		if !strings.Contains(said, want) {
			t.Errorf("expected %q in\n%s", want, said)
		}
	}
	if err := os.Mkdir(in("table"), 0o777); err != nil {
		t.Fatal(err)
	}
	table := writeText(t, in("table/"+name), "smiles,tpsa\n"+rows.String())
	done(t, "", "data", "convert", "graph", "--from", table, "--smiles", "smiles", "--numbers", "tpsa", "--to", in("data/table"), "--split", "0.8,0.1,0.1")
	if rows := rowsOfSplits(t, in("data/molecules")); rows != rowsOfSplits(t, in("data/table")) || !strings.Contains(rows, `"tpsa":1.5`) {
		t.Errorf("other rows than of data convert graph: %.300s", rows)
	}
	convert := func(from string) []string {
		return []string{"data", "convert", "molecules", "--from", from, "--to", in("none")}
	}
	refuse(t, exitError, `first line: expected "# TPSA data calculated using Daylight tools and Ertl's contrib program tpsa.c", found "smiles,tpsa" (other molecules: sftseq data convert graph --smiles COLUMN)`, "", convert(table)...)
	refuse(t, exitError, "expected rdkit-data's file first_5k.tpsa.csv, found a directory", "", convert(filepath.Dir(file))...)
	refuse(t, exitError, "expected rdkit-data's file first_5k.tpsa.csv, found one of another name", "", convert(writeText(t, filepath.Join(t.TempDir(), "README.md"), "x"))...)
	refuse(t, exitError, file+": expected a data set of the task molecules: make one, such as with\n  sftseq data convert molecules --from ", "", "train", "molecules", "--data", file, "--out", filepath.Join(t.TempDir(), "run"))
	refuse(t, exitError, "no such file", "", convert(in("no.csv"))...)
	refuse(t, exitUsage, "expected a file, which is read several times", "", convert("-")...)
	refuse(t, exitError, "there is a complete data set already (--force replaces it)", "", "data", "convert", "molecules", "--from", file, "--to", in("data/molecules"))
	refuse(t, exitUsage, "sftseq data convert molecules --from rdkit/usr/share/RDKit/Data/NCI/first_5k.tpsa.csv --to data/molecules", "", "train", "molecules")
	if _, err := os.Stat(in("none")); err == nil {
		t.Error("a data set is there")
	}
}

// checkMoleculeAnswers: molecules in SMILES are answered as the graphs that they are, of tables and of lines,
// whole and in shards; bad ones are told of, and a model of something else refuses them by name.
func checkMoleculeAnswers(t *testing.T, dir string) {
	in := func(name string) string { return filepath.Join(dir, name) }
	scored := csvRows(t, in("scored.csv"))
	if len(scored) != 3 || scored[0]["id"] != "ethanol" || scored[0]["tpsa"] == "" || scored[2]["id"] != "new.smi:3" ||
		!strings.Contains(scored[1]["error"], "new.smi:2: column smiles: sign 2: expected a ) that closes the branch") {
		t.Fatalf("%q", scored)
	}
	graphs := succeed(t, "", "data", "head", in("data/tpsa/train.arrow"), "--rows", "40")
	want := succeed(t, graphs, "predict", "--model", in("runs/tpsa"))
	source := map[string]string{} // the molecules by their ids
	for i, line := range strings.Split(readText(t, in("tpsa.csv")), "\n") {
		source[fmt.Sprintf("tpsa.csv:%d", i+1)], _, _ = strings.Cut(line, ",")
	}
	var lines, table strings.Builder
	table.WriteString("m,key\n")
	for line := range strings.Lines(graphs) {
		var row struct{ ID string }
		if err := json.Unmarshal([]byte(line), &row); err != nil || source[row.ID] == "" {
			t.Fatalf("%s: %v", line, err)
		}
		fmt.Fprintf(&lines, "{\"id\":%q,\"smiles\":%q}\n", row.ID, source[row.ID])
		fmt.Fprintf(&table, "%s,%s\n", source[row.ID], row.ID)
	}
	if got := succeed(t, lines.String(), "predict", "--model", in("runs/tpsa")); got != want || got == "" {
		t.Errorf("of lines\n%s, of their graphs\n%s", got, want)
	}
	molecules := writeText(t, in("m.csv"), table.String())
	if got := succeed(t, "", "predict", "--model", in("runs/tpsa"), "--input", molecules, "--smiles", "m", "--id", "key"); got != want {
		t.Errorf("of a table\n%s, of their graphs\n%s", got, want)
	}
	file := writeText(t, in("m.jsonl"), lines.String())
	first, _, _ := strings.Cut(lines.String(), "\n")
	request := `{"jsonrpc":"2.0","id":0,"method":"initialize"}` + "\n" + fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"sequence/predict","params":%s}`, `{"smiles":`+first[strings.Index(first, `"smiles":`)+9:]) + "\n"
	_, number, _ := strings.Cut(want, `"numbers":`)
	if served, answer, _ := strings.Cut(succeed(t, request, "serve", "--model", in("runs/tpsa"), "--log", "error"), `"id":1,`); answer == "" || !strings.Contains(answer, number[:strings.Index(number, "}")]) {
		t.Errorf("%s%s: expected %s", served, answer, number)
	}
	if said := succeed(t, "", "predict", "--model", in("runs/tpsa"), "--input", file, "--smiles", "smiles", "--shard", "0/1", "--output", in("parts")); !strings.Contains(said, fmt.Sprintf("%d rows", strings.Count(want, "\n"))) {
		t.Error(said)
	}
	if n := strings.Count(succeed(t, lines.String(), "embed", "--model", in("runs/tpsa")), `"embedding"`); n != strings.Count(want, "\n") {
		t.Errorf("%d embeddings", n)
	}
	graphModel := goldenPath("graphs")
	refuse(t, exitUsage, "--smiles: the model was not trained on molecules as data convert graph --smiles makes them: feature 0: expected C, found ", "", "predict", "--model", graphModel, "--input", molecules, "--smiles", "m")
	refuse(t, exitUsage, "--smiles: the model reads tokens", "", "predict", "--model", goldenPath("pre"), "--input", molecules, "--smiles", "m")
	missing := fmt.Sprintf(`--smiles is missing, and the model %s reads molecules: which column of %s has them, in SMILES? It has ["m" "key"]`, in("runs/tpsa"), molecules)
	refuse(t, exitUsage, missing, "", "predict", "--model", in("runs/tpsa"), "--input", molecules)
	refuse(t, exitUsage, missing, "", "embed", "--model", in("runs/tpsa"), "--input", molecules, "--text", "m")
	refuse(t, exitUsage, "--smiles is missing", "", "predict", "--model", in("runs/tpsa"), "--input", in("data/tpsa/test.arrow"), "--output", in("o.csv"))
	refuse(t, exitUsage, "--text and --smiles exclude each other", "", "predict", "--model", in("runs/tpsa"), "--input", molecules, "--smiles", "m", "--text", "m")
}

// TestSuperpixels runs the commands on superpixels in docs/own-data.md, on two records that are gray.
func TestSuperpixels(t *testing.T) {
	testenv.NoRace(t, "goes the ways of TestClouds, TestConvertCloud and TestGraphs")
	dir := t.TempDir()
	record := func(label, level byte) string {
		return string(label) + strings.Repeat(string([]byte{level, level / 2}), 512)
	}
	records := strings.Repeat(record(0, 20)+record(1, 120), 20)
	in := filepath.Join(dir, "cifar-10-batches-bin")
	if err := os.Mkdir(in, 0o777); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(in, "cifar10_gray_train.bin"), records)
	writeText(t, filepath.Join(in, "cifar10_gray_test.bin"), records)
	commands := section(t, "Superpixels", 1)
	if len(commands) != 3 {
		t.Fatalf("commands %q", commands)
	}
	said := ""
	for _, command := range commands {
		args := strings.Fields(regexp.MustCompile(`\b(cifar-10|data/|runs/)`).ReplaceAllString(command, dir+"/$1"))
		status, out, errs := program(nil, args...)
		if status != 0 {
			t.Fatalf("%s: status %d, %s", command, status, errs)
		}
		said += out
	}
	refuse(t, exitUsage, "sftseq data convert superpixels --from data/image --to data/superpixels", "", "train", "superpixels")
	if !strings.Contains(said, "superpixels/train.arrow: 36 rows of 18 to 36 tokens") || !strings.Contains(said, "sums and moments 100.00%") {
		t.Error(said)
	}
	to := filepath.Join(dir, "to")
	convert := func(more ...string) []string {
		return append([]string{"data", "convert", "superpixels", "--from", filepath.Join(dir, "data/image"), "--to", to}, more...)
	}
	for want, args := range map[string][]string{
		"--pieces 0: expected 1 to 65536":           convert("--pieces", "0"),
		"--compactness 0: expected more than 0":     convert("--compactness", "0"),
		"--width 0: expected 1 to":                  convert("--width", "0"),
		"expected rows of 33 pixels":                convert("--width", "33"),
		"--random-walk 0: expected 1 to 256 steps":  convert("--random-walk", "0"),
		"expected gray images, a class for each":    append(convert(), "--from", filepath.Join(dir, "data/superpixels")),
		"--from is missing":                         {"data", "convert", "superpixels"},
		"expected flags only, found \"data/image\"": {"data", "convert", "superpixels", "data/image"},
	} {
		if status, _, errs := program(nil, args...); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
}

// TestFewMolecules: a conversion says that a split which training needs has no row, and what helps.
func TestFewMolecules(t *testing.T) {
	dir := t.TempDir()
	few := writeText(t, filepath.Join(dir, "first_5k.tpsa.csv"), moleculesHeader.Line+"\nC,0\nCC,0\nCO,20.23\nCN,26.02\n")
	graphs := writeText(t, filepath.Join(dir, "few.csv"), "smiles,tpsa,part\nC,0,train\nCC,0,train\nCO,20.23,train\n")
	lines := writeText(t, filepath.Join(dir, "g.jsonl"), `{"features":[[1]],"edges":[[0,0]],"label":"a","part":"train"}`+"\n"+`{"features":[[2]],"edges":[[0,0]],"label":"b","part":"train"}`+"\n")
	for i, c := range []struct {
		want string
		args []string
	}{
		{"warning: no row is in val or test: chance decides, by what a row has and --seed; more molecules or another --seed help\n", []string{"molecules", "--from", few, "--seed", "0"}},
		{"warning: no row is in val or test: chance decides, by what a row has and --seed; more rows, another --split or another --seed help\n", []string{"graph", "--from", graphs, "--smiles", "smiles", "--numbers", "tpsa", "--split", "0.9999,0.00005,0.00005"}},
		{"warning: no row is in val, which training needs: the field \"part\" has no such name\n", []string{"graph", "--from", lines, "--label", "label", "--split-field", "part"}},
	} {
		status, out, errs := program(nil, append(append([]string{"data", "convert"}, c.args...), "--to", filepath.Join(dir, fmt.Sprint(i)))...)
		if status != 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: status %d, %s%s: expected %q", c.args, status, out, errs, c.want)
		}
	}
}
