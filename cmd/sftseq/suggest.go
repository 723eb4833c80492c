package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"
)

// minLikeness is the minimum similarity of a suggested name: "model" and "modle" have 0.95, "train"
// and "nothing" 0.68. The command-line library has no such limit and would suggest "train" for
// "nothing".
const minLikeness = 0.85

// nearest returns the name that the user probably meant, or "".
func nearest(names []string, typed string) (name string) {
	best := minLikeness
	for _, n := range names {
		if likeness := smetrics.JaroWinkler(n, typed, 0.7, 4); likeness >= best { // same parameters as in the library
			name, best = n, likeness
		}
	}
	return name
}

func init() { cli.SuggestCommand = suggestCommand } // used by the command help

// suggestCommand suggests the command that the user probably meant, or returns "".
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

// suggestFlag returns a suggestion for an error about an undefined flag: the sibling commands that
// define the flag, or a flag with a similar name. It returns "" for other errors, or without a
// similar name.
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

// siblingsWith lists the sibling subcommands, such as other tasks of train, that define a flag. It
// returns "" if none does, and for top-level commands, which have different purposes.
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
	return fmt.Sprintf(": %s has no --%s (it is a flag of %s)", c.Command.Name, flag, strings.Join(names, ", "))
}
