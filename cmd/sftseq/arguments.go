package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// arranged returns the arguments in the order that package cli expects. The package reads flags
// only before the first argument, so arranged moves flags there. It splits values attached to
// single-letter flags, as in -n1. Arguments after -- are not flags.
func arranged(app *cli.App, args []string) []string {
	if len(args) == 0 || slices.Contains(args, "--generate-bash-completion") {
		return args // the last argument is incomplete
	}
	out, rest := args[:1:1], args[1:]
	flags, commands := app.Flags, app.Commands
	for {
		ahead, arguments, next := arrange(flags, commands, rest)
		if next == nil {
			for _, name := range givenAgain(flags, ahead) {
				if !slices.Contains(onlyOnce, name) {
					continue
				}
				fmt.Fprintf(app.ErrWriter,
					"warning: --%s is given several times: only its last value is used\n", name)
			}
			ahead, arguments = modelArgument(flags, ahead, arguments)
			return slices.Concat(out, ahead, arguments)
		}
		out = append(out, ahead...)
		out = append(out, arguments[0])
		rest, flags, commands = arguments[1:], next.Flags, next.Subcommands
	}
}

// arrange separates the flags of a command and their values (ahead) from its arguments. If the
// first argument is a subcommand, arrange returns it as next, and the arguments begin with it.
func arrange(flags []cli.Flag, commands []*cli.Command, args []string) (ahead, arguments []string, next *cli.Command) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return ahead, slices.Concat([]string{"--"}, arguments, args[i+1:]), nil
		case len(arg) < 2 || arg[0] != '-': // - means standard input
			if at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(arg) }); at >= 0 &&
				arguments == nil {
				return ahead, args[i:], commands[at]
			}
			if i == 0 && commands != nil { // an unknown command, whose flags are unknown, too
				return nil, args, nil
			}
			arguments = append(arguments, arg)
			continue
		}
		name, _, attached := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		f := flagCalled(flags, name)
		if f == nil && arg[1] != '-' && takesValue(flagCalled(flags, arg[1:2])) &&
			nearest(longNames(flags), name) == "" {
			ahead = append(ahead, arg[:2], arg[2:])
			continue
		}
		if ahead = append(ahead, arg); attached || !takesValue(f) {
			continue
		}
		if i++; i == len(args) { // otherwise, an argument would become the missing value
			return ahead, nil, nil
		}
		ahead = append(ahead, args[i])
	}
	return ahead, arguments, nil
}

// modelArgument makes the first argument of a command with --model the value of that flag, unless
// the flag is set. With --verify, which needs no model, the arguments stay files.
func modelArgument(flags []cli.Flag, ahead, arguments []string) (_, _ []string) {
	if _, ok := flagCalled(flags, "model").(*cli.StringFlag); !ok || len(arguments) == 0 ||
		strings.HasPrefix(arguments[0], "-") {
		return ahead, arguments
	}
	for _, arg := range ahead {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && (name == "model" || name == "verify") {
			return ahead, arguments
		}
	}
	return append(ahead, "--model", arguments[0]), arguments[1:]
}

// flagCalled returns the flag with a name, or nil.
func flagCalled(flags []cli.Flag, name string) cli.Flag {
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

// onlyOnce lists the flags whose repetition is an error, because silently using the last value
// could read an unintended input. Scripts may override other flags, such as numbers, by a later
// value.
var onlyOnce = []string{"model", "data", "input", "text", "tokens", "features", "pair", "label", "tags", "spans",
	"intervals", "split-column"}

// givenAgain returns the single-value flags that are set several times to different values.
func givenAgain(flags []cli.Flag, ahead []string) (names []string) {
	values := map[string]string{}
	for i := 0; i < len(ahead); i++ {
		name, value, attached := strings.Cut(strings.TrimLeft(ahead[i], "-"), "=")
		f := flagCalled(flags, name)
		if !takesValue(f) {
			continue
		}
		if !attached {
			if i++; i == len(ahead) {
				break
			}
			value = ahead[i]
		}
		if many, ok := f.(cli.DocGenerationSliceFlag); ok && many.IsSliceFlag() {
			continue
		}
		name = f.Names()[0]
		if before, ok := values[name]; ok && before != value && !slices.Contains(names, name) {
			names = append(names, name)
		}
		values[name] = value
	}
	return names
}
