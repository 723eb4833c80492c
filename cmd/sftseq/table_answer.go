package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/rowwriter"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
)

// answerTable reads --input row by row and writes a row for each to --output.
func answerTable(c *cli.Context, config *sft.Config, a answerer) error {
	in, err := newTableInput(c, config, a.sequences)
	if err != nil {
		return err
	}
	parser := requests.NewParser(config, c.String("model"), in.path, a.sequences...)
	if err := parser.ReadsText(); err != nil && !in.tokens {
		return err
	}
	absent := &absentColumns{}
	in.options.Absent = absent.add
	t, err := table.Open(c.Context, in.path, in.options)
	if err != nil {
		return err
	}
	out, err := newTableOutput(c, config, a, in)
	if err != nil {
		return errors.Join(err, t.Close())
	}
	defer out.abort()
	s := &stream{parser: parser}
	s.answer = a.lines(s)
	if err := out.run(c.Context, s, newTableReader(in, parser, t.Columns()), t); err != nil {
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	absent.warn(c.App.ErrWriter)
	if out.failed > 0 {
		return fmt.Errorf("%d of %d rows failed, the first: %s", out.failed, out.rows, out.first)
	}
	return nil
}

// absentColumns are those that no row of a file has, although they were asked for: the ids
// of all rows are their places then, or nothing is kept.
type absentColumns struct {
	first []string // a line each
	more  int
}

// mostAbsent is how many are told of: a folder may have thousands of files.
const mostAbsent = 5

func (a *absentColumns) add(file, column string, found []string) {
	if len(a.first) == mostAbsent {
		a.more++
		return
	}
	a.first = append(a.first, table.AbsentText(file, column, found))
}

func (a *absentColumns) warn(to io.Writer) {
	for _, line := range a.first {
		fmt.Fprintf(to, "warning: %s\n", line)
	}
	if a.more > 0 {
		fmt.Fprintf(to, "warning: and %d more of other files\n", a.more)
	}
}

// tableOutput writes rows of answers.
type tableOutput struct {
	rowwriter.Writer
	reply    replyColumns
	file     *atomicfile.File // nil for standard output
	progress *progress        // nil for standard output

	rows, failed int
	first        string // what was wrong with the first that failed
}

// newTableOutput begins --output.
func newTableOutput(c *cli.Context, config *sft.Config, a answerer, in *tableInput) (out *tableOutput, err error) {
	path := c.String("output")
	format, err := rowwriter.FormatOf(path)
	if err != nil {
		return nil, err
	}
	out = &tableOutput{reply: a.columns(config, format, len(in.sources) == 2)}
	to := io.Writer(c.App.Writer)
	if path != "" && path != "-" {
		if sameFile(in.path, path) {
			return nil, fmt.Errorf("%s: --output would replace --input", path)
		}
		if liesIn(in.path, path) {
			return nil, fmt.Errorf("%s: --output would be in the folder --input, whose files are read: expected another folder", path)
		}
		if out.file, err = atomicfile.Create(path); err != nil {
			return nil, err
		}
		to = out.file
	}
	if out.Writer, err = rowwriter.New(to, format, tableColumns(in.keep, out.reply.columns, format)); err != nil {
		out.abort()
		return nil, err
	}
	if out.file != nil {
		out.progress = newProgress(0, "scoring "+in.path, "rows")
	}
	return out, nil
}

// run answers all rows of a table, and closes it: where the answers end early, whoever is
// still reading it does.
func (o *tableOutput) run(ctx context.Context, s *stream, r *tableReader, t table.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, batches := make(chan *tableRow), make(chan []*tableRow)
	var readError error // written before rows is closed
	go func() {
		defer close(rows)
		readError = errors.Join(r.read(ctx, t, rows), t.Close())
	}()
	go gather(ctx, rows, batches)
	for batch := range batches {
		if err := o.answer(ctx, s, batch); err != nil {
			if flush := o.Flush(); flush != nil && !errors.Is(err, flush) {
				err = errors.Join(err, flush)
			}
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return readError
}

// answer writes the rows of a batch.
func (o *tableOutput) answer(ctx context.Context, s *stream, batch []*tableRow) error {
	asked := make([]*requests.Request, len(batch))
	for i, row := range batch {
		asked[i] = row.Request
	}
	replies, err := s.replies(ctx, asked)
	if err != nil {
		return err
	}
	for i, reply := range replies {
		if err := o.Write(o.row(batch[i], reply)); err != nil {
			return err
		}
	}
	if o.progress != nil {
		o.progress.Add(int64(len(batch)))
	}
	return o.Flush()
}

// row is a row of the output.
func (o *tableOutput) row(r *tableRow, reply any) []any {
	o.rows++
	row := append([]any{r.id}, r.kept...)
	refusal, bad := reply.(requests.Refusal)
	if !bad {
		return append(append(row, o.reply.values(reply)...), nil)
	}
	why := requests.Failure{Code: refusal.Error.Code, Message: fmt.Sprintf("%s: %s", r.place, refusal.Error.Message)}
	if o.failed++; o.failed == 1 {
		o.first = why.Message
	}
	for range o.reply.columns {
		row = append(row, nil)
	}
	if o.reply.lines {
		return append(row, why)
	}
	return append(row, why.Message)
}

// commit completes the output.
func (o *tableOutput) commit() error {
	if o.progress != nil {
		o.progress.Finish()
	}
	if err := o.Close(); err != nil || o.file == nil {
		return err
	}
	return o.file.Commit()
}

// abort drops what is not complete.
func (o *tableOutput) abort() {
	if o.file != nil {
		o.file.Abort()
	}
}
