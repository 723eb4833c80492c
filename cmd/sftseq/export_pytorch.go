package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/export"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

func exportPyTorchCommand() *cli.Command {
	return &cli.Command{
		Name:      "pytorch",
		Usage:     "export a model as a PyTorch module, for inference and training",
		ArgsUsage: "MODEL",
		UsageText: `sftseq export pytorch MODEL --output DIR

Example: sftseq export pytorch runs/listops --output listops-pytorch`,
		Description: `Writes a folder with config.json, model.safetensors and modeling_sft.py, a module that needs only
PyTorch. If the model has a tokenizer of words or a tokenizer.json, also writes tokenizer.json. Hugging
Face's transformers library loads the folder with AutoModel and trust_remote_code. sftseq import pytorch
reads the folder after training. More: docs/export.md`,
		Flags: []cli.Flag{modelFlag(), &cli.StringFlag{Name: "output", Aliases: []string{"o"},
			Usage: "write the folder `DIR` (required)", TakesFile: true}},
		Action: exportPyTorch,
	}
}

func exportPyTorch(c *cli.Context) error {
	m, dir, err := exportedModel(c)
	if err != nil {
		return err
	}
	if err := requireFlags(c, "output"); err != nil {
		return err
	}
	tokenizer, err := exportedTokenizer(m.Config, dir)
	if err != nil {
		return err
	}
	if err := export.PyTorch(m, tokenizer, c.String("output")); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %s of the task %s for PyTorch\n", c.String("output"), givenModel(c),
		m.Config.Task)
	return err
}

func importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "import a model from other programs",
		UsageText: "sftseq import pytorch DIR --output MODEL\n\nExample: sftseq import pytorch listops-pytorch --output runs/listops-tuned",
		Subcommands: []*cli.Command{{
			Name:      "pytorch",
			Usage:     "import a model that export pytorch wrote and PyTorch trained",
			ArgsUsage: "DIR",
			UsageText: `sftseq import pytorch DIR --output MODEL

Example: sftseq import pytorch listops-pytorch --output runs/listops-tuned`,
			Description: `Reads config.json of export pytorch and model.safetensors, which save_weights of
modeling_sft.py writes. Checks names, shapes and values of all tensors, and writes a model directory with
the same weights.`,
			Flags: []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write the model to `DIR` (required)", TakesFile: true}},
			Action: importPyTorch,
		}},
	}
}

func importPyTorch(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage(c, "expected one DIR, a folder of export pytorch, found %d arguments", c.NArg())
	}
	if err := requireFlags(c, "output"); err != nil {
		return err
	}
	dir, out := c.Args().First(), c.String("output")
	m, err := callWithContext(c.Context, func() (*sft.Model, error) { return export.FromPyTorch(dir) })
	if err != nil {
		return err
	}
	for _, name := range []string{"config.json", "model.safetensors"} {
		if _, err := os.Lstat(filepath.Join(out, name)); err == nil {
			return fmt.Errorf("%s: the folder already has a %s: choose another --output, or move the file", out, name)
		}
	}
	if err := m.Save(out); err != nil {
		return err
	}
	if err := tokenizers.CopyFile(m.Config.Tokenizer, dir, out); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %d parameters of the task %s\n", out, m.Parameters.Count(), m.Config.Task)
	return err
}
