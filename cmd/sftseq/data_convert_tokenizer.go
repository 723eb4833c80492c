package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// chooseTokenizer is the value of --tokenizer that chooses a tokenizer from the rows.
const chooseTokenizer = "auto"

// tokenizerFlag returns the tokenizer of --tokenizer: its JSON, or the path of a tokenizer.json.
// Both are empty if convert chooses a tokenizer from the rows.
func tokenizerFlag(c *cli.Context) (spec []byte, file string, err error) {
	text := c.String("tokenizer")
	if text == chooseTokenizer {
		return nil, "", nil
	}
	if file, ok := strings.CutPrefix(text, "hf:"); ok {
		if file == "" {
			return nil, "", usage(c,
				"--tokenizer hf: expected the path of a tokenizer.json after the colon, found nothing")
		}
		return nil, file, nil
	}
	if dir, ok := strings.CutPrefix(text, "from:"); ok {
		if strings.HasPrefix(dir, builtinPrefix) {
			if dir, err = builtinFolder(c, "--tokenizer from:", dir); err != nil {
				return nil, "", err
			}
		}
		spec, err := readTokenizer(dir)
		var t tokenizers.Tokenizer
		if err == nil {
			t, err = tokenizers.Open(spec, dir)
		}
		if err != nil && strings.HasPrefix(err.Error(), dir) {
			return nil, "", &rewordedError{err, "--tokenizer from:" + err.Error()}
		}
		if err != nil {
			return nil, "", fmt.Errorf("--tokenizer %s: %w", text, err)
		}
		if t.Type() == new(tokenizers.HF).Type() {
			return nil, filepath.Join(dir, tokenizers.FileName), nil
		}
		return spec, "", nil
	}
	if spec, err = parseTokenizer(text); err != nil {
		return nil, "", invalidFlag(c, "tokenizer", err)
	}
	return spec, "", nil
}

// readTokenizer returns the tokenizer JSON of the model, ensemble or data set in dir.
func readTokenizer(dir string) ([]byte, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: expected the directory of a model or of a data set, found a file (read a "+
			"tokenizer.json with --tokenizer hf:FILE)", dir)
	}
	for _, name := range []string{"config.json", seq.ManifestName} {
		path := filepath.Join(dir, name)
		found, err := readTokenizerFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && len(found.Members) > 0 && filepath.IsLocal(found.Members[0]) {
			path = filepath.Join(dir, found.Members[0], name) // the members of an ensemble read the same data
			found, err = readTokenizerFile(path)
		}
		if err == nil && found.Tokenizer == nil {
			err = fmt.Errorf("%s has no tokenizer: expected a data set or a model that reads text", path)
		}
		return found.Tokenizer, err
	}
	return nil, fmt.Errorf("%s: expected the directory of a model or of a data set, found neither config.json nor "+
		"%s there", dir, seq.ManifestName)
}

// tokenizerFile holds the fields of a config.json or dataset.json that determine the tokenizer.
type tokenizerFile struct {
	Tokenizer json.RawMessage `json:"tokenizer"`
	Members   []string        `json:"members"` // folders of an ensemble's models
}

func readTokenizerFile(path string) (found tokenizerFile, err error) {
	text, err := atomicfile.ReadRegular(path, maxConfigFile)
	if err != nil {
		return found, err
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return found, fmt.Errorf("%s: %w", path, err)
	}
	return found, nil
}

// parseTokenizer converts a tokenizer's short name, such as byte, dna:6 or words:20000, to JSON.
func parseTokenizer(text string) ([]byte, error) {
	spec := map[string]any{}
	name, k, ok := strings.Cut(text, ":")
	spec["type"] = name
	if !slices.Contains(tokenizers.Types(), name) || name == "hf" || name == "ids" && !ok {
		return nil, fmt.Errorf("expected one of %s, words:N, ids:N, hf:FILE or "+
			"from:DIR", strings.Join(namedTokenizers(), ", "))
	}
	if ok {
		n, err := strconv.Atoi(k)
		if err != nil {
			return nil, fmt.Errorf("expected a number after the colon, found %q", k)
		}
		if spec["vocab"] = n; name == "dna" {
			spec = map[string]any{"type": name, "k": n}
		}
	}
	out, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	learner, err := tokenizers.NewLearner(out)
	if learner == nil && err == nil {
		_, err = tokenizers.New(out)
	}
	if err != nil && ok { // without the JSON, which the user has not written
		_, text, found := strings.Cut(err.Error(), ": expected ")
		switch {
		case strings.Contains(err.Error(), "unknown field"):
			err = fmt.Errorf("expected %s without a number", name)
		case found:
			err = fmt.Errorf("number after the colon: expected %s", text)
		}
	}
	return out, err
}

// namedTokenizers returns the values of --tokenizer that need no colon.
func namedTokenizers() []string {
	return append([]string{chooseTokenizer}, slices.DeleteFunc(tokenizers.Types(), func(name string) bool {
		return name == "hf" || name == "ids" || name == "words"
	})...)
}
