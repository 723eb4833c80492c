package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/hftokenizer"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// readTokenizer reads the tokenizer's file. If the directory of the data set contains a different
// tokenizer.json, the existing file may be the user's own: readTokenizer returns an error unless the
// file is part of a data set that the conversion replaces.
func (c *converter) readTokenizer() (err error) {
	o := &c.options
	if c.tokenizer, o.Tokenizer, c.file, err = tokenizers.ReadFile(o.TokenizerFile); err != nil {
		return err
	}
	path := filepath.Join(o.To, tokenizers.FileName)
	existing, err := atomicfile.ReadRegular(path, hftokenizer.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !bytes.Equal(existing, c.file) && !o.Replace:
		return fmt.Errorf("%s is a different tokenizer: %w", path, seq.ErrExists)
	case err == nil && !bytes.Equal(existing, c.file):
		if _, err := os.Stat(filepath.Join(o.To, seq.ManifestName)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: found a different tokenizer that is not part of a data set, so it is not replaced: "+
				"move or delete the file", path)
		}
	}
	return err
}
