package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:      "version",
		Usage:     "show the version of the program",
		UsageText: "sftseq version\n\nExample: sftseq version",
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return printVersion(c)
		},
	}
}

func printVersion(c *cli.Context) error {
	_, err := fmt.Fprintf(c.App.Writer, "sftseq %s\n%s, %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version is the module's version and, where the program was built from a
// checkout, the revision.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, modified := info.Main.Version, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " (modified)"
		case s.Key == "vcs.revision":
			v += " " + s.Value
		}
	}
	return v + modified
}
