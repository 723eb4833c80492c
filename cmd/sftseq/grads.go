package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/requests"
)

func gradsCommand() *cli.Command {
	return &cli.Command{
		Name:  "grads",
		Usage: "write the gradient of the loss over labelled lines, to check against other frameworks",
		UsageText: `sftseq grads --model DIR --input FILE --output grads.safetensors

Example: sftseq grads --model runs/listops --input labelled.jsonl --output grads.safetensors`,
		Description: `Reads JSON lines as predict does, each with a "label" (its number, or its name
where the model has names), and writes the gradient of their mean loss in evaluation mode:
no noise, no dropout. In place of the label a line has

   tagging       "labels", one for each token, or null
   multi-label   "labels", those that hold
   regression    "numbers", in the order of the model's, or by their names: {"mass": 1.5}

The file has exactly the model's tensors. A bad line is an error, and nothing is written.`,
		Flags: append(modelFlags(modelFlag()), maxLineFlag(),
			&cli.StringFlag{Name: "input", Usage: "labelled JSON lines in `FILE` (required; - is standard input)", TakesFile: true},
			&cli.StringFlag{Name: "output", Usage: "safetensors `FILE` to write (required)", TakesFile: true},
		),
		Action: grads,
	}
}

func grads(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return usageError{err}
	}
	if err := checkMaxLine(c); err != nil {
		return err
	}
	if c.String("input") == "" || c.String("output") == "" {
		return usage(c, "--input and --output are needed")
	}
	m, err := loadModel(c)
	if err != nil {
		return err
	}
	in, name, err := openFile(c, c.String("input"))
	if err != nil {
		return err
	}
	defer in.Close()
	examples, err := requests.Labelled(in, requests.NewParser(m.Config, c.String("model"), name, m.Config.Sequences()), c.Int("max-line"))
	if err != nil {
		return err
	}
	d, err := openDevice(c)
	if err != nil {
		return err
	}
	defer closeDevice(c, d)
	gradient, loss, err := m.Gradient(c.Context, d, examples)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if tensor, bad := m.Parameters.NonFinite(gradient); bad {
		return fmt.Errorf("%s: the gradient of %s is not finite", name, tensor)
	}
	if err := m.SaveRange(c.String("output"), gradient); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "loss %v over %d lines, gradient in %s\n", loss, len(examples), c.String("output"))
	return err
}
