package sft

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sinusoid"
)

// Tasks of a model.
const (
	Classification = seq.Classification // one sequence
	Retrieval      = seq.Retrieval      // a pair of sequences, one shared encoder
)

// Config is config.json: all that defines a model beside its weights.
type Config struct {
	ModelType        string          `json:"model_type"` // "sft"
	Task             string          `json:"task"`
	VocabSize        int             `json:"vocab_size"`
	NumLabels        int             `json:"num_labels"`
	PadTokenID       *int32          `json:"pad_token_id"` // null: every id is a token
	HiddenSize       int             `json:"hidden_size"`
	NumLayers        int             `json:"num_hidden_layers"`
	NumHeads         int             `json:"num_attention_heads"`
	IntermediateSize int             `json:"intermediate_size"`
	NumSampledTokens int             `json:"num_sampled_tokens"`
	MaxLength        int             `json:"max_position_embeddings"` // longest sequence accepted
	SinusoidDim      int             `json:"sinusoid_dim"`
	SinusoidBase     float64         `json:"sinusoid_base"`
	NormPosition     string          `json:"norm_position"` // pre, post
	LayerNormEps     float64         `json:"layer_norm_eps"`
	Score            string          `json:"score"`
	Probability      string          `json:"probability"`
	Relative         string          `json:"relative"`
	SamplerSeed      uint64          `json:"sampler_seed"`
	SamplerNoise     string          `json:"sampler_noise,omitempty"` // train (default), always
	Tokenizer        json.RawMessage `json:"tokenizer"`
	InputWindow      *InputWindow    `json:"input_window,omitempty"`
	LabelNames       []string        `json:"label_names,omitempty"`
	DropToken        float64         `json:"drop_token,omitempty"`
	AttentionDropout float64         `json:"attention_dropout,omitempty"`
	EmbeddingDropout float64         `json:"embedding_dropout,omitempty"`
	FeedForward      float64         `json:"feed_forward_dropout,omitempty"`
	ResidualScale    bool            `json:"residual_scale,omitempty"`
	Convolutions     []Convolution   `json:"convolutions,omitempty"` // before each layer's attention
	Extra            json.RawMessage `json:"extra,omitempty"`        // provenance, free
}

// InputWindow is what a task reads of a longer input.
type InputWindow struct {
	Length int    `json:"length"`
	Policy string `json:"policy"` // error, head
}

// optional keys of config.json; every other key of [Config] is required.
var optional = []string{"sampler_noise", "input_window", "label_names", "drop_token", "attention_dropout",
	"embedding_dropout", "feed_forward_dropout", "residual_scale", "convolutions", "extra"}

var (
	scores = map[string]tensor.Score{"maxout": tensor.Maxout, "maxout_standardized": tensor.MaxoutStandardized,
		"lily": tensor.Lily, "dot": tensor.Dot}
	probabilities = map[string]tensor.Probability{"leaky_relu": tensor.LeakyReLU, "relu": tensor.ReLU, "softmax": tensor.Softmax}
)

// maxConfigBytes bounds what is read of a config.json.
const maxConfigBytes = 16 << 20

// ReadConfig reads and checks a config.json. Errors name the file and the key.
func ReadConfig(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxConfigBytes {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxConfigBytes)
	}
	c, err := ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ParseConfig decodes and checks the text of a config.json.
func ParseConfig(text []byte) (*Config, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("the file is empty, a JSON object was expected")
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	known, found := configKeys(), topKeys(text)
	for i, k := range found {
		if !slices.Contains(known, k) {
			return nil, fmt.Errorf("unknown key %q", k)
		}
		if slices.Contains(found[:i], k) {
			return nil, fmt.Errorf("key %q is there twice", k)
		}
	}
	for _, k := range known {
		v, found := keys[k]
		if !found && !slices.Contains(optional, k) {
			return nil, fmt.Errorf("key %q is missing", k)
		}
		if found && k != "pad_token_id" && string(v) == "null" {
			return nil, fmt.Errorf("%s: null, a value was expected", k)
		}
	}
	c := &Config{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, err
	}
	if c.SamplerNoise == "" {
		c.SamplerNoise = "train"
	}
	return c, c.Validate()
}

// configKeys lists the keys of config.json in their order.
func configKeys() []string {
	text, err := json.Marshal(Config{SamplerNoise: "x", InputWindow: &InputWindow{}, LabelNames: []string{""}, DropToken: 1,
		AttentionDropout: 1, EmbeddingDropout: 1, FeedForward: 1, ResidualScale: true, Convolutions: []Convolution{{}},
		Tokenizer: json.RawMessage("0"), Extra: json.RawMessage("0")})
	if err != nil {
		panic(err)
	}
	return topKeys(text)
}

// topKeys lists the keys of a JSON object in their order.
func topKeys(text []byte) []string {
	var keys []string
	d := json.NewDecoder(bytes.NewReader(text))
	depth := 0
	for key := true; ; {
		t, err := d.Token()
		if err != nil {
			return keys // the end: the text is known to be an object
		}
		if s, ok := t.(json.Delim); ok {
			if s == '{' || s == '[' {
				depth++
			} else {
				depth--
			}
			key = true
			continue
		}
		if depth == 1 && key {
			keys = append(keys, t.(string))
			key = false
			continue
		}
		key = true
	}
}

// A ConfigError is a value that a model cannot have.
type ConfigError struct {
	Key             string // of config.json
	Found, Expected string
}

// Error names the key, what was found and what was expected.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: %s, expected %s", e.Key, e.Found, e.Expected)
}

// DescribeData sets what data decide of their models: task, vocabulary, tokenizer and
// classes. Then it validates.
func (c *Config) DescribeData(s seq.Spec) error {
	switch {
	case s.VocabSize == 0:
		return errors.New("the data state no vocabulary, which a model needs")
	case s.Tokenizer == nil:
		return errors.New("the data state no tokenizer, which a model needs")
	case len(s.LabelNames) == 0:
		return errors.New("the data have no names of labels, so there are no classes to learn")
	}
	c.Task, c.VocabSize, c.PadTokenID, c.Tokenizer = s.Task, s.VocabSize, s.PadID, s.Tokenizer
	c.LabelNames, c.NumLabels = s.LabelNames, len(s.LabelNames)
	return c.Validate()
}

// Validate reports the first value that no model can have.
func (c *Config) Validate() error {
	bad := func(key string, found any, expected string) error {
		return &ConfigError{key, fmt.Sprint(found), expected}
	}
	oneOf := func(key, v string, values ...string) error {
		if slices.Contains(values, v) {
			return nil
		}
		return bad(key, fmt.Sprintf("%q", v), strings.Join(values, ", "))
	}
	const most = 1 << 24 // keeps every product of two sizes far from overflow
	for _, s := range []struct {
		key string
		v   int
	}{
		{"vocab_size", c.VocabSize}, {"num_labels", c.NumLabels}, {"hidden_size", c.HiddenSize},
		{"num_hidden_layers", c.NumLayers}, {"num_attention_heads", c.NumHeads}, {"intermediate_size", c.IntermediateSize},
		{"num_sampled_tokens", c.NumSampledTokens}, {"max_position_embeddings", c.MaxLength}, {"sinusoid_dim", c.SinusoidDim},
	} {
		if s.v < 1 || s.v > most {
			return bad(s.key, s.v, fmt.Sprintf("1 to %d", most))
		}
	}
	for _, r := range []struct {
		key string
		v   float64
	}{
		{"drop_token", c.DropToken}, {"attention_dropout", c.AttentionDropout},
		{"embedding_dropout", c.EmbeddingDropout}, {"feed_forward_dropout", c.FeedForward},
	} {
		if !(r.v >= 0 && r.v < 1) {
			return bad(r.key, r.v, "0 ≤ rate < 1")
		}
	}
	if w := c.InputWindow; w != nil {
		if w.Length < 1 {
			return bad("input_window.length", w.Length, "at least 1")
		}
		if err := oneOf("input_window.policy", w.Policy, "error", "head"); err != nil {
			return err
		}
	}
	if err := validateConvolutions(c.Convolutions); err != nil {
		return err
	}
	const layers = 4096 // random numbers have room for far more, memory does not
	switch {
	case c.NumLayers > layers:
		return bad("num_hidden_layers", c.NumLayers, fmt.Sprintf("1 to %d", layers))
	case c.ModelType != "sft":
		return bad("model_type", fmt.Sprintf("%q", c.ModelType), `"sft"`)
	case c.HiddenSize%c.NumHeads != 0:
		return bad("hidden_size", c.HiddenSize, fmt.Sprintf("a multiple of the %d heads", c.NumHeads))
	case c.SinusoidDim%2 != 0 || c.SinusoidDim > sinusoid.MaxDim:
		return bad("sinusoid_dim", c.SinusoidDim, fmt.Sprintf("an even number up to %d", sinusoid.MaxDim))
	case !(c.SinusoidBase > 1 && c.SinusoidBase < 1e12):
		return bad("sinusoid_base", c.SinusoidBase, "1 < base < 1e12")
	case !(c.LayerNormEps > 0 && c.LayerNormEps < 1):
		return bad("layer_norm_eps", c.LayerNormEps, "0 < eps < 1")
	case c.PadTokenID != nil && (*c.PadTokenID < 0 || int(*c.PadTokenID) >= c.VocabSize):
		return bad("pad_token_id", *c.PadTokenID, fmt.Sprintf("null or an id below vocab_size %d", c.VocabSize))
	case c.LabelNames != nil && len(c.LabelNames) != c.NumLabels:
		return bad("label_names", fmt.Sprintf("%d names", len(c.LabelNames)), fmt.Sprintf("num_labels %d", c.NumLabels))
	}
	if c.PadTokenID != nil && c.VocabSize == 1 {
		return bad("pad_token_id", *c.PadTokenID, "null: with vocab_size 1 no other token is left")
	}
	return errors.Join(
		oneOf("task", c.Task, Tasks()...),
		oneOf("norm_position", c.NormPosition, "pre", "post"),
		oneOf("score", c.Score, "maxout", "maxout_standardized", "lily", "dot"),
		oneOf("probability", c.Probability, "leaky_relu", "relu", "softmax"),
		oneOf("relative", c.Relative, "sinusoid_hadamard", "none"),
		oneOf("sampler_noise", c.SamplerNoise, "train", "always"),
	)
}

// Write stores the configuration as config.json.
func (c *Config) Write(path string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// CheckTokens reports the first token that the model cannot read.
func (c *Config) CheckTokens(tokens []int32) error {
	if len(tokens) == 0 {
		return errors.New("the sequence is empty, at least 1 token was expected")
	}
	if len(tokens) > c.MaxLength {
		return fmt.Errorf("the sequence has %d tokens, the model accepts at most %d", len(tokens), c.MaxLength)
	}
	for i, t := range tokens {
		if t < 0 || int(t) >= c.VocabSize {
			return fmt.Errorf("token %d at index %d is outside the vocabulary of %d", t, i, c.VocabSize)
		}
		if c.PadTokenID != nil && t == *c.PadTokenID {
			return fmt.Errorf("token %d at index %d is the padding id, which no input may contain", t, i)
		}
	}
	return nil
}

// Label is the name of a label where names exist, else the integer.
func (c *Config) Label(i int) any {
	if i < len(c.LabelNames) {
		return c.LabelNames[i]
	}
	return i
}
