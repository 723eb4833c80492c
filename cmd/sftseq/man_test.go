package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestManualPage checks that the page has every command with its example and its flags, and that
// man formats the page without warnings.
func TestManualPage(t *testing.T) {
	page := succeed(t, "", "man")
	equal(t, page, succeed(t, "", "man"))
	testenv.NeedPrograms(t, "man")
	c := exec.Command("man", "--warnings", "--local-file", "-")
	c.Env = append(c.Environ(), "MANWIDTH=500", "LC_ALL=C.UTF-8", "MAN_KEEP_FORMATTING=", "GROFF_NO_SGR=1")
	c.Stdin = strings.NewReader(page)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("man: got error %v, want <nil>; got standard error %q, want \"\"", err, errs.String())
	}
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") + " " }
	text := words(string(out))
	expect := func(want string) {
		if !strings.Contains(text, words(want)) {
			t.Errorf("the manual page does not contain %q", want)
		}
	}
	var check func(above string, commands []*cli.Command)
	check = func(above string, commands []*cli.Command) {
		for _, c := range commands {
			expect(above + c.Name + " " + c.Usage)
			expect(c.UsageText)
			expect(c.Description)
			for _, f := range c.VisibleFlags() {
				expect(strings.ReplaceAll(f.(cli.DocGenerationFlag).GetUsage(), "`", ""))
			}
			check(above+c.Name+" ", c.Subcommands)
		}
	}
	check("", newApp().Commands)
	expect(newApp().Description)
}
