package main

import (
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/export"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

func exportCommand() *cli.Command {
	return &cli.Command{
		Name:  "export",
		Usage: "write a model for other programs",
		Description: `The model stays as it is.

Example: sftseq export onnx runs/listops --output listops.onnx
         sftseq export pytorch runs/listops --output listops-pytorch`,
		Subcommands: []*cli.Command{exportONNXCommand(), exportPyTorchCommand()},
	}
}

func exportONNXCommand() *cli.Command {
	return &cli.Command{
		Name:      "onnx",
		Usage:     "write a model as an ONNX graph, which ONNX Runtime runs",
		ArgsUsage: "MODEL",
		UsageText: `sftseq export onnx MODEL --output FILE

Example: sftseq export onnx runs/listops --output listops.onnx`,
		Description: `Writes one file that holds the graph, the weights and, as metadata, the task, the
tokenizer, the names of the labels and the longest sequence. It needs opset 18. The
graph reads one sequence of any length at a time, int64 tokens[length], or a pair as
a[length_a] and b[length_b]; of points and nodes float32 features[length, names] with
int64 edges[edges, 2] and edge_features[edges, names]. It answers as predict does:

  logits      of the labels; of tagging a row for each token, of fill-mask a row for
              each mask, whose places are in positions
  numbers     of a regression, in the units of the data
  embedding   as embed writes it; of a pair embedding_a and embedding_b

docs/export.md has a program that runs it, and what differs from predict.`,
		Flags:  []cli.Flag{&cli.StringFlag{Name: "output", Usage: "ONNX `FILE` to write (required)", TakesFile: true}},
		Action: exportONNX,
	}
}

func exportONNX(c *cli.Context) error {
	m, dir, err := exportedModel(c)
	if err != nil {
		return err
	}
	if err := needFlags(c, "output"); err != nil {
		return err
	}
	for _, own := range []string{"config.json", "model.safetensors", tokenizers.FileName} {
		if sameFile(c.String("output"), filepath.Join(dir, own)) {
			return usage(c, "--output %s: expected a file of its own, found one of the model", c.String("output"))
		}
	}
	file, err := export.ONNX(m)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if err := atomicfile.WriteBytes(c.String("output"), file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %s of the task %s as ONNX, %s\n", c.String("output"), dir, m.Config.Task, bench.FormatBytes(int64(len(file))))
	return err
}

// exportedModel reads the MODEL argument.
func exportedModel(c *cli.Context) (m *sft.Model, dir string, err error) {
	if c.NArg() != 1 {
		return nil, "", usage(c, "expected one MODEL, a model directory, found %d arguments", c.NArg())
	}
	dir = c.Args().First()
	m, err = readModel(dir, "")
	return m, dir, err
}
