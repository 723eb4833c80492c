package main

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

func manCommand() *cli.Command {
	return &cli.Command{
		Name:  "man",
		Usage: "print the manual page, with all commands and flags",
		UsageText: `sftseq man

Example: sftseq man | man -l -
         sftseq man > ~/.local/share/man/man1/sftseq.1`,
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			page, err := manual().ToManWithSection(1)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.App.Writer, strings.TrimRight(page, "\n")+"\n")
			return err
		},
	}
}

// manual adapts the program to the library that writes manual pages. The library ignores
// descriptions of commands, uses only the last word of a command's name as its heading, and rewraps
// lines that are not indented.
func manual() *cli.App {
	app := newApp()
	app.Description = indented(app.Description)
	app.Commands = flattened(app.Commands, "")
	return app
}

// flattened returns commands and subcommands with their full names, without the help command that
// the library adds to each.
func flattened(commands []*cli.Command, above string) (out []*cli.Command) {
	for _, c := range commands {
		text := c.UsageText
		if c.Description != "" {
			text += "\n\n" + c.Description
		}
		out = append(out, &cli.Command{Name: above + c.Name, Usage: c.Usage, UsageText: text,
			Flags: c.Flags, Hidden: c.Hidden})
		out = append(out, flattened(c.Subcommands, above+c.Name+" ")...)
	}
	return out
}

// indented indents a text so that its line breaks are kept.
func indented(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
