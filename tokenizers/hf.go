package tokenizers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/hftokenizer"
)

// HF encodes text as a tokenizer.json of Hugging Face's tokenizers describes, with the file's own
// ids. Every id is a token, so there is no pad id. It adds no special tokens and neither truncates
// nor pads a text. Special tokens in the text itself, such as [SEP], are recognised.
//
// The file may be too large for a schema or a config.json, so it is stored beside them. The JSON
// identifies it by its checksum: {"type": "hf", "sha256": "…"}.
type HF struct{ tokenizer *hftokenizer.Tokenizer }

// FileName is the name of an HF tokenizer's file in the directory of a data set or a model.
const FileName = "tokenizer.json"

const typeHF = "hf"

// hfSpec is the tokenizer's JSON.
type hfSpec struct {
	Type   string `json:"type"`
	SHA256 string `json:"sha256"`
}

// Type returns "hf".
func (*HF) Type() string { return typeHF }

// VocabSize is one more than the file's largest id.
func (t *HF) VocabSize() int { return t.tokenizer.VocabSize() }

// PadID returns nil.
func (*HF) PadID() *int32 { return nil }

// scratch is the memory for a normalised text, and for lists of its spans and words.
func (*HF) scratch() int { return 64 }

// Encode returns the file's ids for text. Text that is not UTF-8 is an error.
func (t *HF) Encode(text string) ([]int32, error) {
	if err := checkUTF8(text); err != nil {
		return nil, err
	}
	return t.tokenizer.Encode(text)
}

// Decode returns readable text.
func (t *HF) Decode(tokens []int32) string { return t.tokenizer.Decode(tokens) }

// newHF is for callers that have only the JSON; it returns an error that names the file.
func newHF(json.RawMessage) (Tokenizer, error) {
	return nil, fmt.Errorf("tokenizer hf: its file %s is stored beside the data or the model; "+
		"for tables, give the file as hf:PATH", FileName)
}

// Open is [New] for a tokenizer of a data set or a model in dir, which may contain its file.
func Open(spec json.RawMessage, dir string) (Tokenizer, error) {
	if !hasFile(spec) {
		return New(spec)
	}
	t, _, err := openFile(spec, dir)
	return t, err
}

// openFile opens the file in a directory and checks that it is the one of the JSON.
func openFile(spec json.RawMessage, dir string) (Tokenizer, []byte, error) {
	var config hfSpec
	if err := decode(spec, &config); err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, FileName)
	t, found, text, err := ReadFile(path)
	if err == nil && !bytes.Equal(found, hfJSON(config.SHA256)) {
		err = fmt.Errorf("%s: expected the tokenizer of SHA-256 %.64s, found another: %s", path, config.SHA256, found)
	}
	if err != nil {
		return nil, nil, err
	}
	return t, text, nil
}

// ReadFile reads a tokenizer.json and returns its tokenizer, the JSON that identifies it, and its
// text.
func ReadFile(path string) (t Tokenizer, spec json.RawMessage, text []byte, err error) {
	f, err := atomicfile.OpenRegular(path)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("tokenizer: %w", err)
	}
	defer f.Close()
	if text, err = io.ReadAll(io.LimitReader(f, hftokenizer.MaxFile+1)); err != nil {
		return nil, nil, nil, fmt.Errorf("tokenizer: %w", err)
	}
	hf, err := hftokenizer.Parse(text)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: expected a tokenizer.json of Hugging Face's tokenizers: %w", path, err)
	}
	sum := sha256.Sum256(text)
	return &HF{hf}, hfJSON(hex.EncodeToString(sum[:])), text, nil
}

// hfJSON returns the JSON of the file with a checksum.
func hfJSON(sum string) json.RawMessage {
	spec, _ := json.Marshal(hfSpec{typeHF, sum}) // strings always marshal
	return spec
}

// WriteFile stores the text of a tokenizer's file in a directory, and removes temporary files that
// a killed program left there. The caller must be the only one that writes there.
func WriteFile(dir string, text []byte) error {
	path := filepath.Join(dir, FileName)
	if err := atomicfile.Clean(path); err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, text)
}

// CopyFile copies the file of the tokenizer from the directory of the data to that of a model; it
// does nothing for a tokenizer without a file.
func CopyFile(spec json.RawMessage, from, to string) error {
	if !hasFile(spec) {
		return nil
	}
	if _, _, err := openFile(spec, to); !errors.Is(err, fs.ErrNotExist) {
		return err // nil where a run is resumed
	}
	_, text, err := openFile(spec, from)
	if err != nil {
		return err
	}
	return WriteFile(to, text)
}

// hasFile reports whether the tokenizer has a file beside its JSON.
func hasFile(spec json.RawMessage) bool {
	return TypeOf(spec) == typeHF
}
