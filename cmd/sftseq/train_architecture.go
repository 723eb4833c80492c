package main

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/sft"
)

type architectureFlag struct{ name, key, usage string }

// architectureFlags are those of a model: each replaces the value of a key of config.json,
// and has its type.
var architectureFlags = []architectureFlag{
	{"k", "num_sampled_tokens", "sampled tokens, each mixed with a partner"},
	{"hidden", "hidden_size", "hidden size"},
	{"layers", "num_hidden_layers", "encoder layers"},
	{"heads", "num_attention_heads", "attention heads"},
	{"intermediate", "intermediate_size", "width of the feed-forward layer"},
	{"sinusoid-dim", "sinusoid_dim", "dimension of the relative encoding"},
	{"max-length", "max_position_embeddings", "longest sequence that the model accepts"},
	{"norm", "norm_position", "pre or post"},
	{"score", "score", "maxout, maxout_standardized, lily or dot"},
	{"probability", "probability", "leaky_relu, relu or softmax"},
	{"relative", "relative", "sinusoid_hadamard, distance, edges or none; of points it is distance, of graphs edges, or none"},
	{"input", "input", "of tokens with features: features, or ones, so that a model knows points by their distances alone"},
	{"pooling", "pooling", "softmax, a mean of the tokens by learned weights, or max, of each channel the maximum, as the paper's model of ModelNet40 has it"},
	{"pooling-samples", "pooling_samples", "of max: tokens sampled for it, 512 in the paper; 0 is all"},
	{"sampler-noise", "sampler_noise", "when tokens are sampled by chance: train, or always, also in validation and by the model later"},
	{"drop-token", "drop_token", "probability that sampling skips a token"},
	{"attention-dropout", "attention_dropout", "on Q and K"},
	{"embedding-dropout", "embedding_dropout", "on both branches' outputs"},
	{"feed-forward-dropout", "feed_forward_dropout", "after GELU"},
	{"residual-scale", "residual_scale", "scale the residual branches by a learned number from 0"},
}

// configValue points to the value of a key of config.json.
func configValue(m *sft.Config, key string) any {
	fields := reflect.ValueOf(m).Elem()
	for i := range fields.NumField() {
		if name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ","); name == key {
			return fields.Field(i).Addr().Interface()
		}
	}
	panic(fmt.Sprintf("config.json has no key %q", key))
}

// newArchitectureFlags are flags as the command line knows them.
func newArchitectureFlags(of []architectureFlag, unset string) (flags []cli.Flag) {
	for _, f := range of {
		switch configValue(&sft.Config{}, f.key).(type) {
		case *int:
			flags = append(flags, &cli.IntFlag{Name: f.name, Usage: f.usage, DefaultText: unset})
		case *float64:
			flags = append(flags, &cli.Float64Flag{Name: f.name, Usage: f.usage, DefaultText: unset})
		case *string:
			flags = append(flags, &cli.StringFlag{Name: f.name, Usage: f.usage, DefaultText: unset})
		case *bool:
			flags = append(flags, &cli.BoolFlag{Name: f.name, Usage: f.usage})
		default:
			panic(fmt.Sprintf("--%s: no flag has the type of %s", f.name, f.key))
		}
	}
	return flags
}

// modelUsage is an error of a model's numbers as one of the flag that is for it.
func modelUsage(c *cli.Context, err error) error {
	var bad *sft.ConfigError
	if !errors.As(err, &bad) {
		return err
	}
	flag := ""
	if bad.Key == "input_window.length" {
		flag = "--input-window"
	}
	for _, f := range slices.Concat(architectureFlags, maskFlags, regressionFlags) {
		if f.key == bad.Key {
			flag = cmp.Or(map[int]string{1: "-"}[len(f.name)], "--") + f.name
		}
	}
	if flag == "" {
		return err
	}
	return usage(c, "%s %s, expected %s", flag, bad.Found, bad.Expected)
}
