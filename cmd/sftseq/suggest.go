package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"
)

// minSimilarity is the minimum similarity of a suggested name: "model" and "modle" have 0.95,
// "train" and "nothing" 0.68. urfave/cli has no such limit and would suggest "train" for "nothing".
const minSimilarity = 0.85

// nearest returns the name that the user probably meant, or "". It measures similarity as urfave/cli
// does, with the same parameters.
func nearest(names []string, typed string) (name string) {
	best := minSimilarity
	for _, n := range names {
		if similarity := smetrics.JaroWinkler(n, typed, 0.7, 4); similarity >= best {
			name, best = n, similarity
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

// badValue and badVariable match errors of packages flag and urfave/cli about values of flags and of environment
// variables.
var (
	badValue    = regexp.MustCompile(`^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for(?: flag)? -([^: ]+): `)
	badVariable = regexp.MustCompile(
		`^could not parse (".*") as .* value from environment variable "(\w+)" for flag ([^: ]+): `)
)

// flagError rewords errors of packages flag and urfave/cli about undefined flags, invalid and missing values. It
// returns "" for other errors.
func flagError(c *cli.Context, err error) string {
	text := err.Error()
	if typed, unknown := strings.CutPrefix(text, "flag provided but not defined: -"); unknown {
		typed = strings.TrimPrefix(typed, "-")
		return "unknown flag " + dashed(typed) + suggestFlag(c, typed)
	}
	if name, missing := strings.CutPrefix(text, "flag needs an argument: -"); missing {
		return dashed(strings.TrimPrefix(name, "-")) + ": expected a value, found none"
	}
	if m := badValue.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s %s: expected %s", dashed(m[2]), m[1], valueOf(c, m[2]))
	}
	if m := badVariable.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("environment variable %s %s: expected %s", m[2], m[1], valueOf(c, m[3]))
	}
	return ""
}

// dashed returns a flag's name with its dashes.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// valueOf describes the values that a flag of a command accepts.
func valueOf(c *cli.Context, name string) string {
	var flags []cli.Flag
	if c.Command != nil {
		flags = c.Command.Flags
	}
	switch findFlag(flags, name).(type) {
	case *cli.IntFlag, *cli.Int64Flag:
		return "an integer"
	case *cli.UintFlag, *cli.Uint64Flag:
		return "an integer that is not negative"
	case *cli.Float64Flag:
		return "a number"
	case *cli.DurationFlag:
		return "a duration such as 30s or 5m"
	case *cli.BoolFlag:
		return "true or false"
	}
	return "another value"
}

// suggestFlag returns a suggestion for an undefined flag: for --data the argument, the sibling commands or a
// subcommand with the flag, or a flag with a similar name. It returns "" if there is no such command or flag.
func suggestFlag(c *cli.Context, typed string) string {
	if c.Command == nil {
		return ""
	}
	if typed == "data" && strings.Contains(c.Command.ArgsUsage, "DIR") {
		return fmt.Sprintf(": give the directory as an argument: %s DIR", c.Command.HelpName)
	}
	if siblings := siblingsWith(c, typed); siblings != "" {
		return siblings
	}
	if c.Command.HelpName != c.App.Name {
		for _, sub := range slices.Backward(c.Command.Subcommands) { // train custom is last, and preferred
			if findFlag(sub.Flags, typed) != nil {
				return fmt.Sprintf(": flags of %s follow a subcommand, such as %s %s %s", c.Command.Name,
					c.Command.HelpName, sub.Name, dashed(typed))
			}
		}
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
		if findFlag(s.Flags, flag) != nil {
			names = append(names, s.Name)
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf(": %s has no --%s (a flag of %s)", c.Command.Name, flag, strings.Join(names, ", "))
}
