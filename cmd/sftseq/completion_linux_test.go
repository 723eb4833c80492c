package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCompletionInShells: a shell completes a command, a flag and an argument of it when a
// person presses the tab key.
func TestCompletionInShells(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	const typed = "sftseq versi\t--js\t\nsftseq comple\tpowers\t\nexit\n"
	for shell, c := range map[string]struct {
		args  []string
		setup string
	}{
		"bash": {[]string{"--norc", "--noprofile", "-i"}, "source <(sftseq completion bash)\n"},
		"zsh":  {[]string{"-f", "-i"}, "autoload -Uz compinit && compinit -u -d dump && eval \"$(sftseq completion zsh)\"\n"},
		// The script as a file that zsh finds by itself.
		"zsh fpath": {[]string{"-f", "-i"}, "mkdir f && sftseq completion zsh >f/_sftseq && fpath=($PWD/f $fpath) && autoload -Uz compinit && compinit -u -d dump\n"},
	} {
		t.Run(shell, func(t *testing.T) {
			name, _, _ := strings.Cut(shell, " ")
			screen := typeInto(t, c.setup+typed, name, c.args...)
			for _, want := range []string{`"kernels": "`, "Register-ArgumentCompleter -Native -CommandName sftseq"} {
				if !strings.Contains(screen, want) {
					t.Errorf("expected %q, found\n%s", want, screen)
				}
			}
		})
	}
}

// typeInto runs a shell, types into its terminal, and returns what was on the screen.
func typeInto(t *testing.T, typed, shell string, args ...string) string {
	needCommands(t, shell)
	program, screen := terminal(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, shell, args...)
	c.Dir, c.Env = t.TempDir(), withProgram(t, "TERM=dumb", "SHELL=/bin/sh")
	c.Stdin, c.Stdout, c.Stderr = program, program, program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	if _, err := screen.WriteString(typed); err != nil {
		t.Error(err)
	}
	var shown bytes.Buffer
	shown.ReadFrom(screen) // fails when the shell has closed its side
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, shown.Bytes())
	}
	return shown.String()
}

// withProgram is an environment in which shells find the program.
func withProgram(t *testing.T, more ...string) []string {
	path := "PATH=" + filepath.Dir(built(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	return append(os.Environ(), append(more, path)...)
}

// TestCompletionInFish: fish says what it would offer.
func TestCompletionInFish(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	needCommands(t, "fish")
	for typed, want := range map[string]string{"sftseq versi": "version\t", "sftseq version --js": "--json\t", "sftseq data conv": "convert\t"} {
		c := exec.Command("fish", "--no-config", "-c", "sftseq completion fish | source; complete -C '"+typed+"'")
		c.Env = withProgram(t, "HOME="+t.TempDir())
		out, err := c.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%q: %v, expected a line with %q first, found\n%s", typed, err, want, out)
		}
	}
}
