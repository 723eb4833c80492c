package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/rowwriter"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// evalErrors writes the rows that a model gets wrong. Without a file it does nothing.
type evalErrors struct {
	rowwriter.Writer
	config *sft.Config
	path   string
	file   *atomicfile.File // nil without one
	rows   int
	err    error // of the first row that could not be written
}

// newEvalErrors begins --errors, of the rows of the file data.
func newEvalErrors(c *cli.Context, config *sft.Config, data string) (*evalErrors, error) {
	e := &evalErrors{config: config, path: c.String("errors")}
	if e.path == "" {
		return e, nil
	}
	format, err := rowwriter.FormatOf(e.path)
	if err == nil && e.path == "-" {
		err = fmt.Errorf("standard output has the report: expected a file")
	}
	if err != nil {
		return nil, usage(c, "--errors %s: %w", e.path, err)
	}
	if sameFile(data, e.path) {
		return nil, fmt.Errorf("%s: --errors would replace --data", e.path)
	}
	if e.file, err = atomicfile.Create(e.path); err != nil {
		return nil, err
	}
	columns := append([]rowwriter.Column{{Name: "id"}, {Name: "row", Kind: rowwriter.Whole}, labelColumn(config, "label"), labelColumn(config, "predicted")}, probabilityColumns(config)...)
	if e.Writer, err = rowwriter.New(e.file, format, columns); err != nil {
		e.abort()
		return nil, err
	}
	return e, nil
}

// see writes a row if it is answered wrong.
func (e *evalErrors) see(x *seq.Example, logits []float32) {
	answer := sft.Argmax(logits)
	if e.file == nil || answer == int(x.Label) || e.err != nil {
		return
	}
	e.rows++
	row := []any{nil, int64(x.Index), columnValue(e.config.Label(int(x.Label))), columnValue(e.config.Label(answer))}
	if x.ID != "" {
		row[0] = x.ID
	}
	e.err = e.Write(append(row, realValues(sft.Probabilities(logits))...))
}

// commit completes the file.
func (e *evalErrors) commit() error {
	if e.file == nil || e.err != nil {
		return e.err
	}
	if err := e.Close(); err != nil {
		return err
	}
	return e.file.Commit()
}

// abort drops what is not complete.
func (e *evalErrors) abort() {
	if e.file != nil {
		e.file.Abort()
	}
}
