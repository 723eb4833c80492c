package config_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestConfigDefaults checks that Parse sets the default of a missing optional key.
func TestConfigDefaults(t *testing.T) {
	c := must.Get(config.Parse(configtest.ConfigText(t, map[string]any{"sampler_noise": nil})))(t)
	if want := configtest.TinyConfig(); !reflect.DeepEqual(c, want) {
		t.Errorf("defaults %+v, expected %+v", c, want)
	}
}

// TestConfigKeys checks that a model with every option writes all keys, and that exactly the keys in
// requiredKeys are required.
func TestConfigKeys(t *testing.T) {
	full := configtest.FullConfig()
	// Features and edges are not valid with a vocabulary.
	full.FeatureNames, full.EdgeFeatureNames, full.Input = []string{"x"}, []string{}, config.OnesInput
	full.FeatureScales = []config.Number{{Name: "x", Deviation: 1}}
	full.NGrams = configtest.TokenNGrams()
	full.MaskTargets = config.NewMaskTargets(2)              // not valid with tied embeddings
	full.SpanDecoding = &config.SpanDecoding{}               // not valid with features
	full.InputWindowTail = 3                                 // not valid with masked tokens
	full.Pooling, full.PoolingSamples = config.MaxPooling, 5 // not valid with masked tokens
	full.Chunks = &config.Chunks{}                           // not valid with an input window
	text := must.Get(json.Marshal(full))(t)
	var names []string
	for _, k := range config.ConfigKeys {
		names = append(names, k.Name)
		if k.Optional == slices.Contains(requiredKeys, k.Name) || k.Nullable != (k.Name == "pad_token_id") {
			t.Errorf("key %+v has the wrong value of Optional or Nullable", k)
		}
	}
	if got := config.TopKeys(text); !slices.Equal(got, names) {
		t.Errorf("written keys %v, want %v", got, names)
	}
}

// TestKeyOrder checks that the embedded groups of [config.Config] are not keys of the file, and that
// keys are accepted in any order.
func TestKeyOrder(t *testing.T) {
	full := configtest.FullConfig()
	text := must.Get(json.Marshal(full))(t)
	var keys map[string]json.RawMessage
	must.Succeed(t, json.Unmarshal(text, &keys))
	for _, group := range []string{"Inputs", "Encoder", "Attention", "Sampler", "Regularization",
		"Masking", "Head", "Decision"} {
		if _, found := keys[group]; found {
			t.Errorf("the file has the group %s as a key", group)
		}
	}
	names := slices.Clone(config.TopKeys(text))
	slices.Reverse(names)
	var lines []string
	for _, name := range names {
		lines = append(lines, strconv.Quote(name)+": "+string(keys[name]))
	}
	got := must.Get(config.Parse([]byte("{" + strings.Join(lines, ",\n") + "}")))(t)
	if a, b := normalised(t, got), normalised(t, full); !reflect.DeepEqual(a, b) {
		t.Errorf("read %v, want %v as written", a, b)
	}
}

// TestKeysOf checks that keysOf panics for a JSON option that it does not support.
func TestKeysOf(t *testing.T) {
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, `Scale: unknown option "string"`) {
			t.Errorf("panic %q, want the field and the unknown option", text)
		}
	}()
	config.KeysOf(reflect.TypeFor[struct {
		Scale float64 `json:"scale,string"`
	}]())
}

// requiredKeys lists the keys that every config.json must have.
var requiredKeys = strings.Fields(`model_type task vocab_size num_labels pad_token_id hidden_size num_hidden_layers num_attention_heads
	intermediate_size num_sampled_tokens max_position_embeddings sinusoid_dim sinusoid_base norm_position layer_norm_eps score
	probability relative sampler_seed tokenizer`)

func TestConfigMissingKeys(t *testing.T) {
	must.Fail(t, `model_type: "bert", expected "sft" (a model that sftseq has trained)`)(
		config.Parse([]byte(`{"model_type": "bert", "hidden_size": 768}`)))
	for _, key := range requiredKeys {
		must.Fail(t, `"`+key+`" is missing`, "without",
			key)(config.Parse(configtest.ConfigText(t, map[string]any{key: nil})))
	}
	for _, k := range config.ConfigKeys {
		want := k.Name + ": expected a value, found null"
		if _, err := config.Parse(configtest.ConfigText(t,
			map[string]any{k.Name: json.RawMessage("null")})); !k.Nullable &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s null: got error %v, want %q", k.Name, err, want)
		}
	}
}

func TestConfigBadValues(t *testing.T) {
	window := func(text string) json.RawMessage { return json.RawMessage(text) }
	for _, c := range []struct {
		key   string
		value any
	}{
		{"colour", 1}, {"Task", "classification"}, {"HIDDEN_SIZE", 6},
		{"model_type", "bert"}, {"task", "ranking"}, {"task", 3}, {"score", "Maxout"},
		{"probability", ""}, {"relative", "rope"},
		{"norm_position", "both"}, {"sampler_noise", "never"}, {"sampler_noise", true},
		{"vocab_size", 0}, {"vocab_size", -1}, {"vocab_size", 1.5}, {"vocab_size", "9"},
		{"num_labels", 0}, {"hidden_size", 7},
		{"hidden_size", 0}, {"num_hidden_layers", 0}, {"num_attention_heads", 0}, {"hidden_size", 5},
		{"intermediate_size", 0},
		{"num_sampled_tokens", -1}, {"moving_averages", -1}, {"moving_averages", 65},
		{"max_position_embeddings", 0}, {"sinusoid_dim", 3},
		{"sinusoid_dim", 0}, {"sinusoid_base", 1},
		{"sinusoid_base", -100}, {"sinusoid_base", 1e13}, {"sinusoid_base", json.RawMessage("1e999")},
		{"layer_norm_eps", 0}, {"layer_norm_eps", 1},
		{"sampler_seed", -1}, {"sampler_seed", 0.5}, {"sampler_seed", json.RawMessage("18446744073709551616")},
		{"pad_token_id", -1}, {"pad_token_id", 9}, {"pad_token_id", 1 << 40}, {"label_names", []string{"a"}},
		{"label_names", []string{}}, {"label_names", make([]string, seq.MaxLabelNames+1)}, {"label_names", "a"},
		{"drop_token", 1}, {"drop_token", -0.1}, {"attention_dropout", 1.5}, {"embedding_dropout", "0"},
		{"feed_forward_dropout", 1}, {"residual_scale", 1},
		{"input_window", window(`{"length":0,"policy":"head"}`)}, {"input_window", window(`{"length":5}`)},
		{"input_window", window(`{"length":5,"policy":"tail"}`)},
		{"input_window_tail", 1}, {"input_window_tail", window("null")},
		{"input_window_tail", 1.5}, {"input_window_tail", "1"},
		{"input_window", 5},
		{"vocab_size", math.MaxInt64}, {"num_hidden_layers", 1 << 40}, {"hidden_size", 1 << 62},
		{"num_sampled_tokens", 1 << 25},
		{"num_labels", json.RawMessage("99999999999999999999")},
	} {
		must.Fail(t, c.key, c.key, c.value)(config.Parse(configtest.ConfigText(t, map[string]any{c.key: c.value})))
	}
}

// TestNoAttention checks that layers without attention have no relative encoding.
func TestNoAttention(t *testing.T) {
	keys := map[string]any{"num_sampled_tokens": 0}
	must.Fail(t, `relative: "sinusoid_hadamard", expected none, because num_sampled_tokens is 0`)(
		config.Parse(configtest.ConfigText(t, keys)))
	keys["relative"] = config.NoRelation
	if c := must.Get(config.Parse(configtest.ConfigText(t, keys)))(t); c.HasAttention() {
		t.Error("num_sampled_tokens 0: HasAttention() = true, want false")
	}
}

// TestInputWindowTail checks the bounds of input_window_tail, that models with predictions per token
// refuse it, and that a written configuration keeps the key.
func TestInputWindowTail(t *testing.T) {
	for _, x := range []struct {
		window config.InputWindow
		tail   int
		want   string
	}{
		{config.InputWindow{Length: 5, Policy: "head"}, 0, ""},
		{config.InputWindow{Length: 5, Policy: "head"}, 5, ""},
		{config.InputWindow{Length: 5, Policy: "head"}, 6, "input_window_tail: 6, expected 0 to 5"},
		{config.InputWindow{Length: 5, Policy: "head"}, -1, "input_window_tail: -1, expected 0 to 5"},
		{config.InputWindow{Length: 5, Policy: "error"}, 1, "input_window_tail: 1, expected 0 if input_window.policy is \"error\""},
	} {
		c, err := config.Parse(configtest.ConfigText(t, map[string]any{"input_window": x.window,
			"input_window_tail": x.tail}))
		if x.want != "" {
			must.Fail(t, x.want)(c, err)
			continue
		}
		must.Succeed(t, err)
		again := must.Get(config.Parse(must.Get(json.Marshal(c))(t)))(t)
		if w := again.ReadWindow(); w != (seq.Window{Length: 5, Tail: x.tail}) {
			t.Errorf("got the window %v, want 5 tokens with a tail of %d", w, x.tail)
		}
	}
	for _, task := range []string{config.Tagging, config.FillMask} {
		c := configtest.WithTask(configtest.TinyConfig(), task)
		c.SetReadWindow(seq.Window{Length: 5, Tail: 2})
		must.Fail(t, "input_window_tail: 2, expected 0, because task "+task, task)(c.Validate())
	}
}

// TestConfigBadConvolutions checks that the error for a value out of range states the index, the key and
// the value, and that an empty list and the limits are accepted.
func TestConfigBadConvolutions(t *testing.T) {
	for text, want := range map[string]string{
		`[{"kernel_size":4,"dilation":1}]`:                                 "convolutions[0].kernel_size: 4",
		`[{"kernel_size":5,"dilation":1},{"kernel_size":65,"dilation":1}]`: "convolutions[1].kernel_size: 65",
		`[{"kernel_size":-1,"dilation":1}]`:                                "convolutions[0].kernel_size: -1",
		`[{"dilation":1}]`:                                                 "convolutions[0].kernel_size: 0",
		`[{"kernel_size":5}]`:                                              "convolutions[0].dilation: 0",
		`[{"kernel_size":5,"dilation":-1}]`:                                "convolutions[0].dilation: -1",
		`[{"kernel_size":5,"dilation":4611686018427387904}]`:               "convolutions[0].dilation: 4611686018427387904",
		`[{"kernel_size":5,"dilation":1,"stride":2}]`:                      "stride",
		`[5]`: "convolutions", `{"kernel_size":5,"dilation":1}`: "convolutions", `5`: "convolutions",
		`[{"kernel_size":5.5,"dilation":1}]`: "kernel_size", `[{"kernel_size":"5","dilation":1}]`: "kernel_size",
	} {
		_, err := config.Parse(configtest.ConfigText(t, map[string]any{"convolutions": json.RawMessage(text)}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, expected %q", text, err, want)
		}
	}
	for _, text := range []string{`[]`, `[{"kernel_size":1,"dilation":1},{"kernel_size":63,"dilation":16777216}]`} {
		if _, err := config.Parse(configtest.ConfigText(t,
			map[string]any{"convolutions": json.RawMessage(text)})); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParseConvolutions(t *testing.T) {
	for text, want := range map[string][]config.Convolution{
		"none": nil, "5": {{KernelSize: 5, Dilation: 1}}, "5,5:32": {{KernelSize: 5, Dilation: 1},
			{KernelSize: 5, Dilation: 32}}, "63:16777216,1": {{KernelSize: 63, Dilation: 1 << 24},
			{KernelSize: 1, Dilation: 1}},
	} {
		if got, err := config.ParseConvolutions(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseConvolutions(%q) = %+v, error %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": `""`, "x": `"x"`, "5,": `""`, "5:": `"5:"`, "5:2:3": `"5:2:3"`, "5;7": `"5;7"`, "none,5": `"none"`,
		"5,4": `taps of "4": expected an odd number from 1 to 63, found 4`, "65": "found 65", "-1": "found -1",
		"5:0":        `dilation of "5:0": expected 1 to 16777216, found 0`,
		"5:16777217": "expected 1 to 16777216, found 16777217",
	} {
		if _, err := config.ParseConvolutions(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, expected %q", text, err, want)
		}
	}
}

func TestConfigBadText(t *testing.T) {
	valid := string(configtest.ConfigText(t, nil))
	for name, text := range map[string]string{
		"empty": "", "space": " \n", "null": "null", "list": "[]", "number": "5", "cut": valid[:len(valid)/2],
		"two objects":           valid + valid,
		"text after the object": valid + "x", "not JSON": "task: classification", "empty object": "{}",
		"unknown key within": strings.Replace(valid, `{`, `{"input_window":{"length":5,"policy":"head","x":1},`, 1),
		"a duplicate key":    strings.Replace(valid, `"task":`, `"task":"retrieval","task":`, 1),
	} {
		if c, err := config.Parse([]byte(text)); err == nil {
			t.Errorf("%s: no error, %+v", name, c)
		}
	}
}

// TestTruncatedConfig checks the error for a truncated config.json, and that the error for malformed
// JSON names the byte.
func TestTruncatedConfig(t *testing.T) {
	must.Fail(t, "found a truncated or damaged file that ends within it, after 9 bytes: restore the file from a copy")(
		config.Parse([]byte(`{"task":"`)))
	must.Fail(t, "found malformed JSON at byte 9: ")(config.Parse([]byte(`{"task":]}`)))
}

func TestReadConfigNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	must.Fail(t, path, "missing")(config.Read(path))
	for _, size := range []int64{0, config.MaxBytes + 1} {
		must.Succeed(t, os.WriteFile(path, nil, 0o666))
		must.Succeed(t, os.Truncate(path, size))
		must.Fail(t, path, size, "bytes")(config.Read(path))
	}
}

func TestConfigRoundTrip(t *testing.T) {
	for _, want := range []*config.Config{configtest.TinyConfig(), configtest.FullConfig()} {
		path := filepath.Join(t.TempDir(), "config.json")
		must.Succeed(t, want.Write(path))
		got := must.Get(config.Read(path))(t)
		a, b := normalised(t, got), normalised(t, want)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("read %v, want %v as written", a, b)
		}
	}
}

// normalised returns the keys and values of a configuration, without the spacing of raw JSON values.
func normalised(t *testing.T, c *config.Config) map[string]any {
	t.Helper()
	text := must.Get(json.Marshal(c))(t)
	var keys map[string]any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber() // keeps the 64 bits of a seed
	must.Succeed(t, d.Decode(&keys))
	return keys
}

func TestCheckTokens(t *testing.T) {
	c := configtest.FullConfig()
	c.MaxLength = 3
	for _, s := range []struct {
		tokens  []int32
		message string // "" means accepted
	}{
		{[]int32{1}, ""}, {[]int32{8, 1, 8}, ""}, {nil, "empty"}, {[]int32{1, 2, 3, 4}, "4 tokens"},
		{[]int32{1, 9}, "index 1"},
		{[]int32{-1}, "index 0"}, {[]int32{1, 2, 0}, "index 2"},
	} {
		err := c.CheckTokens(s.tokens)
		if (err == nil) != (s.message == "") || err != nil && !strings.Contains(err.Error(), s.message) {
			t.Errorf("%v: unexpected error %v", s.tokens, err)
		}
	}
}

// TestCheckManyTokens checks the error for a refused token at many indices, in sequences of up to 2,100
// tokens.
func TestCheckManyTokens(t *testing.T) {
	for _, padding := range []*int32{nil, new(int32(0)), new(int32(3)), new(int32(8))} {
		c := configtest.FullConfig()
		c.MaxLength, c.VocabSize, c.PadTokenID = 3000, 9, padding
		refused := []int32{-1, 9, math.MinInt32, math.MaxInt32}
		if padding != nil {
			refused = append(refused, *padding)
		}
		for _, length := range []int{1, 5, 1023, 1026, 2100} {
			tokens := make([]int32, length)
			for i := range tokens {
				if tokens[i] = int32(i % 9); padding != nil && tokens[i] == *padding {
					tokens[i] = 5
				}
			}
			if err := c.CheckTokens(tokens); err != nil {
				t.Fatalf("padding %v: valid tokens are refused: %v", refused[4:], err)
			}
			for i := 0; i < length; i += 1 + length/100 {
				for _, bad := range refused {
					kept := tokens[i]
					tokens[i] = bad
					want := fmt.Sprintf("token %d at index %d is", bad, i)
					if err := c.CheckTokens(tokens); err == nil || !strings.HasPrefix(err.Error(), want) {
						t.Fatalf("padding %v: error %v, want %s", refused[4:], err, want)
					}
					tokens[i] = kept
				}
			}
		}
	}
}

// FuzzParseConfig checks that an accepted configuration is valid and is written back unchanged, with
// limited memory.
func FuzzParseConfig(f *testing.F) {
	f.Add(configtest.ConfigText(f, nil))
	text := must.Get(json.MarshalIndent(configtest.FullConfig(), "", " "))(f)
	f.Add(text)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		defer testenv.FuzzLimits(t, 1<<20+1000*len(text))()
		c, err := config.Parse(text)
		if err != nil {
			return
		}
		must.Succeed(t, c.Validate())
		again := must.Get(json.Marshal(c))(t)
		d, err := config.Parse(again)
		if err != nil {
			t.Fatalf("reading the written configuration: %v: %s", err, again)
		}
		if !reflect.DeepEqual(normalised(t, c), normalised(t, d)) {
			t.Fatalf("%+v was read back as %+v", c, d)
		}
	})
}

// TestFormatConvolutions checks that a parsed list is formatted as the same text.
func TestFormatConvolutions(t *testing.T) {
	for _, text := range []string{"none", "7", "5,5:32", "15,1,3:8"} {
		list, err := config.ParseConvolutions(text)
		if got := config.FormatConvolutions(list); err != nil || got != text {
			t.Errorf("%s: formatted as %s, error %v, want the same text", text, got, err)
		}
	}
}

// TestUnknownTaskWithFeatures checks that Validate returns an error, and does not panic, for an
// unknown task of a model with features.
func TestUnknownTaskWithFeatures(t *testing.T) {
	c := must.Get(config.Read("../testdata/golden/clouds/config.json"))(t)
	c.Task, c.Pooling = "sorting", config.MaxPooling
	must.Fail(t, `task: "sorting"`)(c.Validate())
}
