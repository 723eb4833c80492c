package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/answer"
	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/rowwriter"
	"github.com/sftseq/sftseq/sft"
)

// evalErrors is the file of the rows that a model gets wrong.
type evalErrors struct {
	*answer.Mistakes
	file *atomicfile.File
}

// newEvalErrors begins --errors, of the rows of the file data; nil without the flag.
func newEvalErrors(c *cli.Context, config *sft.Config, data string) (*evalErrors, error) {
	path := c.String("errors")
	if path == "" {
		return nil, nil
	}
	format, err := rowwriter.FormatOf(path)
	if err == nil && path == "-" {
		err = errors.New("standard output has the report: expected a file")
	}
	if err != nil {
		return nil, usage(c, "--errors %s: %w", path, err)
	}
	if sameFile(data, path) {
		return nil, fmt.Errorf("%s: --errors would replace --data", path)
	}
	e := &evalErrors{}
	if e.file, err = atomicfile.Create(path); err != nil {
		return nil, err
	}
	if e.Mistakes, err = answer.NewMistakes(e.file, format, config); err != nil {
		e.file.Abort()
		return nil, err
	}
	return e, nil
}

// commit completes the file.
func (e *evalErrors) commit() error {
	if err := e.Close(); err != nil {
		return err
	}
	return e.file.Commit()
}
