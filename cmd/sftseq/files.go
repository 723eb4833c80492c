package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/files"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

func filesCommand() *cli.Command {
	return &cli.Command{
		Name:      "files",
		Usage:     "predict the kind of each file from its bytes",
		ArgsUsage: "PATH…",
		UsageText: `sftseq files [flags] PATH…

Example: sftseq files ~/Downloads
         sftseq files --fragments 4096 disk.img`,
		Description: `Prints the kind of each file, and of each file below a folder, with its probability. If the path
implies another kind, prints both. Links and .git below folders are skipped.
Files that cannot be read are reported on standard error; the exit status is then 1. The program contains a
model, builtin:files; sftseq data files collects data to train your own. More: docs/files.md`,
		Flags: append(modelFlags(&cli.StringFlag{Name: "model", Category: modelGroup, Value: builtinPrefix + "files",
			Usage: "read the model in `DIR`, or the ensemble of a folder of models", TakesFile: true,
			Action: setBuiltinModel}), group(outputGroup,
			&cli.Float64Flag{Name: "threshold", Value: 0.5, Usage: "print unknown if the probability is below `P`, or if the model predicts other"},
			&cli.BoolFlag{Name: "evidence", Usage: "print the bytes with the largest weights"},
			&cli.IntFlag{Name: "fragments", DefaultText: "whole files",
				Usage: "predict the kind of each block of `N` bytes, 16 to 65536, with builtin:fragments unless --model is set"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object per line"})...),
		Action: predictFiles,
	}
}

func predictFiles(c *cli.Context) error {
	if c.NArg() == 0 {
		return usage(c, "expected the paths of files or folders")
	}
	if _, err := os.Stat("-"); err != nil && slices.Contains(c.Args().Slice(), "-") {
		return usage(c, "-: expected the path of a file or folder, because files are sampled at several positions and "+
			"standard input is not: write standard input to a file first")
	}
	if p := c.Float64("threshold"); !(p >= 0 && p <= 1) {
		return badFlag(c, "threshold", "a probability from 0 to 1")
	}
	if n := c.Int("fragments"); c.IsSet("fragments") && (n < files.MinBytes || n > maxFragment) {
		return badFlag(c, "fragments", "%d to %d bytes", files.MinBytes, maxFragment)
	}
	single := ""
	if c.Bool("evidence") {
		single = evidenceFlag
	}
	if c.IsSet("fragments") && !c.IsSet("model") {
		if err := c.Set("model", builtinPrefix+"fragments"); err != nil {
			return err
		}
	}
	if err := setBuiltinModel(c, c.String("model")); err != nil { // an action does not run for a default
		return err
	}
	m, err := loadModels(c, single)
	if err != nil {
		return err
	}
	if !predictsBytes(m.Config) {
		return fmt.Errorf("%s: expected a model trained on data of sftseq data files, which reads bytes and "+
			"predicts named classes", givenModel(c))
	}
	scorer, release, err := openScorer(c, m)
	if err != nil {
		return err
	}
	defer release()
	p := &filePredictor{context: c, scorer: scorer, labels: m.Config.LabelNames,
		linear: slices.ContainsFunc(m.list(), func(m *sft.Model) bool { return m.Config.IsLinear() })}
	if c.Bool("evidence") && p.linear {
		if err := scorer.CanExplain(); err != nil {
			return fmt.Errorf("--evidence: %w", err)
		}
	}
	for _, root := range c.Args().Slice() {
		if err := p.walk(root); err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if p.failed > 0 {
		return fmt.Errorf("%d of %d files or folders could not be read", p.failed, p.failed+p.read)
	}
	return nil
}

// predictsBytes reports whether a model reads bytes and predicts one of several named classes.
func predictsBytes(c *sft.Config) bool {
	tokenizer, err := tokenizers.New(c.Tokenizer)
	return err == nil && tokenizer.Type() == (tokenizers.Byte{}).Type() && c.LabelNames != nil &&
		!c.PerToken() && !c.IsMultiLabel() && c.Sequences() == 1
}

// maxFragment is the maximum number of bytes of a fragment.
const maxFragment = 1 << 16

// evidenceFlag is the flag of the command files that explains predictions.
const evidenceFlag = "--evidence"

// A batch is predicted as soon as it reaches one of these limits.
const (
	fileBatch      = 256     // files or fragments
	fileBatchBytes = 1 << 20 // bytes of all samples
)

// filePredictor prints the kinds of files, in batches and in order.
type filePredictor struct {
	context      *cli.Context
	scorer       *sft.Scorer
	labels       []string
	linear       bool // a member is a linear model, which explains its predictions
	batch        []sampledFile
	bytes        int // bytes of the samples in batch
	read, failed int // numbers of files; failed also counts folders
}

// sampledFile is a file and a sample of its bytes, or a fragment of a file.
type sampledFile struct {
	path     string
	size     int64 // size of the file
	fragment bool
	offset   int64 // offset of the fragment
	bytes    []byte
}

// position returns the file offset of byte i of the sample.
func (f *sampledFile) position(i int) int64 {
	if f.fragment {
		return f.offset + int64(i)
	}
	return files.Offset(i, f.size)
}

// walk adds a file, or all regular files below a folder, except those in .git.
func (p *filePredictor) walk(root string) error {
	info, err := os.Stat(root)
	if err != nil || !info.IsDir() {
		return p.add(root, err)
	}
	return fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err == nil && entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case err == nil && !entry.Type().IsRegular():
			return nil // a folder, link, socket, pipe or device
		}
		return p.add(filepath.Join(root, filepath.FromSlash(name)), err)
	})
}

// add adds a file, or its fragments, to the batch. If the file could not be found or read, add prints the
// error instead.
func (p *filePredictor) add(path string, err error) error {
	if ctx := p.context.Context; ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fragment := p.context.Int("fragments")
	f, pass := sampledFile{path: path}, error(nil)
	switch {
	case err != nil:
	case fragment == 0:
		f.bytes, f.size, err = files.SampleFile(path)
	default:
		err = files.Fragments(path, fragment, func(offset, size int64, bytes []byte) error {
			f = sampledFile{path, size, true, offset, bytes}
			if offset+int64(len(bytes)) < size { // the last fragment, or an empty file, is added below
				pass = p.append(f)
			}
			return pass
		})
	}
	if pass != nil {
		return pass
	}
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = fmt.Errorf("%s: %w", path, cause.Err)
		}
		p.failed++
		_, err = fmt.Fprintln(p.context.App.ErrWriter, err)
		return err
	}
	p.read++
	return p.append(f)
}

// append adds a sample to the batch, and predicts a full batch.
func (p *filePredictor) append(f sampledFile) error {
	if ctx := p.context.Context; ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.bytes += len(f.bytes)
	if p.batch = append(p.batch, f); len(p.batch) == fileBatch || p.bytes >= fileBatchBytes {
		return p.flush()
	}
	return nil
}

// flush predicts and prints the batch.
func (p *filePredictor) flush() error {
	var examples []seq.Example
	for _, f := range p.batch {
		if len(f.bytes) >= files.MinBytes {
			e, err := p.example(f.bytes)
			if err != nil {
				return err
			}
			examples = append(examples, e)
		}
	}
	compute := p.scorer.Examples
	if p.context.Bool("evidence") && p.linear {
		compute = p.scorer.Explain
	}
	outputs, err := compute(p.context.Context, examples)
	if err != nil {
		return err
	}
	for _, f := range p.batch {
		r := fileResult{Path: f.path, Size: f.size, bytes: len(f.bytes)}
		if f.fragment {
			r.Fragment = &fragmentRange{f.offset, f.offset + int64(len(f.bytes))}
		}
		if len(f.bytes) >= files.MinBytes {
			for i := range outputs[0].Explanations {
				outputs[0].Explanations[i].InRow(p.scorer.Config().ReadWindow(), len(f.bytes))
			}
			r.predict(&f, &outputs[0], p.labels, p.context.Float64("threshold"))
			if p.context.Bool("evidence") && !p.linear {
				if r.Evidence, err = p.blockEvidence(&f, &outputs[0]); err != nil {
					return err
				}
			}
			outputs = outputs[1:]
		}
		if err := r.print(p.context); err != nil {
			return err
		}
	}
	p.batch, p.bytes = p.batch[:0], 0
	return nil
}

// example returns the row of a sample, cut to the model's input window.
func (p *filePredictor) example(sample []byte) (seq.Example, error) {
	tokens, err := tokenizers.Byte{}.Encode(string(sample))
	if err == nil {
		tokens, err = p.scorer.Config().Window(tokens)
	}
	return seq.Example{A: tokens, Label: seq.NoLabel}, err
}

// blockEvidence predicts the sample with one block removed at a time. It returns the blocks whose
// removal lowers the probability of the predicted kind most.
func (p *filePredictor) blockEvidence(f *sampledFile, o *sft.Output) ([]fileEvidence, error) {
	size := blockSize(len(f.bytes))
	var examples []seq.Example
	for first := 0; first < len(f.bytes) && len(f.bytes) > size; first += size {
		e, err := p.example(slices.Concat(f.bytes[:first], f.bytes[min(len(f.bytes), first+size):]))
		if err != nil {
			return nil, err
		}
		examples = append(examples, e)
	}
	outputs, err := p.scorer.Examples(p.context.Context, examples)
	if err != nil {
		return nil, err
	}
	probabilities := sft.Probabilities(o.Logits)
	kind := sft.Argmax(probabilities)
	var out []fileEvidence
	for i, without := range outputs {
		change := math.Log(float64(probabilities[kind])) - math.Log(float64(sft.Probabilities(without.Logits)[kind]))
		out = append(out, f.evidence(i*size, min(len(f.bytes), (i+1)*size), float32(min(change, math.MaxFloat32))))
	}
	return largestEvidence(out), nil
}
