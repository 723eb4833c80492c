package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// exampleFiles maps an example to a function that writes a few rows of each raw file that the
// example's README names.
var exampleFiles = map[string]func(t *testing.T, dir string){
	"components": func(t *testing.T, dir string) {
		for class, height := range map[string]int{"Crystal": 0, "Varistor": 9} {
			folder := filepath.Join(dir, "kicad/usr/share/kicad/3dmodels", class+".3dshapes")
			makeFolder(t, folder)
			for i := range 40 {
				text := "#VRML V2.0 utf8\n"
				for j, material := range []string{"PIN-01", "PLASTIC-BLUE-01"} {
					text += fmt.Sprintf("Shape { appearance Appearance { material DEF %s Material { diffuseColor 0.%d 0 1 } }\n"+
						"geometry IndexedFaceSet { coord Coordinate { point [%d 0 0, %d 4 %d, 0 %d 1] } coordIndex [0 1 2] } }\n", material, j+1, i+1, j, height, i+j)
				}
				writeText(t, filepath.Join(folder, fmt.Sprintf("%c%c_1x%02d.wrl", 'a'+i%10, 'a'+i/10, i)), text)
			}
		}
	},
	"molecules": func(t *testing.T, dir string) {
		folder := filepath.Join(dir, "rdkit/usr/share/RDKit/Data/NCI")
		makeFolder(t, folder)
		text := "# TPSA\n"
		for i := range 60 {
			text += fmt.Sprintf("%s%s%s,%d.50\n", strings.Repeat("C", 1+i%7), strings.Repeat("O", 1+i%3),
				strings.Repeat("N", i%4), 1+i%3)
		}
		writeText(t, filepath.Join(folder, "first_5k.tpsa.csv"), text)
		writeText(t, filepath.Join(dir, "new.csv"), "CCO\nOCCN\n")
	},
	"superpixels": func(t *testing.T, dir string) {
		folder := filepath.Join(dir, "cifar-10-batches-bin")
		makeFolder(t, folder)
		image := func(label, level byte) string {
			return string([]byte{label}) + strings.Repeat(string([]byte{level, level / 2}), 3*512)
		}
		for _, name := range []string{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
			"data_batch_5", "test_batch"} {
			writeText(t, filepath.Join(folder, name+".bin"), strings.Repeat(image(0, 20)+image(1, 120), 8))
		}
	},
}

func makeFolder(t *testing.T, folder string) {
	t.Helper()
	must.Succeed(t, os.MkdirAll(folder, 0o777))
}

// TestExamples runs the tests of the examples that write tables, and the commands in their READMEs
// on a few rows. Each example builds, its table is converted to a data set, a model trains with the
// documented flags and those in [tiny], and eval compares the model with a baseline.
func TestExamples(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover")
	testenv.Long(t, "builds programs")
	for name, want := range map[string][]string{
		"components":  {"seed-1, seed-2", "moments and radii", "selected by iou", "most frequent part"},
		"molecules":   {"selected by mae", "sums and moments", `"numbers":{"tpsa":`},
		"superpixels": {"sums and moments"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, example := t.TempDir(), filepath.Join(examplesDir, name)
			exampleFiles[name](t, dir)
			runExample(t, "go test ./...", dir, example)
			page := strings.ReplaceAll(readText(t, filepath.Join(example, "README.md")), "\\\n", " ")
			output := ""
			for _, block := range strings.Split(page, "```sh\n")[1:] {
				block, _, _ = strings.Cut(block, "```")
				for command := range strings.Lines(block) {
					output += runExample(t, strings.TrimSpace(command), dir, example)
				}
			}
			for _, part := range want {
				contains(t, output, part)
			}
		})
	}
}

// runExample runs a command of an example's README, except apt-get, with the paths of its data in dir. It
// returns the output, or "" if the command is apt-get or redirects its output to a file.
func runExample(t *testing.T, command, dir, example string) string {
	t.Helper()
	command, to, _ := strings.Cut(command, " > ")
	input := ""
	for part := range strings.SplitSeq(command, " | ") {
		args := strings.Fields(part)
		for i, arg := range args {
			isPath := i > 0 && slices.Contains([]string{"-from", "--from", "--to", "--data", "--out", "--model"},
				args[i-1]) || strings.HasSuffix(arg, ".csv")
			if isPath {
				args[i] = filepath.Join(dir, arg)
			}
		}
		switch args[0] {
		case "apt-get":
			return "" // exampleFiles has written the data of the package
		case "sftseq":
			if args[1] == "train" {
				args = append(args, tiny...)
			}
			out, errs := exits(t, exitOK, input, args[1:]...)
			input = out + errs
		default:
			c := exec.CommandContext(t.Context(), args[0], args[1:]...)
			c.Dir, c.Env = example, append(os.Environ(), "GOFLAGS=-mod=readonly")
			var errs bytes.Buffer
			c.Stderr = &errs
			out, err := c.Output()
			if err != nil || errs.Len() > 0 {
				t.Fatalf("%s: got error %v, standard error %q; want error <nil> and no standard error", command, err,
					&errs)
			}
			input = string(out)
		}
	}
	if to != "" {
		writeText(t, filepath.Join(dir, to), input)
		return ""
	}
	return input
}

// TestCollectSources checks that collect.sh copies a limited number of files per language and skips
// files with equal content. Shell scripts need no extension.
func TestCollectSources(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("sh is missing")
	}
	from, to := filepath.Join(t.TempDir(), "my files"), filepath.Join(t.TempDir(), "to")
	makeFolder(t, filepath.Join(from, "b"))
	long := strings.Repeat("x", 300)
	for i := range 7 {
		writeText(t, filepath.Join(from, fmt.Sprintf("%d.go", i)), fmt.Sprint(i, long))
		writeText(t, filepath.Join(from, "b", fmt.Sprintf("%d.go", i)), fmt.Sprint(i, long))
	}
	for name, text := range map[string]string{"a.py": "a" + long, "b.py": "a" + long, "c.py": "c" + long,
		"short.py": "c", "run": "#!/bin/sh\n" + long, "b/env": "#!/usr/bin/env bash\n" + long,
		"text": long, "x.sh": "x" + long} {
		writeText(t, filepath.Join(from, name), text)
	}
	command := exec.Command(sh, must.Get(filepath.Abs("../../examples/sources/collect.sh"))(t), to, "4")
	command.Dir = filepath.Dir(from)
	command.Env = append(os.Environ(), "SOURCES="+filepath.Base(from)[:2]+"*")
	output, err := command.CombinedOutput()
	must.Succeed(t, err, string(output))
	for class, want := range map[string][]string{
		"go":     {"my files_0.go", "my files_1.go", "my files_3.go", "my files_5.go"},
		"python": {"my files_a.py", "my files_c.py"},
		"shell":  {"my files_b_env", "my files_run", "my files_x.sh"}, "c": nil, "markdown": nil, "javascript": nil,
	} {
		entries := must.Get(os.ReadDir(filepath.Join(to, class)))(t)
		var got []string
		for _, entry := range entries {
			got = append(got, entry.Name())
		}
		equal(t, got, want, class, string(output))
	}
}
