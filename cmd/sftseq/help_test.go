package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
)

// TestHelp checks that the help of every command has an example and a limited number of short
// lines. If the command has advanced flags, the last line names the command that prints them.
func TestHelp(t *testing.T) {
	var check func(c *cli.Command, path ...string)
	check = func(c *cli.Command, path ...string) {
		help, whole := succeed(t, "", append(path, "--help")...), succeed(t, "", append(path, "--help-all")...)
		name, maxLines := strings.Join(path, " "), 60
		if len(path) == 2 && path[0] == "train" {
			maxLines = 50
		}
		if n := strings.Count(help, "\n"); n >= maxLines {
			t.Errorf("%s --help has %d lines, expected fewer than %d", name, n, maxLines)
		}
		if !strings.Contains(help, "Example") {
			t.Errorf("%s --help has no example", name)
		}
		if strings.Contains(whole, "(default: false)") {
			t.Errorf("%s --help-all prints the default false of a switch", name)
		}
		checkLines(t, name, whole)
		for line := range strings.Lines(help) {
			if strings.HasPrefix(line, "  -") && !strings.Contains(whole, line) {
				t.Errorf("%s --help-all does not have the line %q", name, line)
			}
		}
		hidden := 0
		for _, f := range c.Flags {
			heading := f.(cli.CategorizableFlag).GetCategory()
			base, advanced := strings.CutSuffix(heading, advancedSuffix)
			if !slices.Contains(groups, base) {
				t.Errorf("%s: --%s is under %q, which is not a heading", name, f.Names()[0], heading)
			}
			if shown := shows(help, f); advanced == shown && !isHelp(f) {
				t.Errorf("%s --help shows --%s: %v; the flag is advanced: %v", name, f.Names()[0], shown, advanced)
			}
			if !shows(whole, f) && !isHelp(f) {
				t.Errorf("%s --help-all does not show --%s", name, f.Names()[0])
			}
			if advanced {
				hidden++
			}
		}
		lines := strings.Split(strings.TrimSpace(help), "\n")
		if refers := strings.HasSuffix(lines[len(lines)-1],
			"advanced flags: sftseq "+name+" --help-all"); refers != (hidden > 0) || (help == whole) == (hidden > 0) {
			t.Errorf("%s --help omits %d flags, but its last line is %q", name, hidden, lines[len(lines)-1])
		}
		for _, s := range c.Subcommands {
			check(s, append(slices.Clip(path), s.Name)...)
		}
	}
	for _, c := range newApp().Commands {
		check(c, c.Name)
	}
	if help := succeed(t, "", "--help"); strings.Count(help, "\n") > 40 || help != succeed(t, "") ||
		help != succeed(t, "", "help") {
		t.Errorf("--help prints %d lines, as without arguments: %t, as help: %t; want at most 40 lines, true, true\n%s",
			strings.Count(help, "\n"), help == succeed(t, ""), help == succeed(t, "", "help"), help)
	}
	for _, name := range []string{"predict", "data", "data convert", "data convert image", "train listops"} {
		path := strings.Fields(name)
		if succeed(t, "", append([]string{"help"}, path...)...) != succeed(t, "", append(path, "--help")...) {
			t.Errorf("help %s differs from %[1]s --help", name)
		}
	}
}

// checkLines checks that no line is longer than helpWidth, and that no flag has more than two
// lines.
func checkLines(t *testing.T, name, help string) {
	flag, n := "", 0
	for line := range strings.Lines(help) {
		if columns := utf8.RuneCountInString(strings.TrimRight(line, "\n")); columns > helpWidth {
			t.Errorf("%s --help-all has a line of %d columns, expected at most %d: %s", name, columns, helpWidth, line)
		}
		switch {
		case strings.HasPrefix(line, "  -"):
			flag, n = line, 1
		case flag != "" && strings.HasPrefix(line, "   "):
			if n++; n == 3 {
				t.Errorf("%s --help-all has more than two lines for %s", name, flag)
			}
		default:
			flag = ""
		}
	}
}

// shows reports whether a help text has a line that begins with the flag.
func shows(help string, f cli.Flag) bool {
	row := flagRows([]cli.Flag{f})[0]
	return strings.Contains(help, "\n  "+row[0]+" ") || strings.Contains(help, "\n  "+row[0]+"\n")
}

func isHelp(f cli.Flag) bool { return f.Names()[0] == "help" || f.Names()[0] == "help-all" }

// TestFlagsOfTasks checks that train defines a flag only for the tasks whose data can use the flag.
// custom has all of these flags except --mask-rate and --fresh.
func TestFlagsOfTasks(t *testing.T) {
	for name, want := range map[string]func(*lra.Task) bool{
		"point-rotation":  func(task *lra.Task) bool { return slices.Contains(task.Features, "z") },
		"fresh":           func(task *lra.Task) bool { return task == lra.Pathfinder },
		"image-flip":      func(task *lra.Task) bool { return task == lra.Image || task == lra.Pathfinder },
		"point-shift":     func(task *lra.Task) bool { return slices.Contains(task.Features, "z") },
		"input":           func(task *lra.Task) bool { return task.Features != nil },
		"embedding-init":  func(task *lra.Task) bool { return task.Tokenizer != nil },
		"sinusoid-dim":    func(task *lra.Task) bool { return task.Tokenizer != nil },
		"class-weights":   func(task *lra.Task) bool { return task.Labels != nil || task == lra.Files },
		"regression-loss": func(task *lra.Task) bool { return task.Numbers != nil },
		"mask-rate":       func(*lra.Task) bool { return false },
		"select":          func(*lra.Task) bool { return true },
	} {
		for _, task := range append(lra.Tasks(), lra.Files) {
			help := succeed(t, "", "train", task.Name, "--help-all")
			if shown := strings.Contains(help, "\n  --"+name+" "); shown != want(task) {
				t.Errorf("train %s --help-all shows --%s: %v, want %v", task.Name, name, shown, want(task))
			}
		}
		if help := succeed(t, "", "train", "custom", "--members", "sft", "--help-all"); strings.Contains(help,
			"\n  --"+name+" ") == (name == "mask-rate" || name == "fresh") {
			t.Errorf("train custom --help-all: want --%s, unless it is --mask-rate or --fresh, in\n%s", name, help)
		}
	}
	config := writeText(t, filepath.Join(t.TempDir(), "flags.json"), `{"point-rotation": "z"}`)
	refuse(t, exitError, `unknown flag "point-rotation": listops has no --point-rotation (a flag of `, "",
		"train", "listops", "--config", config, "--out", filepath.Join(t.TempDir(), "run"))
}

// TestHelpAllBeforeCommands checks that --help-all prints the help of the command in every
// position, and that the command does not run.
func TestHelpAllBeforeCommands(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	want := succeed(t, "", "train", "listops", "--help-all")
	for _, args := range [][]string{
		{"--help-all", "train", "listops", "--out", out}, {"train", "--help-all", "listops", "--out", out},
		{"train", "listops", "--help-all", "--out", out},
	} {
		if got := succeed(t, "", args...); got != want {
			t.Errorf("%q: expected the help of train listops, got %s", args, got)
		}
	}
	noFile(t, out)
}

// TestHintsOfTopLevelFlags checks that the hint for a flag of train's subcommands does not name other
// top-level commands, such as pretrain.
func TestHintsOfTopLevelFlags(t *testing.T) {
	_, _, errs := program(nil, "train", "--epochs", "3")
	if strings.Contains(errs, "pretrain") || !strings.Contains(errs, "-epochs") {
		t.Errorf("got error\n%swant -epochs without pretrain", errs)
	}
}
