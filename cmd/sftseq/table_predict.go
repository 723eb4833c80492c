package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/inference"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
)

// warnMissingShards warns of folders of numbered tables in which a number is missing.
func warnMissingShards(c *cli.Context, paths ...string) {
	printWarnings(c, missingShards(paths, c.String("format")))
}

// predictTable reads --input row by row, and writes the prediction or embedding of each row to --output.
func predictTable(c *cli.Context, config *sft.Config, model *inference.Model) error {
	parser := model.Parser(tokenizerDir(c), c.String("input"))
	if config.Edged() {
		return fmt.Errorf("%s: the model reads graphs, and tables have no edges: expected JSON lines without "+
			"--input, or an Arrow file of graphs with --output FILE.arrow", c.String("input"))
	}
	in, err := newTableInput(c, config, model.Sequences, c.String("input"))
	if err != nil {
		return err
	}
	warnMissingShards(c, in.Path)
	if err := parser.ReadsText(); err != nil && !in.Tokens && !in.Points {
		return err
	}
	format, err := outputFormat(c, "output")
	if err != nil {
		return err
	}
	if err := in.keepTypes(c, []string{in.Path}, format); err != nil {
		return err
	}
	absent := &absentColumns{}
	in.Options.MissingColumn = absent.add
	t, err := table.Open(c.Context, in.Path, in.Options)
	if err != nil {
		return in.keepError(err)
	}
	if table.ReadOnce(in.Path) {
		in.Types = table.StreamTypes(t, in.Options.Typed, format == "parquet")
	}
	file, rows, err := newTableOutput(c, model, in, format)
	if err != nil {
		return errors.Join(err, t.Close())
	}
	done, finish := func(int64) {}, func() {}
	if file != nil {
		defer file.Abort()
		progress := newProgress(0, "scoring "+in.Path, "rows")
		done, finish = progress.Add, progress.Finish
	}
	if err := rows.Predict(c.Context, parser, t, done); err != nil {
		return err
	}
	finish()
	if err := rows.Close(); err != nil {
		return err
	}
	if file != nil {
		if err := file.Commit(); err != nil {
			return err
		}
	}
	absent.warn(c.App.ErrWriter)
	if rows.NoSpans() {
		fmt.Fprintf(c.App.ErrWriter,
			"warning: the model predicts 0 spans in %s: compare it with baselines using sftseq eval\n",
			countRows(rows.Count-rows.Failed))
	}
	if rows.Failed > 0 {
		return fmt.Errorf("%d of %d rows failed, the first: %s", rows.Failed, rows.Count, rows.First)
	}
	return nil
}

// createFile creates a file and its parent folders.
func createFile(path string) (*atomicfile.File, error) {
	if err := atomicfile.MakeFolderOf(path); err != nil {
		return nil, err
	}
	return atomicfile.Create(path)
}

// newTableOutput opens --output and returns the writer of its rows. file is nil for standard output.
func newTableOutput(c *cli.Context, model *inference.Model, in *tableInput, format string) (file *atomicfile.File,
	rows *inference.Rows, err error) {
	path := c.String("output")
	to := io.Writer(c.App.Writer)
	if path != "" && path != "-" {
		if sameFile(in.Path, path) {
			return nil, nil, fmt.Errorf("%s: --output would replace --input", path)
		}
		if isInside(in.Path, path) {
			return nil, nil, fmt.Errorf("%s: --output would be inside the folder of --input: choose another "+
				"folder", path)
		}
		if file, err = createFile(path); err != nil {
			return nil, nil, err
		}
		to = file
	}
	if rows, err = model.NewRows(to, format, &in.Table); err != nil && file != nil {
		file.Abort()
	}
	return file, rows, err
}

// absentColumns collects requested columns that no row of a file has. If the column of --id is absent,
// rows have their default ids. An absent column of --keep has no values to copy.
type absentColumns struct {
	first []string // the first messages, at most maxAbsent
	more  int      // number of further messages
}

// maxAbsent is the maximum number of printed messages, because a folder may have thousands of
// files.
const maxAbsent = 5

func (a *absentColumns) add(file, column string, found []string) {
	if len(a.first) == maxAbsent {
		a.more++
		return
	}
	a.first = append(a.first, table.MissingColumnText(file, column, found))
}

func (a *absentColumns) warn(to io.Writer) {
	for _, line := range a.first {
		fmt.Fprintf(to, "warning: %s\n", line)
	}
	if a.more > 0 {
		fmt.Fprintf(to, "warning: %d more messages about absent columns\n", a.more)
	}
}
