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

// HF encodes text with the rules and the ids of a Hugging Face tokenizer.json. Every id is a token,
// so there is no pad id. HF adds no special tokens, and neither truncates nor pads a text. It
// recognises special tokens in the text, such as [SEP].
//
// The file may be too large for a schema or a config.json, so it is a separate file in the same
// directory. The JSON identifies the file by its checksum: {"type": "hf", "sha256": "…"}.
type HF struct{ tokenizer *hftokenizer.Tokenizer }

// FileName is the name of an HF tokenizer's file in the directory of a data set or a model.
const FileName = "tokenizer.json"

const typeHF = "hf"

// hfSpec is the JSON of an hf tokenizer.
type hfSpec struct {
	Type   string `json:"type"`
	SHA256 string `json:"sha256"`
}

// Type returns "hf".
func (*HF) Type() string { return typeHF }

// VocabSize returns the file's largest id plus one.
func (t *HF) VocabSize() int { return t.tokenizer.VocabSize() }

// PadID returns nil.
func (*HF) PadID() *int32 { return nil }

// scratch returns the memory per byte of text, in bytes, for the normalised text and for the lists of
// its spans and words.
func (*HF) scratch() int { return 64 }

// Encode returns the file's ids for text. It fails if the text is not UTF-8.
func (t *HF) Encode(text string) ([]int32, error) {
	if err := checkUTF8(text); err != nil {
		return nil, err
	}
	return t.tokenizer.Encode(text)
}

// Decode returns readable text for ids, including ids that Encode never returns.
func (t *HF) Decode(tokens []int32) string { return t.tokenizer.Decode(tokens) }

// newHF returns an error that names the file, as the JSON alone does not contain the tokenizer.
func newHF(json.RawMessage) (Tokenizer, error) {
	return nil, fmt.Errorf("tokenizer hf: expected the file %s of the data set or model, because the JSON does not "+
		"contain the tokenizer (for tables use hf:PATH)", FileName)
}

// Open returns the tokenizer of a data set or a model in dir. It is like [New], but also reads the
// file of an HF tokenizer in dir.
func Open(spec json.RawMessage, dir string) (Tokenizer, error) {
	if !hasFile(spec) {
		return New(spec)
	}
	t, _, err := openFile(spec, dir)
	return t, err
}

// openFile reads the tokenizer.json in a directory and checks its checksum against the JSON.
func openFile(spec json.RawMessage, dir string) (Tokenizer, []byte, error) {
	var config hfSpec
	if err := decode(spec, &config); err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, FileName)
	t, found, text, err := ReadFile(path)
	if err == nil && !bytes.Equal(found, hfJSON(config.SHA256)) {
		sum := sha256.Sum256(text)
		err = fmt.Errorf("%s: expected a tokenizer with SHA-256 %.64s, found %x", path, config.SHA256, sum)
	}
	if err != nil {
		return nil, nil, err
	}
	return t, text, nil
}

// ReadFile reads a tokenizer.json. It returns the tokenizer, the JSON that identifies the file, and
// the file's text.
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
		return nil, nil, nil, fmt.Errorf("%s: expected a Hugging Face tokenizer.json: %w", path, err)
	}
	sum := sha256.Sum256(text)
	return &HF{hf}, hfJSON(hex.EncodeToString(sum[:])), text, nil
}

// hfJSON returns the JSON of the tokenizer whose file has the given checksum.
func hfJSON(sum string) json.RawMessage {
	spec, _ := json.Marshal(hfSpec{typeHF, sum}) // strings always marshal without an error
	return spec
}

// WriteFile writes the text of a tokenizer's file to a directory, and removes temporary files of
// killed programs. No other program may write to the directory meanwhile.
func WriteFile(dir string, text []byte) error {
	path := filepath.Join(dir, FileName)
	if err := atomicfile.Clean(path); err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, text)
}

// CopyFile copies the tokenizer's file from the directory of the data to the directory of a model.
// It does nothing for a tokenizer without a file, or if the model has the file already. If the model
// has a different file, CopyFile returns an error.
func CopyFile(spec json.RawMessage, from, to string) error {
	if !hasFile(spec) {
		return nil
	}
	if _, _, err := openFile(spec, to); !errors.Is(err, fs.ErrNotExist) {
		return err // nil if a resumed run has the file already
	}
	_, text, err := openFile(spec, from)
	if err != nil {
		return err
	}
	return WriteFile(to, text)
}

// hasFile reports whether the tokenizer has a file in addition to its JSON.
func hasFile(spec json.RawMessage) bool {
	return TypeOf(spec) == typeHF
}
