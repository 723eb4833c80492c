package main

import (
	"log/slog"
	"os"
	"reflect"
	"strings"

	"github.com/urfave/cli/v2"
)

// variablePrefix begins the names of the program's environment variables.
const variablePrefix = "SFTSEQ_"

// fromEnvironment lets environment variables set the given flags: SFTSEQ_MAX_MEMORY sets
// --max-memory. The command line takes precedence. An empty variable counts as unset, except for
// --http-token: a server that was meant to require a token must not start without one.
func fromEnvironment(flags []cli.Flag) []cli.Flag {
	for _, f := range flags {
		name := f.Names()[0]
		if value, set := os.LookupEnv(variableOf(name)); set && value == "" && name != "http-token" {
			continue
		}
		reflect.ValueOf(f).Elem().FieldByName("EnvVars").Set(reflect.ValueOf([]string{variableOf(name)}))
	}
	return flags
}

// variableOf returns the environment variable of a flag.
func variableOf(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// warnMisspeltVariables warns of variables that match no flag of the command, but resemble a flag's
// variable: a misspelt variable has no effect.
func warnMisspeltVariables(c *cli.Context, log *slog.Logger) {
	for _, set := range os.Environ() {
		name, _, _ := strings.Cut(set, "=")
		suffix, hasPrefix := strings.CutPrefix(name, variablePrefix)
		flag := strings.ToLower(strings.ReplaceAll(suffix, "_", "-"))
		if !hasPrefix || findFlag(c.Command.Flags, flag) != nil {
			continue
		}
		if suggestion := nearest(longNames(c.Command.Flags), flag); suggestion != "" {
			log.Warn("an environment variable matches no flag of "+c.Command.Name, "variable", name, "did_you_mean",
				variableOf(suggestion))
		}
	}
}
