package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestArranged: flags may stand anywhere, and keep their values and their order.
func TestArranged(t *testing.T) {
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
		"predict x --modle m":                          "predict --modle x m",
		"data convert image --from x":                  "data convert image --from x",
		"data convert --text image x":                  "data convert --text image x",
		"data convert x image --force":                 "data convert x image --force",
		"train listop --preset quick":                  "train listop --preset quick",
		"train --preset quick listop":                  "train --preset quick listop",
		"data convert --max-length -3":                 "data convert --max-length -3",
		"predict x --model":                            "predict --model",
		"train listops --out":                          "train listops --out",
		"nothing x --flag":                             "nothing x --flag",
		"data info x --help":                           "data info --help x",
		"predict x --model --generate-bash-completion": "predict x --model --generate-bash-completion",
	} {
		got := arranged(newApp(), append([]string{"sftseq"}, strings.Fields(typed)...))
		equal(t, got, append([]string{"sftseq"}, strings.Fields(want)...), typed, want)
	}
	equal(t, arranged(newApp(), nil), nil)
}

// TestFlagsAfterArguments: they are read, for commands of every kind.
func TestFlagsAfterArguments(t *testing.T) {
	dir := generated(t)
	if status, _, errs := program(nil, "data", "info", dir, "--verify"); status != 0 || errs != "the checksums agree\n" {
		t.Errorf("status %d, %s", status, errs)
	}
	occurs(t, succeed(t, "", "data", "head", dir, "-n1"), "\n", 1)
	line := writeText(t, filepath.Join(t.TempDir(), "x.jsonl"), `{"tokens":[1,2]}`)
	if a, b := succeed(t, "", "predict", line, "--model", goldenPath("pre")), succeed(t, "", "predict", "--model", goldenPath("pre"), line); a != b || a == "" {
		t.Errorf("%s, want %s", a, b)
	}
	refuse(t, exitUsage, "not defined: -verfy. Did you mean --verify?; see sftseq data info --help", "", "data", "info", dir, "--verfy")
	refuse(t, exitUsage, `invalid value "x" for flag -n`, "", "data", "head", dir, "-nx")
}

func TestVersionFlag(t *testing.T) {
	want := succeed(t, "", "version")
	for _, flag := range []string{"--version", "-v"} {
		equal(t, succeed(t, "", flag), want, flag)
	}
}
