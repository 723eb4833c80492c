package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft/train"
)

func gradsCommand() *cli.Command {
	return &cli.Command{
		Name:  "grads",
		Usage: "write the gradient of the loss, to compare with other frameworks",
		UsageText: `sftseq grads --model DIR --input FILE --output grads.safetensors

Example: sftseq grads --model runs/listops --input labelled.jsonl --output grads.safetensors`,
		Description: `Reads JSON lines as predict does, each with the "label" (number or name), the "labels" of tokens or of
a multi-label model, or the "numbers". Writes the gradient of the mean loss over the lines in
evaluation mode, without noise and dropout, with the tensor names of the model. After a malformed
line, nothing is written.`,
		Flags: slices.Concat(modelFlags(modelFlag()),
			group(inputGroup,
				&cli.StringFlag{Name: "input",
					Usage: "read labelled JSON lines from `FILE`; - is standard input (required)", TakesFile: true},
				maxLineFlag()),
			group(outputGroup, &cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write the safetensors `FILE` (required)", TakesFile: true})),
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
	if err := requireFlags(c, "input", "output"); err != nil {
		return err
	}
	if err := checkInputName(c); err != nil {
		return err
	}
	m, err := loadModel(c)
	if err == nil && m.Config.IsLinear() {
		err = withoutLayers(givenModel(c))
	}
	if err != nil {
		return err
	}
	in, name, err := openFile(c, c.String("input"))
	if err != nil {
		return err
	}
	defer in.Close()
	examples, err := requests.Labelled(in, requests.NewParser(m.Config, c.String("model"), name, m.Config.Sequences()),
		task.Of(m.Config).ReadLabels, c.Int("max-line"))
	if err != nil {
		return err
	}
	d, err := openDevice(c)
	if err != nil {
		return err
	}
	defer closeDevice(c, d)
	gradient, loss, err := train.Gradient(c.Context, m, d, examples)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if tensor, bad := m.Parameters.NonFinite(gradient); bad {
		return fmt.Errorf("%s: the gradient of %s is not finite", name, tensor)
	}
	if err := atomicfile.MakeFolderOf(c.String("output")); err != nil {
		return err
	}
	if err := m.SaveRange(c.String("output"), gradient); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "loss %v over %s, gradient in %s\n", loss, countOf(len(examples), "line"),
		c.String("output"))
	return err
}

// checkInputName returns an error if the file name of --input has the extension of a table format other
// than JSON lines, JSON or text.
func checkInputName(c *cli.Context) error {
	path := c.String("input")
	if info, err := os.Stat(path); path == "-" || err != nil || info.IsDir() {
		return nil // opening the path reports the error
	}
	switch format, err := table.FormatOf(path); {
	case err != nil, format == "jsonl", format == "json", format == "text":
		return nil
	default:
		return usage(c, `--input %s: expected JSON lines such as {"text": "…", "label": "…"}, found %s by its name`,
			path,
			format)
	}
}
