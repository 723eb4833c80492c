package main

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// Headings of --help.
const (
	dataGroup     = "Data"
	inputGroup    = "Input"
	labelGroup    = "Labels"
	splitGroup    = "Splits"
	trainingGroup = "Training"
	modelGroup    = "Model"
	serverGroup   = "Server"
	outputGroup   = "Output"
	deviceGroup   = "Device"
)

// groups lists the headings in the order of --help. Flags without a heading come first.
var groups = []string{"", dataGroup, inputGroup, labelGroup, splitGroup, trainingGroup, modelGroup, serverGroup,
	outputGroup, deviceGroup}

// presetDefault is the default text of flags that override a preset. Help omits this text, because
// the command's description states the default of all such flags.
const presetDefault = "of the preset"

// advancedSuffix ends the heading of flags that only --help-all prints.
const advancedSuffix = ", advanced"

// group sets the category of flags, which is their heading in --help, and returns the flags.
func group(heading string, flags ...cli.Flag) []cli.Flag {
	for _, f := range flags {
		reflect.ValueOf(f).Elem().FieldByName("Category").SetString(heading)
	}
	return flags
}

// advancedGroup sets the heading of flags that only --help-all prints, and returns the flags.
func advancedGroup(heading string, flags ...cli.Flag) []cli.Flag {
	return group(heading+advancedSuffix, flags...)
}

// flagsIf returns flags if they are usable for a task, else nil.
func flagsIf(usable bool, flags []cli.Flag) []cli.Flag {
	if !usable {
		return nil
	}
	return flags
}

// helpAllFlag returns the flag --help-all, which every command has besides --help.
func helpAllFlag() cli.Flag {
	return &cli.BoolFlag{Name: "help-all", Usage: "show help with the advanced flags", DisableDefaultText: true}
}

// withHelpAll returns an action that prints the full help if --help-all follows the command or a
// parent, and calls action otherwise.
func withHelpAll(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if !slices.ContainsFunc(c.Lineage(), func(context *cli.Context) bool { return context.Bool("help-all") }) {
			return action(c)
		}
		if c.Command.HelpName == c.App.Name {
			writeHelp(c.App.Writer, c.App, true)
		} else {
			writeHelp(c.App.Writer, c.Command, true)
		}
		return nil
	}
}

func init() {
	cli.HelpPrinter = func(w io.Writer, _ string, target any) { writeHelp(w, target, false) }
}

// helpWidth is the maximum width of help lines in characters.
const helpWidth = 100

// writeHelp prints the help of target, a *cli.App or a *cli.Command. It includes advanced flags if
// withAdvanced is set.
func writeHelp(w io.Writer, target any, withAdvanced bool) {
	c, ok := target.(*cli.Command)
	if !ok {
		app := target.(*cli.App)
		c = &cli.Command{HelpName: app.Name, Usage: app.Usage, UsageText: app.UsageText, Description: app.Description,
			Flags: app.Flags, Subcommands: app.Commands}
	}
	forms, example, _ := strings.Cut(cmp.Or(c.UsageText, c.HelpName+" COMMAND [flags]"), "\n\n")
	fmt.Fprintf(w, "%s\n\nUsage: %s\n", strings.Join(wrapText(c.HelpName+" - "+c.Usage, helpWidth), "\n"),
		strings.ReplaceAll(forms, "\n", "\n       "))
	for _, text := range []string{breakCommands(example), wrapParagraphs(c.Description)} {
		if text != "" {
			fmt.Fprintf(w, "\n%s\n", text)
		}
	}
	if commands := slices.DeleteFunc(slices.Clone(c.Subcommands), func(s *cli.Command) bool {
		return s.Hidden ||
			s.Name == "help"
	}); len(commands) > 0 {
		var rows [][2]string
		for _, s := range commands {
			rows = append(rows, [2]string{s.Name, s.Usage})
		}
		fmt.Fprintf(w, "\nCommands:\n%s", definitions(rows))
	}
	hidden := 0
	for _, name := range groups {
		if flags := flagsUnder(c.Flags, name); flags != nil {
			fmt.Fprintf(w, "\n%s:\n%s", cmp.Or(name, "Flags"), definitions(flagRows(flags)))
		}
		advancedFlags := flagsUnder(c.Flags, name+advancedSuffix)
		if advancedFlags != nil && withAdvanced {
			fmt.Fprintf(w, "\n%s:\n%s", strings.TrimPrefix(name+advancedSuffix, ", "),
				definitions(flagRows(advancedFlags)))
		}
		hidden += len(advancedFlags)
	}
	if hidden > 0 && !withAdvanced {
		fmt.Fprintf(w, "\n%d advanced flags: %s --help-all\n", hidden, c.HelpName)
	}
}

// flagsUnder returns the flags of a category, without --help and --help-all.
func flagsUnder(flags []cli.Flag, name string) (out []cli.Flag) {
	for _, f := range flags {
		if f.(cli.CategorizableFlag).GetCategory() == name && f.Names()[0] != "help" && f.Names()[0] != "help-all" {
			out = append(out, f)
		}
	}
	return out
}

// flagRows returns a row of help per flag: names with the value's placeholder, and usage with the
// default and the environment variables.
func flagRows(flags []cli.Flag) (rows [][2]string) {
	for _, f := range flags {
		var names []string
		for _, name := range f.Names() {
			names = append(names, strings.Repeat("-", min(2, len(name)))+name)
		}
		slices.SortFunc(names, func(a, b string) int { return len(a) - len(b) })
		rows = append(rows, [2]string{strings.Join(names, ", "), ""})
		row, doc := &rows[len(rows)-1], f.(cli.DocGenerationFlag)
		value, usage := placeholder(f)
		if doc.TakesValue() {
			row[0] += " " + value
		}
		row[1] = usage
		text := strings.Trim(doc.GetDefaultText(), `"`)
		if !slices.Contains([]string{"", "false", "0", "0s", presetDefault}, text) &&
			!strings.Contains(usage, "(default)") {
			if minutes, ok := strings.CutSuffix(text, "m0s"); ok {
				text = minutes + "m"
			}
			row[1] += " (default: " + text + ")"
		}
		for _, name := range doc.GetEnvVars() {
			row[1] += " [$" + name + "]"
		}
	}
	return rows
}

// placeholder returns the placeholder of a flag's value, and the flag's usage without backquotes. The
// placeholder is in backquotes in the usage; without backquotes, it depends on the flag's type.
func placeholder(f cli.Flag) (value, usage string) {
	usage = f.(cli.DocGenerationFlag).GetUsage()
	if before, rest, ok := strings.Cut(usage, "`"); ok {
		if name, after, ok := strings.Cut(rest, "`"); ok {
			return name, before + name + after
		}
	}
	switch f.(type) {
	case *cli.IntFlag, *cli.Uint64Flag, *cli.Float64Flag:
		return "N", usage
	case *cli.DurationFlag:
		return "TIME", usage
	}
	return "NAME", usage
}

// definitions formats rows of a name and its text in two columns, with the text wrapped at
// [helpWidth].
func definitions(rows [][2]string) string {
	const maxNameWidth = 26 // maximum width of the name column; a longer name has a separate line
	column := 0
	for _, row := range rows {
		if n := utf8.RuneCountInString(row[0]); n <= maxNameWidth {
			column = max(column, n)
		}
	}
	var out strings.Builder
	for _, row := range rows {
		lines := wrapText(row[1], helpWidth-column-4)
		if utf8.RuneCountInString(row[0]) > column {
			lines = append([]string{""}, lines...)
		}
		for i, line := range lines {
			name := ""
			if i == 0 {
				name = row[0]
			}
			out.WriteString(strings.TrimRight(fmt.Sprintf("  %-*s  %s", column, name, line), " ") + "\n")
		}
	}
	return out.String()
}

// breakCommands breaks commands longer than [helpWidth] before flags, with a backslash at the
// line's end.
func breakCommands(example string) string {
	var out []string
	for line := range strings.Lines(example) {
		line = strings.TrimRight(line, "\n")
		if utf8.RuneCountInString(line) > helpWidth {
			parts := strings.Split(strings.TrimLeft(line, " "), " --")
			for i := range parts[1:] {
				parts[i+1] = "--" + parts[i+1]
			}
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			line = indent + strings.Join(wrapWords(parts, helpWidth-len(indent)-len(" \\")), " \\\n             ")
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// wrapParagraphs wraps paragraphs at [helpWidth]. Lines that begin with a space stay unchanged.
func wrapParagraphs(text string) string {
	var out []string
	paragraph := ""
	flush := func() {
		if paragraph != "" {
			out, paragraph = append(out, wrapText(paragraph, helpWidth)...), ""
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == ' ' {
			flush()
			out = append(out, line)
			continue
		}
		paragraph += " " + line
	}
	flush()
	return strings.Join(out, "\n")
}

// wrapText breaks a text into lines of at most width characters. A longer word has its own line.
func wrapText(text string, width int) []string { return wrapWords(strings.Fields(text), width) }

// wrapWords joins words into lines of at most width characters. A longer word has its own line.
func wrapWords(words []string, width int) (lines []string) {
	line := ""
	for _, word := range words {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	return append(lines, line)
}
