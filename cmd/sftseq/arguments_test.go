package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/must"
)

// TestArrangeArguments checks that flags may follow arguments, and that flags keep their values and
// their order.
func TestArrangeArguments(t *testing.T) {
	for typed, want := range map[string]string{
		"":                                             "",
		"version":                                      "version",
		"data info DIR --verify":                       "data info --verify DIR",
		"data head DIR -n 3 --tokens":                  "data head -n 3 --tokens DIR",
		"data head DIR -n3":                            "data head -n 3 DIR",
		"data head -n=3 DIR --split val":               "data head -n=3 --split val DIR",
		"data head DIR -rows 3":                        "data head -rows 3 DIR",
		"data head DIR -split=val":                     "data head -split=val DIR",
		"plot a -ofile.svg b":                          "plot -o file.svg a b",
		"plot a -ouput x":                              "plot -ouput a x",
		"report run --out page.html":                   "report --out page.html run",
		"predict - --model m":                          "predict --model m -",
		"predict x --model m -- -odd y":                "predict --model m -- x -odd y",
		"predict --model -- x":                         "predict --model -- x",
		"predict x --modle m":                          "predict --modle --model x m",
		"predict run lines --max-line 9":               "predict --max-line 9 --model run lines",
		"predict run - --max-line 9":                   "predict --max-line 9 --model run -",
		"predict -- run":                               "predict -- run",
		"predict --model=m lines":                      "predict --model=m lines",
		"predict --verify --input a b --output o":      "predict --verify --input a --output o b",
		"export onnx run -o file":                      "export onnx -o file --model run",
		"report --model a b":                           "report --model a b",
		"data convert image --from x":                  "data convert image --from x",
		"data convert --text image x":                  "data convert --text image x",
		"data convert x image --force":                 "data convert x image --force",
		"train listop --preset quick":                  "train listop --preset quick",
		"train --preset quick listop":                  "train --preset quick listop",
		"data convert --max-length -3":                 "data convert --max-length -3",
		"predict x --model":                            "predict --model",
		"train listops --out":                          "train listops --out",
		"nothing x --flag":                             "nothing x --flag",
		"data info x --help":                           "data info --help",
		"plot x -h":                                    "plot -h",
		"plot -o --help x":                             "plot -o --help x",
		"plot x -- --help":                             "plot -- x --help",
		"predict x --model --generate-bash-completion": "predict x --model --generate-bash-completion",
	} {
		got := arrangeArguments(newApp(), append([]string{"sftseq"}, strings.Fields(typed)...))
		equal(t, got, append([]string{"sftseq"}, strings.Fields(want)...), typed, want)
	}
	equal(t, arrangeArguments(newApp(), nil), nil)
}

// TestFlagsAfterArguments checks that several commands accept flags after their arguments.
func TestFlagsAfterArguments(t *testing.T) {
	dir := generated(t)
	if status, _, errs := program(nil, "data", "info", dir, "--verify"); status != 0 ||
		errs != "the checksums agree\n" {
		t.Errorf("got status %d, standard error %q; want status 0, %q", status, errs, "the checksums agree\n")
	}
	occurs(t, succeed(t, "", "data", "head", dir, "-n1"), "\n", 1)
	line := writeText(t, filepath.Join(t.TempDir(), "x.jsonl"), `{"tokens":[1,2]}`)
	if a, b := succeed(t, "", "predict", line, "--model", goldenPath("pre")),
		succeed(t, "", "predict", "--model", goldenPath("pre"), line); a != b || a == "" {
		t.Errorf("flags after the file: got %s; flags before the file: got %s", a, b)
	}
	refuse(t, exitUsage, "unknown flag --verfy. Did you mean --verify? See sftseq data info --help", "",
		"data", "info", dir, "--verfy")
	refuse(t, exitUsage, `-n "x": expected an integer`, "", "data", "head", dir, "-nx")
}

func TestVersionFlag(t *testing.T) {
	want := succeed(t, "", "version")
	for _, flag := range []string{"--version", "-v"} {
		equal(t, succeed(t, "", flag), want, flag)
	}
}

// TestModelForms checks that every command that reads a model accepts the model's directory as --model
// and as the first argument, with the same result. The exception is sftseq files, whose --model has a
// default.
func TestModelForms(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	rows := "text,label\n"
	for i := range 40 {
		rows += fmt.Sprintf("a%d,%c\n", i, "xy"[i%2])
	}
	data := tableData(t, "t.csv", rows, "--text", "text", "--label", "label", "--tokenizer", "byte",
		"--split", "0.6,0.2,0.2")
	runCustom(t, data, at("run"), "--steps", "1", "--device", "cpu")
	runCustom(t, data, at("ngrams"), "--steps", "1", "--device", "cpu", "--ngrams", "bytes:2-2:2^10:1:20")
	line := writeText(t, at("lines.jsonl"), `{"text":"a b","label":"x"}`+"\n")
	forms := map[string][]string{
		"eval": {"--data", data}, "predict": {line}, "embed": {line}, "serve": {}, "info": {},
		"grads": {"--input", line, "--output", at("grads")}, "export onnx": {"--output", at("m.onnx")},
		"export pytorch": {"--output", at("pytorch")}, "export quantized": {"--output", at("quantized")},
		"report": {"--data", data, "--out", at("report.html")}, "plot": {"--output", at("curve.svg")},
	}
	var check func(path []string, commands []*cli.Command)
	check = func(path []string, commands []*cli.Command) {
		for _, c := range commands {
			name := append(slices.Clone(path), c.Name)
			check(name, c.Subcommands)
			f := findFlag(c.Flags, "model")
			if text, ok := f.(*cli.StringFlag); f == nil || ok && text.Value != "" {
				continue // sftseq files has a default model, so its arguments are input
			}
			rest, ok := forms[strings.Join(name, " ")]
			if !ok {
				t.Errorf("%s has --model, but no test case", strings.Join(name, " "))
				continue
			}
			model := at("run")
			if c.Name == "quantized" {
				model = at("ngrams")
			}
			first := done(t, "", slices.Concat(name, []string{model}, rest)...)
			must.Check(t, os.RemoveAll(at("quantized")))
			equal(t, done(t, "", slices.Concat(name, []string{"--model", model}, rest)...), first, name)
			contains(t, failing(t, "", slices.Concat(name, []string{at("none")}, rest)...), at("none"))
		}
	}
	check(nil, newApp().Commands)
}

// TestRepeatedFlag checks the warning about a flag that occurs several times with different values.
func TestRepeatedFlag(t *testing.T) {
	dir := t.TempDir()
	table := writeText(t, filepath.Join(dir, "t.csv"), "a,b,c\nx,y,z\n")
	for _, c := range []struct {
		flags []string
		want  int
	}{{[]string{"--text", "a", "--text", "b"}, 1}, {[]string{"--text=a", "--text", "b", "--text=a"}, 1},
		{[]string{"--text", "a", "--text=a", "--from", table}, 0}, {[]string{"--text", "--text"}, 0}} {
		_, _, output := program(strings.NewReader(""),
			append([]string{"data", "convert", "--from", table, "--to", filepath.Join(dir, "d"), "--force",
				"--tokenizer", "byte"}, c.flags...)...)
		if got := strings.Count(output,
			"warning: --text is given several times: only its last value is used\n"); got != c.want ||
			strings.Count(output, "several times") != c.want {
			t.Errorf("%q: got %s, want %d warnings", c.flags, output, c.want)
		}
	}
}
