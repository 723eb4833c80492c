// Sftseq trains and uses SFT encoders of long sequences; see sftseq --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2 // the command line is invalid
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal cancels ctx, so the run can end in an orderly way. A second signal
	// terminates the program.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run runs the program and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	errs := newTerminalWriter(stderr)
	defer errs.Finish()
	out := &output{w: stdout}
	if isTerminal(stdout) {
		terminal := newTerminalWriter(stdout)
		defer terminal.Finish()
		out.w = terminal
	}
	app := newApp()
	app.Reader, app.Writer, app.ErrWriter = stdin, out, errs
	defer removeTemporaryModels(app)
	err := app.RunContext(ctx, arrangeArguments(app, args))
	// Printing help returns no error, so output records write errors.
	if out.err != nil && !errors.Is(err, out.err) {
		err = errors.Join(err, out.err)
	}
	var printed printedError
	switch {
	case err == nil && app.Metadata[closingFailed].(*atomic.Bool).Load():
		return exitError // closeDevice has printed the error
	case err == nil, errors.As(err, &printed):
		return exitOK
	case errors.Is(err, context.Canceled) && ctx.Err() != nil: // interrupted by the user, not by a failure
		err = errors.New("interrupted")
	}
	printError(app.ErrWriter, err)
	var usage usageError
	if errors.As(err, &usage) || strings.HasPrefix(err.Error(), "No help topic") { // from the command help
		return exitUsage
	}
	return exitError
}

func newApp() *cli.App {
	app := &cli.App{
		Name:      "sftseq",
		UsageText: "sftseq COMMAND [flags] [arguments]",
		Usage:     "classify and embed long sequences with sampling transformers",
		Description: `Trains, evaluates and serves Sampling Foundational Transformers (SFT). Each token attends to a
learned sample of the tokens, so that the cost is linear in the length, up to a million tokens.
Commands that need a model take its directory as --model DIR, and most also as the first argument.
Built-in models: builtin:files, builtin:fragments, builtin:listops and builtin:pathfinder.

Exit status: 0 success, 1 failure, 2 wrong command line.

Example: sftseq train listops --out runs/listops
         echo '{"text":"[MAX 2 9 ]"}' | sftseq predict --model runs/listops`,
		Metadata: map[string]any{closingFailed: new(atomic.Bool), temporaryModels: new([]string),
			builtinNames: map[string]string{}},
		EnableBashCompletion: true,
		Suggest:              true,
		// A comma does not separate values, because file names may contain commas. A flag is repeated instead.
		DisableSliceFlagSeparator: true,
		HideVersion:               true, // the flag below replaces the flag of package cli
		Flags: []cli.Flag{&cli.BoolFlag{Name: "version", Aliases: []string{"v"},
			Usage: "show the version"}, helpAllFlag()},
		Commands: []*cli.Command{dataCommand(), trainCommand(), pretrainCommand(), evalCommand(), predictCommand(),
			embedCommand(), filesCommand(), serveCommand(), healthCommand(),
			gradsCommand(), exportCommand(), importCommand(), infoCommand(), devicesCommand(),
			checkCommand(), benchCommand(),
			plotCommand(), reportCommand(), versionCommand(), completionCommand(), manCommand()},
		Before:         checkSingleProcess,
		Action:         withHelpAll(unknownCommand),
		OnUsageError:   onUsageError,
		ExitErrHandler: func(*cli.Context, error) {}, // run prints each error once
	}
	hideFalseDefaults(app.Flags)
	prepareCommands(app.Commands)
	return app
}

// hideFalseDefaults removes the default "false" of Boolean flags from the help.
func hideFalseDefaults(flags []cli.Flag) {
	for _, f := range flags {
		if b, ok := f.(*cli.BoolFlag); ok && !b.Value {
			b.DisableDefaultText = true
		}
	}
}

// prepareCommands makes every command return the errors in its flags instead of printing them with
// its help. It also adds flag names to errors about files, and adds --help-all.
func prepareCommands(commands []*cli.Command) {
	for _, c := range commands {
		c.Flags = append(c.Flags, helpAllFlag())
		c.OnUsageError = onUsageError
		hideFalseDefaults(c.Flags)
		if c.Action == nil {
			c.Action = unknownCommand
		}
		c.Action = withHelpAll(addFlagNames(c.Action))
		prepareCommands(c.Subcommands)
	}
}

// usageError is an error in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage returns a usageError that refers to the help of the command.
func usage(c *cli.Context, format string, args ...any) error {
	name := "sftseq"
	if c.Command != nil && c.Command.HelpName != "" {
		name = c.Command.HelpName
	}
	err, see := fmt.Errorf(format, args...), "; see"
	if strings.HasSuffix(err.Error(), "?") {
		see = " See"
	}
	return usageError{fmt.Errorf("%w%s %s --help", err, see, name)}
}

// badFlag returns the error of [invalidFlag] for a flag whose value is not as expected. expected is a
// format for args.
func badFlag(c *cli.Context, name, expected string, args ...any) error {
	return invalidFlag(c, name, fmt.Errorf("expected "+expected, args...))
}

// invalidFlag returns the usage error for a flag whose value causes err. If an environment variable has
// set the flag, the error names the variable.
func invalidFlag(c *cli.Context, name string, err error) error {
	value := c.Value(name)
	text := fmt.Sprint(value)
	set := dashed(name) + " "
	if f, ok := findFlag(c.Command.Flags, name).(cli.DocGenerationFlag); ok {
		for _, variable := range f.GetEnvVars() {
			if os.Getenv(variable) == text && text != "" {
				set = variable + "="
			}
		}
	}
	switch value.(type) {
	case string:
		text = strconv.Quote(text)
	case time.Duration:
		text = shortDuration(text)
	}
	return usage(c, "%s%s: %w", set, text, err)
}

// shortDuration removes the units that are 0 from the end of a duration: -5m0s becomes -5m.
func shortDuration(text string) string {
	if rest, ok := strings.CutSuffix(text, "m0s"); ok {
		text = rest + "m"
	}
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		text = rest + "h"
	}
	return text
}

func onUsageError(c *cli.Context, err error, _ bool) error {
	if text := flagError(c, err); text != "" {
		return usage(c, "%s", text)
	}
	return usage(c, "%w", err)
}

// unknownCommand is the action if the command is missing or unknown. It prints the version for --version,
// and the help if the program has no arguments. Otherwise it returns an error.
func unknownCommand(c *cli.Context) error {
	name := c.Args().First()
	if name == "" && c.Bool("version") {
		return printVersion(c)
	}
	commands := strings.Join(commandNames(c.Command.Subcommands), ", ")
	if name == "" && c.Command.HelpName == c.App.Name { // the program without arguments
		return cli.ShowSubcommandHelp(c)
	}
	if name == "" {
		return usage(c, "expected a command: %s", commands)
	}
	if suggestion := suggestCommand(c.Command.Subcommands, name); suggestion != "" {
		return usage(c, "unknown command %q. %s", name, suggestion)
	}
	return usage(c, "unknown command %q: expected one of %s", name, commands)
}

// requireFlags returns an error if one of the flags is missing. It replaces package cli's required
// flags, which are reported within the help.
func requireFlags(c *cli.Context, names ...string) error {
	for _, name := range names {
		if !c.IsSet(name) || c.String(name) == "" || slices.Contains(c.StringSlice(name), "") {
			value, text := placeholder(findFlag(c.Command.Flags, name))
			return usage(c, "--%s is missing: expected --%s %s (%s)", name, name, value,
				strings.TrimSuffix(text, " (required)"))
		}
	}
	return nil
}

// output is a writer that records its first error.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	if err != nil {
		o.err = fmt.Errorf("standard output: %w", err)
	}
	return n, o.err
}
