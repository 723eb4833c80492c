package main

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// architectureFlag is a flag that sets a key of config.json. The flag has the type of the key.
type architectureFlag struct {
	name, key, usage string
	heading          string // heading in --help
	of               kind   // kind of tasks to which the flag applies; "" means all
}

const advancedModel = modelGroup + advancedSuffix

// architectureFlags are the flags of the model architecture.
var architectureFlags = []architectureFlag{
	{"k", "num_sampled_tokens",
		"attend to the `N` highest-scored tokens, mixed with random ones; 0: no attention", modelGroup, ""},
	{"hidden", "hidden_size", "use vectors of `N` channels", modelGroup, ""},
	{"layers", "num_hidden_layers", "stack `N` encoder layers", modelGroup, ""},
	{"moving-averages", "moving_averages",
		"add `N` exponential moving averages per channel in each direction; 0 for none", advancedModel, ""},
	{"heads", "num_attention_heads", "attend with `N` heads", advancedModel, ""},
	{"max-length", "max_position_embeddings", "accept sequences of at most `N` tokens", advancedModel, ""},
	{"intermediate", "intermediate_size", "set the width of the feed-forward layer", advancedModel, ""},
	{"sinusoid-dim", "sinusoid_dim", "set the dimension of the relative encoding", advancedModel, tokensKind},
	{"norm", "norm_position", "normalise before (pre) or after (post) each branch", advancedModel, ""},
	{"score", "score", "score tokens by maxout, maxout_standardized, lily or dot", advancedModel, ""},
	{"probability", "probability", "turn scores into weights by leaky_relu, relu or softmax", advancedModel, ""},
	{"relative", "relative", "relate tokens by sinusoid_hadamard, distance (points), edges (graphs) or none",
		advancedModel, ""},
	{"input", "input", "read features, or ones: the number 1 for each token, so that only relations matter",
		advancedModel, featuresKind},
	{"pooling", "pooling", "pool tokens by softmax (a learned weighted mean) or max (of each channel)",
		advancedModel, ""},
	{"pooling-samples", "pooling_samples", "sample `N` tokens for max pooling; 0 is all", advancedModel, ""},
	{"sampler-noise", "sampler_noise",
		"sample tokens at random in training only (train) or at inference, too (always)", advancedModel, ""},
	{"drop-token", "drop_token", "exclude a token from sampling with this probability", advancedModel, ""},
	{"attention-dropout", "attention_dropout", "set the dropout of Q and K, a probability", advancedModel, ""},
	{"embedding-dropout", "embedding_dropout",
		"set the dropout of both branches' outputs, a probability", advancedModel, ""},
	{"feed-forward-dropout", "feed_forward_dropout", "set the dropout after GELU, a probability", advancedModel, ""},
	{"residual-scale", "residual_scale", "scale the residual branches by a learned number that starts at 0",
		advancedModel, ""},
}

// configFields maps the keys of config.json to field indices of sft.Config.
var configFields = sync.OnceValue(func() map[string][]int {
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[sft.Config]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = f.Index
	}
	return fields
})

// configValue returns a pointer to the value of a key of config.json.
func configValue(m *sft.Config, key string) any {
	index, ok := configFields()[key]
	if !ok {
		panic(fmt.Sprintf("config.json has no key %q", key))
	}
	return reflect.ValueOf(m).Elem().FieldByIndex(index).Addr().Interface()
}

// newArchitectureFlags converts the flags that apply to a task into flags of package cli. The
// parameter unset is the default that the help shows for flags with a value.
func newArchitectureFlags(task *lra.Task, of []architectureFlag, unset string) (flags []cli.Flag) {
	for _, f := range of {
		if !hasKind(task, f.of) {
			continue
		}
		switch configValue(&sft.Config{}, f.key).(type) {
		case *int:
			flags = append(flags, &cli.IntFlag{Name: f.name, Usage: f.usage, DefaultText: unset, Category: f.heading})
		case *float64:
			flags = append(flags, &cli.Float64Flag{Name: f.name, Usage: f.usage,
				DefaultText: unset, Category: f.heading})
		case *string:
			flags = append(flags, &cli.StringFlag{Name: f.name, Usage: f.usage,
				DefaultText: unset, Category: f.heading})
		case *bool:
			flags = append(flags, &cli.BoolFlag{Name: f.name, Usage: f.usage, Category: f.heading})
		default:
			panic(fmt.Sprintf("--%s: no flag has the type of %s", f.name, f.key))
		}
	}
	return flags
}

// modelUsage converts an error about a configuration key into an error about its flag.
func modelUsage(c *cli.Context, err error) error {
	var bad *config.Error
	if !errors.As(err, &bad) {
		return err
	}
	if bad.Key == "num_attention_heads" && c.IsSet("hidden") && !c.IsSet("heads") {
		return usage(c, "--hidden %d: expected a multiple of the %s heads", c.Int("hidden"), bad.Found)
	}
	flag := ""
	switch bad.Key {
	case "input_window.length":
		flag = "--input-window"
	case "input_window_tail":
		flag = "--input-window: tail"
	case "chunks":
		flag = "--chunks"
	case "chunks.exports":
		flag = "--chunk-exports"
	case "chunks.local_layers":
		flag = "--local-layers"
	}
	for _, f := range slices.Concat(architectureFlags, maskFlags, regressionFlags) {
		if f.key == bad.Key {
			flag = dashed(f.name)
		}
	}
	if flag == "" {
		return err
	}
	return usage(c, "%s %s: expected %s", flag, bad.Found, keysToFlags(c, bad.Expected))
}

// keysToFlags replaces the keys of config.json in a text by the flags of the command that set them. A key of one word,
// such as input, may be an ordinary word and is kept.
func keysToFlags(c *cli.Context, text string) string {
	for _, f := range slices.Concat(architectureFlags, maskFlags, regressionFlags) {
		if strings.Contains(f.key, "_") && findFlag(c.Command.Flags, f.name) != nil {
			text = regexp.MustCompile(`\b`+f.key+`\b`).ReplaceAllString(text, dashed(f.name))
		}
	}
	return text
}
