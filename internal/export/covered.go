package export

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/sft"
)

// covered are the keys of config.json that an export follows, or that say nothing of how a
// sequence is read: of those with values, these values alone.
var covered = map[string][]string{
	"model_type":    {"sft"},
	"task":          {sft.Classification, sft.Retrieval, sft.Regression, sft.MultiLabel, sft.Tagging, sft.FillMask},
	"norm_position": {"pre", "post"},
	"score":         {"maxout", "maxout_standardized", "lily", "dot"},
	"probability":   {"leaky_relu", "relu", "softmax"},
	"relative":      {"sinusoid_hadamard", "none"},
	"sampler_noise": {"train", "always"},
	"pooling":       {sft.SoftmaxPooling},

	"vocab_size": nil, "num_labels": nil, "pad_token_id": nil, "hidden_size": nil, "num_hidden_layers": nil,
	"num_attention_heads": nil, "intermediate_size": nil, "num_sampled_tokens": nil, "max_position_embeddings": nil,
	"sinusoid_dim": nil, "sinusoid_base": nil, "layer_norm_eps": nil, "sampler_seed": nil, "tokenizer": nil,
	"pooling_samples": nil, "input_window": nil, "label_names": nil, "residual_scale": nil, "convolutions": nil, "mask_token_id": nil,
	"tie_embeddings": nil, "numbers": nil, "thresholds": nil,

	"drop_token": nil, "attention_dropout": nil, "embedding_dropout": nil, "feed_forward_dropout": nil,
	"mask_rate": nil, "mask_span": nil, "regression_loss": nil, "auto_map": nil, "extra": nil,
}

// checkCovered refuses a configuration that says something that exports do not follow.
func checkCovered(c *sft.Config) error {
	if w := c.InputWindow; w != nil && !slices.Contains([]string{"error", "head"}, w.Policy) {
		return fmt.Errorf("input_window: %q, an export follows error, head", w.Policy)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return checkKeys(text)
}

// checkKeys is checkCovered of the text of a config.json, which may have keys that came later.
func checkKeys(text []byte) error {
	var keys map[string]any
	if err := json.Unmarshal(text, &keys); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		values, known := covered[key]
		if !known {
			return fmt.Errorf("%s: an export does not follow this key of config.json", key)
		}
		if v, isText := keys[key].(string); isText && values != nil && !slices.Contains(values, v) {
			return fmt.Errorf("%s: %q, an export follows %s", key, v, strings.Join(values, ", "))
		}
	}
	return nil
}
