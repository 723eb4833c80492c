// Sftseq-study reproduces the measurements of the paper "Sampling Foundational Transformer". The
// results are in docs/paper.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
)

// A study reproduces one of the paper's figures, tables or theorems.
type study struct {
	name    string
	summary string // one line in the list of studies
	help    string
	columns []string // table header
	// prepare defines the flags of the study and returns its measurement.
	prepare func(f *flags) measurement
}

// measurement fills a report. After a cancellation of the context it returns an error.
type measurement func(ctx context.Context, r *report) error

// studies lists the studies in the order of docs/paper.md.
var studies = []*study{gradientsStudy, pseudoconvexityStudy, rankStudy, costStudy, convergenceStudy, samplingStudy,
	similarityStudy, inferenceStudy, relativeStudy}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit status: 0 for success, 2 for an error in the command line, 1 for other errors.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := runStudy(ctx, args, stdout, stderr)
	if err == nil {
		return 0
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	fmt.Fprintf(stderr, "sftseq-study: %v\n", err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

func runStudy(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usagef("expected the name of a study, found none; see --help")
	}
	i := slices.IndexFunc(studies, func(s *study) bool { return s.name == args[0] })
	switch {
	case slices.Contains([]string{"-h", "-help", "--help", "help"}, args[0]):
		return writeHelp(stdout)
	case i < 0:
		return usagef("unknown study %q; see --help", args[0])
	}
	s := studies[i]
	f := newFlags(s.name)
	measure := s.prepare(f)
	switch err := f.Parse(args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		return s.writeHelp(stdout, f)
	case err != nil:
		return usageError{err}
	case f.NArg() > 0:
		return usagef("%s: unexpected argument %q", s.name, f.Arg(0))
	}
	r := &report{study: s, command: "sftseq-study " + strings.Join(args, " "), dir: f.out, log: stderr}
	if err := r.checkOutput(f.force); err != nil {
		return err
	}
	if err := measure(ctx, r); err != nil {
		return err
	}
	return r.finish(stdout)
}

// writeHelp lists the studies.
func writeHelp(w io.Writer) error {
	fmt.Fprint(w, `sftseq-study repeats the measurements of the paper.

usage: sftseq-study STUDY [flags]

`)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range studies {
		fmt.Fprintf(t, "  %s\t%s\n", s.name, s.summary)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, `
A study prints a table, and writes its points (points.jsonl, one JSON object per line) and a
chart to --out. Notes below the table state the paper's results and the set-up.
docs/paper.md has our results. STUDY --help lists the flags.
`)
	return err
}

func (s *study) writeHelp(w io.Writer, f *flags) error {
	_, err := fmt.Fprintf(w, "usage: sftseq-study %s [flags]\n\n%s\n\n", s.name, s.help)
	f.SetOutput(w)
	f.PrintDefaults()
	return err
}
