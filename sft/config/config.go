package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sinusoid"
)

// Tasks of a model. The task of a data set is the default task of its models. A model may have
// another task that the data allow, such as fill-mask.
const (
	Classification = seq.Classification // one sequence
	Regression     = seq.Regression     // one sequence, numbers are predicted
	MultiLabel     = seq.MultiLabel     // one sequence, any number of labels
	Retrieval      = seq.Retrieval      // a pair of sequences, one shared encoder
	Tagging        = seq.Tagging        // one sequence, a label per token
	// FillMask predicts masked tokens of one sequence, or of each sequence of a pair, without labels.
	FillMask = "fill-mask"
)

// maxSize limits sizes, so that no product of two sizes overflows.
const maxSize = 1 << 24

// MaxBytes is the maximum size of a config.json in bytes.
const MaxBytes = 16 << 20

// Read reads and checks a config.json. Errors name the file, and the key of an invalid value.
func Read(path string) (*Config, error) {
	text, err := atomicfile.ReadRegular(path, MaxBytes)
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse decodes and checks the text of a config.json.
func Parse(text []byte) (*Config, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("expected a JSON object, found an empty file")
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		syntax := (*json.SyntaxError)(nil)
		if errors.As(err, &syntax) && syntax.Offset >= int64(len(text)) {
			return nil, fmt.Errorf("expected a JSON object, found a truncated or damaged file that ends within it, "+
				"after %d bytes: restore the file from a copy", len(text))
		}
		if syntax != nil {
			return nil, fmt.Errorf("expected a JSON object, found malformed JSON at byte %d: %w", syntax.Offset, err)
		}
		return nil, jsonlines.TypeError(err)
	}
	switch string(keys["model_type"]) {
	case `"` + LinearType + `"`:
		return linearConfig(text)
	case `"` + FusionType + `"`:
		return nil, errors.New("expected a single model, found a fusion of several models (choose one of its members)")
	}
	if kind, ok := keys["model_type"]; ok && string(kind) != `"sft"` && string(kind) != "null" {
		return nil, bad("model_type", string(kind), `"sft" (a model that sftseq has trained)`)
	}
	found := topKeys(text)
	for i, k := range found {
		if !slices.ContainsFunc(configKeys, func(known configKey) bool { return known.Name == k }) {
			return nil, fmt.Errorf("unknown key %q", k)
		}
		if slices.Contains(found[:i], k) {
			return nil, fmt.Errorf("key %q occurs twice", k)
		}
	}
	for _, k := range configKeys {
		v, found := keys[k.Name]
		if !found && !k.Optional {
			return nil, fmt.Errorf("key %q is missing", k.Name)
		}
		if found && !k.Nullable && string(v) == "null" {
			return nil, fmt.Errorf("%s: expected a value, found null", k.Name)
		}
	}
	c := &Config{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, jsonlines.TypeError(err)
	}
	c.SamplerNoise = cmp.Or(c.SamplerNoise, "train")
	return c, c.Validate()
}

// configKey is a key of config.json: a field of [Config].
type configKey struct {
	Name     string
	Optional bool // absent if the field has its zero value
	Nullable bool
}

// configKeys lists the keys of config.json in the order in which they are written.
var configKeys = keysOf(reflect.TypeFor[Config]())

// keysOf returns the JSON keys of a struct type like [Config].
func keysOf(t reflect.Type) (keys []configKey) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous { // VisibleFields also lists its fields
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options != "" && options != "omitempty" && options != "omitzero" {
			panic(fmt.Sprintf("%s.%s: unknown option %q of its key", t, f.Name, options))
		}
		optional := options != "" // with omitzero, an empty list is still written
		keys = append(keys, configKey{name, optional, f.Type.Kind() == reflect.Pointer && !optional})
	}
	return keys
}

// topKeys lists the keys of a JSON object in the order of the text.
func topKeys(text []byte) []string {
	var keys []string
	d := json.NewDecoder(bytes.NewReader(text))
	depth := 0
	for key := true; ; {
		t, err := d.Token()
		if err != nil {
			return keys // end of the object, which the caller has validated
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

// Error reports an invalid value of a configuration.
type Error struct {
	Key             string // key in config.json
	Found, Expected string
}

// Error returns the key, the value found and the values expected.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s, expected %s", e.Key, e.Found, e.Expected)
}

// ErrNoLabels is the error for a task that predicts labels, if the data have no label names.
var ErrNoLabels = errors.New("the data set has no label names, so there are no classes to predict")

// DescribeData sets the values that the data determine: vocabulary, tokenizer, features, edges,
// labels or numbers, and the task if c states none. It clears [Config.Decision] and [Config.AutoMap], which
// belong to the trained model that c may come from, and validates c.
func (c *Config) DescribeData(s seq.Spec) error {
	switch {
	case s.FeatureNames != nil:
	case s.VocabSize == 0:
		return errors.New("the data set has no vocabulary size, which a model requires")
	case s.Tokenizer == nil:
		return errors.New("the data set has no tokenizer, which a model requires")
	}
	c.Task = cmp.Or(c.Task, s.Task)
	o, known := tasks[c.Task]
	if !known {
		return &Error{"task", fmt.Sprintf("%q", c.Task), strings.Join(Tasks(), ", ")}
	}
	c.Decision, c.AutoMap = Decision{}, nil // a model to start from may have set them
	c.VocabSize, c.PadTokenID, c.Tokenizer = s.VocabSize, s.PadID, s.Tokenizer
	c.describeFeatures(s)
	if c.HasFeatures() && !c.task().supportsFeatures() {
		return &Error{"task", c.Task, "a task that supports features"}
	}
	if err := o.describe(c, s); err != nil {
		return err
	}
	return c.Validate()
}

// Validate returns an error if a value is invalid.
func (c *Config) Validate() error {
	checks := []func() error{c.validateTask, c.validateSizes, c.validateFeatures, c.validateEdges,
		c.validateRates, c.validateWindow, c.validateNGrams,
		func() error { return validateConvolutions(c.Convolutions) }, c.validatePooling, c.validateTemperature,
		c.validateSpanDecoding, c.validateShapes, c.validateTokens, c.validateChunks}
	for _, check := range checks { // each check relies on the earlier ones
		if err := check(); err != nil {
			return err
		}
	}
	err := errors.Join(
		oneOf("norm_position", c.NormPosition, "pre", "post"),
		oneOf("score", c.Score, "maxout", "maxout_standardized", "lily", "dot"),
		oneOf("probability", c.Probability, "leaky_relu", "relu", "softmax"),
		oneOf("relative", c.Relative, Relations...),
		oneOf("sampler_noise", c.SamplerNoise, "train", "always"),
	)
	if err != nil {
		return err
	}
	if err := c.task().validate(c); err != nil {
		return err
	}
	if !c.MasksTokens() && c.MaskRate != 0 {
		return bad("mask_rate", c.MaskRate, "none: only task "+FillMask+" masks tokens")
	}
	return nil
}

// HasAttention reports whether the layers have attention.
func (c *Config) HasAttention() bool { return c.NumSampledTokens > 0 }

func (c *Config) validateTask() error { return oneOf("task", c.Task, Tasks()...) }

func bad(key string, found any, expected string) error {
	return &Error{key, fmt.Sprint(found), expected}
}

// oneOf returns an error if v is not one of values.
func oneOf(key, v string, values ...string) error {
	if slices.Contains(values, v) {
		return nil
	}
	return bad(key, fmt.Sprintf("%q", v), strings.Join(values, ", "))
}

// maxAverages is the maximum number of moving averages of a channel in each direction.
const maxAverages = 64

func (c *Config) validateSizes() error {
	for _, s := range []struct {
		key    string
		v, min int
	}{
		{"num_labels", c.NumLabels, 1}, {"hidden_size", c.HiddenSize, 1},
		{"num_hidden_layers", c.NumLayers, 1}, {"num_attention_heads", c.NumHeads, 1},
		{"intermediate_size", c.IntermediateSize, 1},
		{"num_sampled_tokens", c.NumSampledTokens, 0}, {"max_position_embeddings", c.MaxLength, 1},
		{"sinusoid_dim", c.SinusoidDim, 1},
	} {
		if s.v < s.min || s.v > maxSize {
			return bad(s.key, s.v, fmt.Sprintf("%d to %d", s.min, maxSize))
		}
	}
	if c.MovingAverages < 0 || c.MovingAverages > maxAverages {
		return bad("moving_averages", c.MovingAverages, fmt.Sprintf("0 to %d", maxAverages))
	}
	if !c.HasFeatures() && (c.VocabSize < 1 || c.VocabSize > maxSize) {
		return bad("vocab_size", c.VocabSize, fmt.Sprintf("1 to %d", maxSize))
	}
	return nil
}

func (c *Config) validateRates() error {
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
	return nil
}

// validateShapes returns an error for too many layers, sizes that do not fit together, a relation
// without attention, invalid constants and an unknown type of model.
func (c *Config) validateShapes() error {
	const maxLayers = 4096 // limits memory; the counters of random draws allow 2²³ layers
	switch {
	case c.NumLayers > maxLayers:
		return bad("num_hidden_layers", c.NumLayers, fmt.Sprintf("1 to %d", maxLayers))
	case c.ModelType != "sft":
		return bad("model_type", fmt.Sprintf("%q", c.ModelType), `"sft"`)
	case !c.HasAttention() && c.Relative != NoRelation:
		return bad("relative", fmt.Sprintf("%q", c.Relative), NoRelation+", because num_sampled_tokens is 0")
	case c.HiddenSize%c.NumHeads != 0:
		return bad("num_attention_heads", c.NumHeads, fmt.Sprintf("a divisor of hidden_size, %d", c.HiddenSize))
	case c.SinusoidDim%2 != 0 || c.SinusoidDim > sinusoid.MaxDim:
		return bad("sinusoid_dim", c.SinusoidDim, fmt.Sprintf("an even number up to %d", sinusoid.MaxDim))
	case !(c.SinusoidBase > 1 && c.SinusoidBase < 1e12):
		return bad("sinusoid_base", c.SinusoidBase, "1 < base < 1e12")
	case !(c.LayerNormEps > 0 && c.LayerNormEps < 1):
		return bad("layer_norm_eps", c.LayerNormEps, "0 < eps < 1")
	}
	return nil
}

// validateTokens returns an error for token ids and label names that do not fit vocab_size and
// num_labels.
func (c *Config) validateTokens() error {
	switch {
	case c.PadTokenID != nil && (*c.PadTokenID < 0 || int(*c.PadTokenID) >= c.VocabSize):
		return bad("pad_token_id", *c.PadTokenID, fmt.Sprintf("null or an id below vocab_size %d", c.VocabSize))
	case c.MaskTokenID != nil && (int(*c.MaskTokenID) != c.VocabSize-1 || c.VocabSize == 1):
		return bad("mask_token_id", *c.MaskTokenID,
			fmt.Sprintf("the last id of vocab_size %d, which must be at least 2", c.VocabSize))
	case c.MaskTokenID != nil && c.PadTokenID != nil && (*c.MaskTokenID == *c.PadTokenID || c.VocabSize == 2):
		return bad("pad_token_id", *c.PadTokenID,
			fmt.Sprintf("null, or with vocab_size ≥ 3 an id other than mask_token_id %d", *c.MaskTokenID))
	case len(c.LabelNames) > seq.MaxLabelNames:
		return bad("label_names", fmt.Sprintf("%d names", len(c.LabelNames)),
			fmt.Sprintf("at most %d", seq.MaxLabelNames))
	case c.LabelNames != nil && len(c.LabelNames) != c.NumLabels:
		return bad("label_names", fmt.Sprintf("%d names", len(c.LabelNames)), fmt.Sprintf("num_labels %d", c.NumLabels))
	}
	if c.PadTokenID != nil && c.VocabSize == 1 {
		return bad("pad_token_id", *c.PadTokenID, "null: with vocab_size 1 no other token is left")
	}
	return nil
}

// Write stores the configuration as config.json.
func (c *Config) Write(path string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, append(text, '\n'))
}

// CheckTokens returns an error if a sequence is empty or too long, or has a token that the model does
// not accept.
func (c *Config) CheckTokens(tokens []int32) error {
	if len(tokens) == 0 {
		return errors.New("expected at least 1 token, found an empty sequence")
	}
	if len(tokens) > c.MaxLength {
		return &LengthError{len(tokens), c.MaxLength, "the model"}
	}
	return c.CheckIDs(tokens, 0)
}

// DataVocabSize returns the size of the vocabulary without the mask, which data do not contain.
func (c *Config) DataVocabSize() int {
	if c.MaskTokenID != nil {
		return c.VocabSize - 1
	}
	return c.VocabSize
}

// OpenSplit opens a split of a data set as examples of the model, cut to [Config.ReadWindow]. For the
// task fill-mask, the sequences of a pair are separate examples.
func (c *Config) OpenSplit(set *seq.Dataset, split string) (*seq.File, error) {
	if c.Sequences() == 1 {
		return set.OpenSequences(split, c.ReadWindow())
	}
	return set.OpenWindow(split, c.ReadWindow())
}

// Label returns the name of label i, or i if labels have no names.
func (c *Config) Label(i int) any {
	if i < len(c.LabelNames) {
		return c.LabelNames[i]
	}
	return i
}
