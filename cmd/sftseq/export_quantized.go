package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/tokenizers"
)

func exportQuantizedCommand() *cli.Command {
	return &cli.Command{
		Name:      "quantized",
		Usage:     "write a model with 8-bit embeddings of n-grams",
		ArgsUsage: "MODEL",
		UsageText: `sftseq export quantized MODEL --output DIR

Example: sftseq export quantized runs/files --output runs/files-8bit`,
		Description: `Writes a model directory whose embeddings of n-grams are stored as 8-bit integers, with a power
of two as the scale of each row: a quarter of their size. The other weights stay floats. All commands
read the model; its outputs differ slightly, so evaluate it again. More: docs/export.md`,
		Flags: []cli.Flag{modelFlag(), &cli.StringFlag{Name: "output", Aliases: []string{"o"},
			Usage: "write the model to `DIR` (required)", TakesFile: true}},
		Action: exportQuantized,
	}
}

func exportQuantized(c *cli.Context) error {
	m, dir, err := exportedModel(c)
	if err != nil {
		return err
	}
	if err := requireFlags(c, "output"); err != nil {
		return err
	}
	switch n := m.Config.NGrams; {
	case n == nil:
		return fmt.Errorf("%s: expected a model with embeddings of n-grams (sftseq train --ngrams), found none",
			givenModel(c))
	case n.Bits > 0:
		return fmt.Errorf("%s: the embeddings of n-grams already have %d bits", givenModel(c), n.Bits)
	}
	out := c.String("output")
	for _, name := range []string{"config.json", "model.safetensors"} {
		if _, err := os.Lstat(filepath.Join(out, name)); err == nil {
			return fmt.Errorf("%s: the folder already has a %s: choose another --output, or move the file", out, name)
		}
	}
	m.Config.NGrams.Bits = 8
	if err := m.Config.Validate(); err != nil {
		return fmt.Errorf("%s: %w", givenModel(c), err)
	}
	if err := m.Save(out); err != nil {
		return err
	}
	if err := tokenizers.CopyFile(m.Config.Tokenizer, dir, out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %s with %d-bit embeddings\n", out, givenModel(c), m.Config.NGrams.Bits)
	return err
}
