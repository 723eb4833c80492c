package export

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/sft"
)

// modelingTemplate is the source of the module that computes a model. [modeling] inserts WordHashes.
//
//go:embed modeling_sft.py
var modelingTemplate string

// WordHashesFile is the name of the file of [WordHashes].
const WordHashesFile = "word_hashes.py"

// WordHashes is a Python module without dependencies. Its function word_hashes computes the input
// word_hashes of a graph.
//
//go:embed word_hashes.py
var WordHashes string

// modeling returns the module as one file, with the functions of [WordHashes].
func modeling() []byte {
	_, functions, _ := strings.Cut(WordHashes, "\n\n")
	const mark = "# An export inserts the functions of word_hashes.py here.\n"
	return []byte(strings.Replace(modelingTemplate, mark, functions, 1))
}

// Files of a folder for PyTorch.
const (
	modelingFile  = "modeling_sft.py"
	weightsFile   = "model.safetensors"
	configFile    = "config.json"
	tokenizerFile = "tokenizer.json"
)

// autoMap names the classes of the module for Hugging Face's libraries.
const autoMap = `{"AutoConfig":"modeling_sft.SFTConfig","AutoModel":"modeling_sft.SFTModel"}`

// PyTorch writes a folder for PyTorch: config.json, model.safetensors, a tokenizer.json unless
// tokenizer is nil, and modeling_sft.py, whose module has the parameters under their names. The
// folder is also a model directory. PyTorch creates the folder, or replaces an earlier export. It
// refuses a folder with other files, or with weights that the library PyTorch has written. If the
// disk is full, no file is left and an earlier export stays unchanged.
func PyTorch(m *sft.Model, tokenizer []byte, dir string) error {
	if err := checkCovered(m.Config); err != nil {
		return err
	}
	if err := checkFolder(dir); err != nil {
		return err
	}
	if n := m.Config.NGrams; n != nil && n.Bits > 0 { // PyTorch reads floats
		floats, c, options := *m, *m.Config, *n
		options.Bits, c.NGrams, floats.Config = 0, &options, &c
		m = &floats
	}
	_, err := os.Stat(dir)
	created := errors.Is(err, fs.ErrNotExist)
	if err := atomicfile.MakeFolder(dir); err != nil {
		return err
	}
	err = replaceExport(m, tokenizer, dir)
	if err != nil && created {
		os.Remove(dir)
	}
	return err
}

// stagingPattern is the pattern of names of temporary folders. An export is written in such a folder
// before its files are moved. The names have the form of a temporary file, so that a later export
// accepts and removes the folder of a killed program.
const stagingPattern = "." + modelingFile + ".*.tmp"

// replaceExport writes the files of an export into a temporary folder in dir, and moves them to dir
// when all are complete. If a file cannot be written, the files of dir are unchanged.
func replaceExport(m *sft.Model, tokenizer []byte, dir string) error {
	killed, err := filepath.Glob(filepath.Join(globEscaper.Replace(dir), stagingPattern))
	for _, path := range killed {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		return err
	}
	staging, err := os.MkdirTemp(dir, stagingPattern)
	if err != nil {
		return fmt.Errorf("%s: creating a temporary folder: %w", dir, atomicfile.Cause(err))
	}
	defer os.RemoveAll(staging)
	if err := writeExport(m, tokenizer, staging); err != nil {
		return &stagedError{err, strings.ReplaceAll(err.Error(), staging, dir)}
	}
	if tokenizer == nil { // removes the file of an earlier export
		if err := os.Remove(filepath.Join(dir, tokenizerFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range []string{modelingFile, tokenizerFile, weightsFile, configFile} {
		err := atomicfile.Rename(filepath.Join(staging, name), filepath.Join(dir, name))
		if err != nil && !(name == tokenizerFile && tokenizer == nil) {
			return err
		}
	}
	return nil
}

// globEscaper escapes the name of a directory for a glob pattern.
var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// stagedError is an error in the temporary folder. Its text names the final folder.
type stagedError struct {
	error
	text string
}

func (e *stagedError) Error() string { return e.text }
func (e *stagedError) Unwrap() error { return e.error }

// writeExport writes the files of an export into an empty folder.
func writeExport(m *sft.Model, tokenizer []byte, dir string) error {
	err := atomicfile.WriteBytes(filepath.Join(dir, modelingFile), modeling())
	if err == nil && tokenizer != nil {
		err = atomicfile.WriteBytes(filepath.Join(dir, tokenizerFile), tokenizer)
	}
	if err != nil {
		return err
	}
	// Hugging Face's libraries require this metadata.
	if err := m.SaveWeights(dir, map[string]string{"format": "pt"}); err != nil {
		return err
	}
	c := *m.Config
	c.AutoMap, c.Extra = json.RawMessage(autoMap), nil // Extra has local paths of the training run
	// The module needs the shapes of its parameters before it reads the weights.
	if m.NGrams != nil {
		c.Extra = fmt.Appendf(nil, `{"ngram_rows":%d}`, len(m.NGrams.Weights)/c.HiddenSize)
	}
	return c.Write(filepath.Join(dir, configFile))
}

// checkFolder returns an error unless dir is missing, empty or an earlier export. Weights that PyTorch
// has written are an error, too.
func checkFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTDIR): // creating the folder reports a parent that is a file
		if _, err := os.Stat(dir); err == nil {
			return fmt.Errorf("%s: expected a new or empty folder, or an earlier export, found a file", dir)
		}
		return nil
	case err != nil:
		return err
	}
	exported := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == modelingFile })
	files := []string{modelingFile, weightsFile, configFile, tokenizerFile}
	for _, e := range entries {
		// A killed export may leave temporary files and folders.
		if slices.Contains(files, atomicfile.TemporaryOf(e.Name())) {
			continue
		}
		if !exported || !slices.Contains(append(files, "__pycache__"), e.Name()) {
			return fmt.Errorf("%s: expected a new or empty folder, or an earlier export, found %s in it", dir,
				e.Name())
		}
	}
	path := filepath.Join(dir, weightsFile)
	if stated, err := safetensors.Stated(path); err == nil && !stated {
		return fmt.Errorf("%s: expected the weights of an earlier export, found weights written by PyTorch "+
			"(sftseq import pytorch imports them)", path)
	}
	return nil
}

// FromPyTorch reads the model of a folder that the function [PyTorch] has written. It reads the
// float32 weights bit for bit, even if a Python program has trained and replaced them.
func FromPyTorch(dir string) (*sft.Model, error) {
	m, err := sft.Load(dir)
	if err != nil {
		return nil, err
	}
	m.Config.AutoMap, m.Config.Extra = nil, nil // both describe the module of the folder
	return m, nil
}
