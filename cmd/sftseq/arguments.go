package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// arrangeArguments returns the arguments in the order that package cli expects. The package reads
// flags only before the first argument, so arrangeArguments moves flags there. It separates values
// from single-letter flags: -n1 becomes -n 1. Arguments after -- are not flags. It also passes a model
// argument as --model, calls moveHelp, and warns if a flag in warnIfRepeated is repeated with another
// value.
func arrangeArguments(app *cli.App, args []string) []string {
	if len(args) == 0 || slices.Contains(args, "--generate-bash-completion") {
		return args // the argument to complete must stay last
	}
	args = moveHelp(app.Commands, args)
	out, rest := args[:1:1], args[1:]
	flags, commands := app.Flags, app.Commands
	for {
		flagArgs, arguments, next := separateFlags(flags, commands, rest)
		if next == nil {
			for _, name := range repeatedFlags(flags, flagArgs) {
				if !slices.Contains(warnIfRepeated, name) {
					continue
				}
				fmt.Fprintf(app.ErrWriter,
					"warning: --%s is given several times: only its last value is used\n", name)
			}
			if requestsHelp(flags, flagArgs) {
				arguments = nil // the package would read them as the topic of the help
			}
			flagArgs, arguments = modelArgument(flags, flagArgs, arguments)
			return slices.Concat(out, flagArgs, arguments)
		}
		out = append(out, flagArgs...)
		out = append(out, arguments[0])
		rest, flags, commands = arguments[1:], next.Flags, next.Subcommands
	}
}

// moveHelp moves the word "help" behind the names of commands that have subcommands, because the help
// command of package cli reads a single name: "help data convert" becomes "data help convert".
func moveHelp(commands []*cli.Command, args []string) []string {
	if len(args) < 2 || args[1] != "help" && args[1] != "h" {
		return args
	}
	args = slices.Clone(args)
	for i := 1; i+2 < len(args); i++ {
		at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(args[i+1]) })
		if at < 0 || commands[at].Subcommands == nil {
			break
		}
		args[i], args[i+1] = args[i+1], args[i]
		commands = commands[at].Subcommands
	}
	return args
}

// requestsHelp reports whether --help is among the flags, and not the value of another flag.
func requestsHelp(flags []cli.Flag, flagArgs []string) bool {
	for i := 0; i < len(flagArgs); i++ {
		name, _, attached := strings.Cut(strings.TrimLeft(flagArgs[i], "-"), "=")
		if slices.Contains(cli.HelpFlag.Names(), name) && !attached {
			return true
		}
		if takesValue(findFlag(flags, name)) && !attached {
			i++
		}
	}
	return false
}

// separateFlags separates the flags of a command and their values (flagArgs) from its arguments. If
// the first argument is a subcommand, separateFlags returns the subcommand as next, and arguments
// begins with its name.
func separateFlags(flags []cli.Flag, commands []*cli.Command,
	args []string) (flagArgs, arguments []string, next *cli.Command) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return flagArgs, slices.Concat([]string{"--"}, arguments, args[i+1:]), nil
		case len(arg) < 2 || arg[0] != '-': // - means standard input
			if at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(arg) }); at >= 0 &&
				arguments == nil {
				return flagArgs, args[i:], commands[at]
			}
			if i == 0 && commands != nil { // the flags of an unknown command are unknown, too
				return nil, args, nil
			}
			arguments = append(arguments, arg)
			continue
		}
		name, _, attached := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		f := findFlag(flags, name)
		if f == nil && arg[1] != '-' && takesValue(findFlag(flags, arg[1:2])) &&
			nearest(longNames(flags), name) == "" {
			flagArgs = append(flagArgs, arg[:2], arg[2:])
			continue
		}
		if flagArgs = append(flagArgs, arg); attached || !takesValue(f) {
			continue
		}
		if i++; i == len(args) { // drop the arguments, so that none becomes the missing value
			return flagArgs, nil, nil
		}
		flagArgs = append(flagArgs, args[i])
	}
	return flagArgs, arguments, nil
}

// modelArgument passes the first argument as --model, if the command has this flag without a default and
// flagArgs does not set it. With --verify, which needs no model, all arguments remain files.
func modelArgument(flags []cli.Flag, flagArgs, arguments []string) (_, _ []string) {
	if f, ok := findFlag(flags, "model").(*cli.StringFlag); !ok || f.Value != "" || len(arguments) == 0 ||
		strings.HasPrefix(arguments[0], "-") {
		return flagArgs, arguments
	}
	for _, arg := range flagArgs {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && (name == "model" || name == "verify") {
			return flagArgs, arguments
		}
	}
	return append(flagArgs, "--model", arguments[0]), arguments[1:]
}

// findFlag returns the flag with the given name or alias, or nil.
func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// longNames returns the names of all flags except single letters.
func longNames(flags []cli.Flag) (names []string) {
	for _, f := range flags {
		names = append(names, f.Names()...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return len(name) == 1 })
}

// takesValue reports whether f takes a value. It returns false for nil.
func takesValue(f cli.Flag) bool {
	valued, ok := f.(cli.DocGenerationFlag)
	return ok && valued.TakesValue()
}

// warnIfRepeated lists the flags whose repetition with another value causes a warning, because
// silently using the last value could read an unintended input. Scripts may override other flags,
// such as numbers, by a later value.
var warnIfRepeated = []string{"model", "data", "input", "text", "tokens", "features", "pair", "label", "tags", "spans",
	"intervals", "split-column"}

// repeatedFlags returns the single-value flags that are set several times to different values.
func repeatedFlags(flags []cli.Flag, flagArgs []string) (names []string) {
	values := map[string]string{}
	for i := 0; i < len(flagArgs); i++ {
		name, value, attached := strings.Cut(strings.TrimLeft(flagArgs[i], "-"), "=")
		f := findFlag(flags, name)
		if !takesValue(f) {
			continue
		}
		if !attached {
			if i++; i == len(flagArgs) {
				break
			}
			value = flagArgs[i]
		}
		if slice, ok := f.(cli.DocGenerationSliceFlag); ok && slice.IsSliceFlag() {
			continue
		}
		name = f.Names()[0]
		if previous, ok := values[name]; ok && previous != value && !slices.Contains(names, name) {
			names = append(names, name)
		}
		values[name] = value
	}
	return names
}
