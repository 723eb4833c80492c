package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// evalErrors writes a model's mistakes to a file.
type evalErrors struct {
	task.Mistakes
	file *atomicfile.File
	path string
}

// newEvalErrors creates the file of --errors. data is the path of the evaluated rows, and spec describes
// their columns. newEvalErrors returns nil if the flag is not set.
func newEvalErrors(c *cli.Context, config *sft.Config, data string, spec *seq.Spec) (*evalErrors, error) {
	path := c.String("errors")
	if path == "" {
		return nil, nil
	}
	format, err := outputFormat(c, "errors")
	if err == nil && path == "-" {
		err = errors.New("standard output has the report: expected a file")
	}
	if err != nil {
		return nil, invalidFlag(c, "errors", err)
	}
	if sameFile(data, path) {
		return nil, fmt.Errorf("%s: --errors would replace --data", path)
	}
	var tokenizer tokenizers.Tokenizer
	kind := task.Of(config)
	if kind.HasPositions() {
		if tokenizer, err = tokenizers.Open(config.Tokenizer, tokenizerDir(c)); err != nil {
			return nil, err
		}
	}
	e := &evalErrors{path: path}
	if e.file, err = createFile(path); err != nil {
		return nil, err
	}
	if e.Mistakes, err = task.NewMistakes(kind, e.file, format, tokenizer, spec.IDs); err != nil {
		e.file.Abort()
		return nil, err
	}
	return e, nil
}

// commit completes the file, if any, and prints the number of wrong rows that were omitted.
func (e *evalErrors) commit(c *cli.Context) error {
	if e == nil {
		return nil
	}
	if err := e.Close(); err != nil {
		return err
	}
	if n := e.Omitted(); n > 0 {
		fmt.Fprintf(c.App.ErrWriter, "%s: the %d worst rows; %d more wrong rows were not "+
			"written\n", e.path, task.MaxWorst, n)
	}
	return e.file.Commit()
}

// abort removes the incomplete file, if any.
func (e *evalErrors) abort() {
	if e != nil {
		e.file.Abort()
	}
}

// seen returns the function that receives each scored row, or nil if e is nil.
func (e *evalErrors) seen() func(x *seq.Example, length int, logits []float32) {
	if e == nil {
		return nil
	}
	return e.See
}
