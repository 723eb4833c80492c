package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// covered lists the keys of config.json that an export supports, or that do not affect predictions.
// If a key has a list of values, the export supports only these values.
var covered = map[string][]string{
	"model_type":    {"sft"},
	"task":          nil, // see exportedTasks
	"norm_position": {"pre", "post"},
	"score":         {"maxout", "maxout_standardized", "lily", "dot"},
	"probability":   {"leaky_relu", "relu", "softmax"},
	"relative":      {config.SinusoidRelation, config.DistanceRelation, config.EdgeRelation, config.NoRelation},
	"sampler_noise": {"train", "always"},
	"pooling":       {config.SoftmaxPooling, config.MaxPooling},
	"input":         {config.FeaturesInput, config.OnesInput},

	"vocab_size": nil, "num_labels": nil, "pad_token_id": nil, "hidden_size": nil, "num_hidden_layers": nil,
	"num_attention_heads": nil, "intermediate_size": nil, "num_sampled_tokens": nil, "max_position_embeddings": nil,
	"sinusoid_dim": nil, "sinusoid_base": nil, "layer_norm_eps": nil, "sampler_seed": nil, "tokenizer": nil,
	"pooling_samples": nil, "input_window": nil, "input_window_tail": nil, "label_names": nil, "residual_scale": nil,
	"convolutions": nil, "moving_averages": nil, "mask_token_id": nil,
	"tie_embeddings": nil, "numbers": nil, "thresholds": nil, "temperature": nil, "span_decoding": nil,
	"feature_names": nil, "feature_scales": nil, "edge_feature_names": nil, "ngrams": nil,

	"drop_token": nil, "attention_dropout": nil, "embedding_dropout": nil, "feed_forward_dropout": nil,
	"mask_rate": nil, "mask_span": nil, "regression_loss": nil, "auto_map": nil, "extra": nil,
}

// checkCovered returns an error for a chunked model, and for a configuration with keys or values that
// exports do not support. The second error names all of them.
func checkCovered(c *sft.Config) error {
	if c.Chunks != nil {
		return errors.New("export does not support chunked models: export a model trained without --chunks")
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	refused, err := refusedKeys(text)
	if err != nil {
		return err
	}
	if _, ok := exportedTasks[c.Task]; !ok {
		refused = append(refused, fmt.Sprintf("task: %q, expected one of %s", c.Task,
			jsonlines.QuoteNames(slices.Sorted(maps.Keys(exportedTasks)))))
	}
	if w := c.InputWindow; w != nil && !slices.Contains([]string{"error", "head"}, w.Policy) {
		refused = append(refused, fmt.Sprintf("input_window: %q, expected error, head", w.Policy))
	}
	if refused != nil {
		return fmt.Errorf("config.json has settings that an export does not support: %s", strings.Join(refused, "; "))
	}
	return nil
}

// refusedKeys returns the keys in the text of a config.json that exports do not support, or whose
// values they do not support, with the expected values. It also finds keys of later versions.
func refusedKeys(text []byte) (refused []string, err error) {
	var keys map[string]any
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		values, known := covered[key]
		if !known {
			refused = append(refused, key+": unsupported key")
		} else if v, isText := keys[key].(string); isText && values != nil && !slices.Contains(values, v) {
			refused = append(refused, fmt.Sprintf("%s: %q, expected %s", key, v, strings.Join(values, ", ")))
		}
	}
	return refused, nil
}
