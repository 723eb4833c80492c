package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"
)

// minLikeness is the similarity from which a name is suggested for a misspelt word: "model" and "modle" have 0.95,
// "train" and "nothing" 0.68. The library that parses the command line has no such limit and suggests "train" for
// "nothing".
const minLikeness = 0.85

// nearest returns the name that was probably meant, or "".
func nearest(names []string, typed string) (name string) {
	best := minLikeness
	for _, n := range names {
		if likeness := smetrics.JaroWinkler(n, typed, 0.7, 4); likeness >= best { // as the library has it
			name, best = n, likeness
		}
	}
	return name
}

func init() { cli.SuggestCommand = suggestCommand } // for the command help

// suggestCommand suggests the command that was probably meant, or returns "".
func suggestCommand(commands []*cli.Command, typed string) string {
	if name := nearest(commandNames(commands), typed); name != "" {
		return fmt.Sprintf("Did you mean %q?", name)
	}
	return ""
}

// commandNames returns the names of all commands except help.
func commandNames(commands []*cli.Command) (names []string) {
	for _, sub := range commands {
		if sub.Name != "help" {
			names = append(names, sub.Name)
		}
	}
	return names
}

// suggestFlag adds to an error about an undefined flag which sibling commands define it, or which flag was probably
// meant. It returns "" for other errors, or if no name is similar.
func suggestFlag(c *cli.Context, err error) string {
	typed, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown || c.Command == nil {
		return ""
	}
	typed = strings.TrimPrefix(typed, "-")
	if others := siblingsWith(c, typed); others != "" {
		return others
	}
	if name := nearest(longNames(c.Command.Flags), typed); name != "" {
		return fmt.Sprintf(". Did you mean --%s?", name)
	}
	return ""
}

// siblingsWith lists the sibling commands of a subcommand, such as other tasks of train, that define a flag. It
// returns "" if none does, and for the top-level commands, which have different purposes.
func siblingsWith(c *cli.Context, flag string) string {
	lineage := c.Lineage()
	if len(lineage) < 2 || lineage[1].Command == nil || lineage[1].Command.HelpName == c.App.Name {
		return ""
	}
	var names []string
	for _, s := range lineage[1].Command.Subcommands {
		if flagCalled(s.Flags, flag) != nil {
			names = append(names, s.Name)
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf(": %s has no --%s, which is for %s", c.Command.Name, flag, strings.Join(names, ", "))
}
