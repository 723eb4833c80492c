package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
		Usage: "export a model for other programs, or in a smaller form",
		UsageText: `sftseq export COMMAND MODEL --output FILE|DIR

Example: sftseq export onnx runs/listops --output listops.onnx
         sftseq export pytorch runs/listops --output listops-pytorch`,
		Subcommands: []*cli.Command{exportONNXCommand(), exportPyTorchCommand(), exportQuantizedCommand()},
	}
}

func exportONNXCommand() *cli.Command {
	return &cli.Command{
		Name:      "onnx",
		Usage:     "export a model as an ONNX graph",
		ArgsUsage: "MODEL",
		UsageText: `sftseq export onnx MODEL --output FILE

Example: sftseq export onnx runs/listops --output listops.onnx`,
		Description: `Writes one file with the graph (opset 18), the weights and metadata: task, tokenizer, label names and
maximum sequence length. If the model has a tokenizer of words or a tokenizer.json, also writes
NAME.tokenizer.json beside NAME.onnx. If it reads bytes and has n-grams of words, also writes
word_hashes.py. The graph reads one sequence of any length, or a pair, as tokens or as features and
edges. It computes logits, numbers and embeddings as predict and embed do. More: docs/export.md`,
		Flags: []cli.Flag{modelFlag(), &cli.StringFlag{Name: "output", Aliases: []string{"o"},
			Usage: "write the ONNX `FILE`, whose name ends in .onnx (required)", TakesFile: true}},
		Action: exportONNX,
	}
}

func exportONNX(c *cli.Context) error {
	m, dir, err := exportedModel(c)
	if err != nil {
		return err
	}
	if err := requireFlags(c, "output"); err != nil {
		return err
	}
	for _, name := range []string{"config.json", "model.safetensors", tokenizers.FileName} {
		if sameFile(c.String("output"), filepath.Join(dir, name)) {
			return usage(c, "--output %s: this would overwrite a file of the model: choose another "+
				"path", c.String("output"))
		}
	}
	if path := c.String("output"); !strings.EqualFold(filepath.Ext(path), ".onnx") {
		return usage(c, "--output %q: expected a file name that ends in .onnx (export pytorch writes a folder for "+
			"PyTorch)", path)
	}
	file, err := export.ONNX(m)
	if err != nil {
		return fmt.Errorf("%s: %w", givenModel(c), err)
	}
	tokenizer, err := exportedTokenizer(m.Config, dir)
	if err != nil {
		return err
	}
	hashes := ""
	if n := m.Config.NGrams; n != nil && n.MaxWords > 0 {
		hashes = filepath.Join(filepath.Dir(c.String("output")), export.WordHashesFile)
		if err := checkWordHashes(hashes); err != nil {
			return err
		}
	}
	if err := atomicfile.MakeFolderOf(c.String("output")); err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(c.String("output"), file); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "%s: %s of the task %s as ONNX, %s\n", c.String("output"), givenModel(c), m.Config.Task,
		bench.FormatBytes(int64(len(file))))
	if hashes != "" {
		if err := atomicfile.WriteBytes(hashes, []byte(export.WordHashes)); err != nil {
			return err
		}
		fmt.Fprintf(c.App.Writer, "%s: a Python module that computes the input word_hashes\n", hashes)
	}
	if tokenizer == nil {
		return nil
	}
	path := c.String("output")
	path = strings.TrimSuffix(path, filepath.Ext(path)) + "." + tokenizers.FileName
	if err := atomicfile.WriteBytes(path, tokenizer); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: the tokenizer for Hugging Face's libraries\n", path)
	return err
}

// checkWordHashes returns an error if path is a file that was not written by an export.
func checkWordHashes(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	line, _, _ := strings.Cut(export.WordHashes, "\n")
	if err == nil && !strings.HasPrefix(string(text), line) {
		err = fmt.Errorf("%s: expected no file or an earlier export, found a different file: choose another folder "+
			"for --output", path)
	}
	return err
}

// exportedModel reads the model to export, and returns it with its directory.
func exportedModel(c *cli.Context) (m *sft.Model, dir string, err error) {
	if dir = c.String("model"); dir == "" {
		return nil, "", usage(c, "expected one MODEL, a model directory, found 0 arguments")
	}
	if c.Args().Present() {
		return nil, "", usage(c, "expected one MODEL, a model directory, found %d arguments", 1+c.NArg())
	}
	f, err := sft.ReadFusion(dir)
	if err != nil {
		return nil, "", err
	}
	if f != nil && len(f.Kept().Members) > 1 {
		members := f.Kept().Members
		layered := max(0, slices.IndexFunc(members, func(name string) bool { return name != linearMember }))
		return nil, "", fmt.Errorf("%s: expected a model, found a folder of %d models: choose one of them, such as %s "+
			"(docs/export.md#models-of-several-members)", dir, len(members), filepath.Join(dir, members[layered]))
	}
	m, err = readModel(c.Context, dir, "")
	if err == nil && m.Config.IsLinear() {
		err = withoutLayers(givenModel(c))
	}
	return m, dir, err
}
