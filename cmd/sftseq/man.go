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
			page, err := manualApp().ToManWithSection(1)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.App.Writer, strings.TrimRight(page, "\n")+"\n")
			return err
		},
	}
}

// manualApp adapts the program to urfave/cli, which writes the manual page. urfave/cli ignores
// descriptions of commands, uses only the last word of a command's name as its heading, and rewraps
// lines that are not indented.
func manualApp() *cli.App {
	app := newApp()
	app.Description = indent(app.Description)
	app.Commands = flattenCommands(app.Commands, "")
	return app
}

// flattenCommands returns commands and subcommands with their full names, without the help
// command that urfave/cli adds to each.
func flattenCommands(commands []*cli.Command, parent string) (out []*cli.Command) {
	for _, c := range commands {
		text := c.UsageText
		if c.Description != "" {
			text += "\n\n" + c.Description
		}
		out = append(out, &cli.Command{Name: parent + c.Name, Usage: c.Usage, UsageText: text,
			Flags: c.Flags, Hidden: c.Hidden})
		out = append(out, flattenCommands(c.Subcommands, parent+c.Name+" ")...)
	}
	return out
}

// indent indents a text so that its line breaks are kept.
func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
