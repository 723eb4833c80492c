package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestCompletionInShells checks that the tab key completes a command, a flag and an argument in bash
// and zsh.
func TestCompletionInShells(t *testing.T) {
	testenv.Long(t, "builds the program")
	t.Parallel()
	// Typed text, and the text that the shell must show before the test types more.
	typed := [][2]string{
		{"sftseq versi\t", "on "}, {"--js\t", "on "}, {"\n", `"kernels": "`},
		{"sftseq comple\t", "tion "}, {"powers\t", "hell "},
		{"\n", "Register-ArgumentCompleter -Native -CommandName sftseq"},
		{"exit\n", "exit"},
	}
	for shell, c := range map[string]struct {
		args  []string
		setup string
	}{
		"bash": {[]string{"--norc", "--noprofile", "-i"}, "source <(sftseq completion bash)"},
		"zsh": {[]string{"-f", "-i"},
			"autoload -Uz compinit && compinit -u -d dump && eval \"$(sftseq completion zsh)\""},
		// The script as a file in zsh's function path.
		"zsh fpath": {[]string{"-f", "-i"},
			"mkdir f && sftseq completion zsh >f/_sftseq && fpath=($PWD/f $fpath) && autoload -Uz compinit && compinit -u -d dump"},
	} {
		t.Run(shell, func(t *testing.T) {
			name, _, _ := strings.Cut(shell, " ")
			// The terminal shows the typed command and its output: the quotes distinguish them.
			ready := [2]string{c.setup + " && echo rea''dy\n", "ready"}
			typeInto(t, append([][2]string{ready}, typed...), name, c.args...)
		})
	}
}

// typeInto runs a shell and types texts into its terminal. It types each text after the screen
// shows the expected result of the previous text.
func typeInto(t *testing.T, typed [][2]string, shell string, args ...string) {
	testenv.NeedPrograms(t, shell)
	program, screen := terminal(t)
	environment := withProgram(t, "TERM=dumb", "SHELL=/bin/sh")    // builds the program
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // the machine may be busy
	defer cancel()
	c := exec.CommandContext(ctx, shell, args...)
	c.Dir, c.Env = t.TempDir(), environment
	c.Stdin, c.Stdout, c.Stderr = program, program, program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must.Succeed(t, c.Start())
	program.Close()
	parts := make(chan string)
	go func() {
		defer close(parts)
		for {
			part := make([]byte, 4096)
			n, err := screen.Read(part) // fails when the shell has closed its side
			if n > 0 {
				parts <- string(part[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	all := ""
	for _, step := range typed {
		if _, err := screen.WriteString(step[0]); err != nil {
			t.Error(err)
		}
		shown := ""
		for !strings.Contains(shown, step[1]) {
			part, more := <-parts
			if !more {
				t.Errorf("after %q: expected %q, found\n%q\nthe whole screen:\n%s", step[0], step[1], shown, all)
				break
			}
			shown, all = shown+part, all+part
		}
	}
	for range parts {
	}
	if err := c.Wait(); err != nil {
		t.Errorf("error %v, output:\n%s", err, all)
	}
}

// withProgram returns an environment in which shells find the program.
func withProgram(t *testing.T, more ...string) []string {
	path := "PATH=" + filepath.Dir(built(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	return append(os.Environ(), append(more, path)...)
}

// TestCompletionInFish checks that fish lists the expected completions.
func TestCompletionInFish(t *testing.T) {
	testenv.Long(t, "builds the program")
	testenv.NeedPrograms(t, "fish")
	for typed, want := range map[string]string{"sftseq versi": "version\t", "sftseq version --js": "--json\t",
		"sftseq data conv": "convert\t"} {
		c := exec.Command("fish", "--no-config", "-c", "sftseq completion fish | source; complete -C '"+typed+"'")
		c.Env = withProgram(t, "HOME="+t.TempDir())
		out, err := c.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%q: %v, expected a line with %q first, found\n%s", typed, err, want, out)
		}
	}
}
