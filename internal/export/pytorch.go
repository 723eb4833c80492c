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

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/sft"
)

// modelingTemplate is the module that computes a model of a folder; WordHashes belongs in it.
//
//go:embed modeling_sft.py
var modelingTemplate string

// WordHashesFile is the name of the file of [WordHashes].
const WordHashesFile = "word_hashes.py"

// WordHashes is a module of Python, without other packages, whose function word_hashes computes the input word_hashes
// of a graph.
//
//go:embed word_hashes.py
var WordHashes string

// modeling is the module in one file that needs PyTorch alone.
func modeling() []byte {
	_, functions, _ := strings.Cut(WordHashes, "\n\n")
	return []byte(strings.Replace(modelingTemplate, "# word_hashes.py stands here in an export.\n", functions, 1))
}

// Files of a folder for PyTorch.
const (
	modelingFile  = "modeling_sft.py"
	weightsFile   = "model.safetensors"
	configFile    = "config.json"
	tokenizerFile = "tokenizer.json"
)

// autoMap names the classes of the module, as Hugging Face's libraries look for them.
const autoMap = `{"AutoConfig":"modeling_sft.SFTConfig","AutoModel":"modeling_sft.SFTModel"}`

// PyTorch writes a folder for PyTorch: config.json, model.safetensors, a tokenizer.json unless that is nil, and
// modeling_sft.py, whose module has the parameters under their names. The folder is a model directory, too. It is made
// if need be, and may have been written before, but have nothing else, and no weights that PyTorch has written.
func PyTorch(m *sft.Model, tokenizer []byte, dir string) error {
	if err := checkCovered(m.Config); err != nil {
		return err
	}
	if err := checkFolder(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(dir, modelingFile), modeling()); err != nil {
		return err
	}
	path := filepath.Join(dir, tokenizerFile)
	err := atomicfile.Clean(path)
	if err == nil && tokenizer != nil {
		err = atomicfile.WriteBytes(path, tokenizer)
	} else if err == nil {
		err = os.Remove(path) // an earlier export may have had one
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Hugging Face's libraries read no file that does not say so.
	if err := m.SaveWeights(dir, map[string]string{"format": "pt"}); err != nil {
		return err
	}
	c := *m.Config
	c.AutoMap, c.Extra = json.RawMessage(autoMap), nil // where the run was is of no use elsewhere
	// the module's parameters have their shapes before it reads the weights
	if m.NGrams != nil {
		c.Extra = fmt.Appendf(nil, `{"ngram_rows":%d}`, len(m.NGrams.Weights)/c.HiddenSize)
	}
	return c.Write(filepath.Join(dir, configFile))
}

// checkFolder refuses a folder that has other files.
func checkFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	exported := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == modelingFile })
	files := []string{modelingFile, weightsFile, configFile, tokenizerFile}
	for _, e := range entries {
		if slices.Contains(files, atomicfile.TemporaryOf(e.Name())) { // left by a killed export: writing the file removes it
			continue
		}
		if !exported || !slices.Contains(append(files, "__pycache__"), e.Name()) {
			return fmt.Errorf("%s: expected a new folder, an empty one or an earlier export, found %s in it", dir,
				e.Name())
		}
	}
	path := filepath.Join(dir, weightsFile)
	if stated, err := safetensors.Stated(path); err == nil && !stated {
		return fmt.Errorf("%s: expected the weights of an earlier export, found those that PyTorch has written: sftseq import pytorch takes them", path)
	}
	return nil
}

// FromPyTorch reads the model of a folder that [PyTorch] has written and whose weights PyTorch may have
// changed: float32, bit for bit.
func FromPyTorch(dir string) (*sft.Model, error) {
	m, err := sft.Load(dir)
	if err != nil {
		return nil, err
	}
	m.Config.AutoMap, m.Config.Extra = nil, nil // the module stays there
	return m, nil
}
