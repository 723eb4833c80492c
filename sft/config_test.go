package sft

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// configText is a valid configuration with values replaced: nil removes a key.
func configText(t testing.TB, change map[string]any) []byte {
	t.Helper()
	text := must.Get(json.Marshal(tinyConfig()))(t)
	var keys map[string]any
	must.Succeed(t, json.Unmarshal(text, &keys))
	for k, v := range change {
		if v == nil {
			delete(keys, k)
		} else {
			keys[k] = v
		}
	}
	text = must.Get(json.Marshal(keys))(t)
	return text
}

func TestConfigDefaults(t *testing.T) {
	c := must.Get(ParseConfig(configText(t, map[string]any{"sampler_noise": nil})))(t)
	if want := tinyConfig(); !reflect.DeepEqual(c, want) {
		t.Errorf("defaults %+v, expected %+v", c, want)
	}
}

// TestConfigKeys: the keys are those of a model that has them all, and a model without what
// is optional has no others than the first models had.
func TestConfigKeys(t *testing.T) {
	full := fullConfig()
	// which go with no vocabulary
	full.FeatureNames, full.EdgeFeatureNames, full.Input = []string{"x"}, []string{}, OnesInput
	full.FeatureScales = []Number{{Name: "x", Deviation: 1}}
	full.MaskTargets = NewMaskTargets(2)              // nor with tied embeddings
	full.SpanDecoding = &SpanDecoding{}               // nor with features
	full.Pooling, full.PoolingSamples = MaxPooling, 5 // nor with masked tokens
	text := must.Get(json.Marshal(full))(t)
	var names []string
	for _, k := range configKeys {
		names = append(names, k.name)
		if k.optional == slices.Contains(requiredKeys, k.name) || k.nullable != (k.name == "pad_token_id") {
			t.Errorf("%+v", k)
		}
	}
	if got := topKeys(text); !slices.Equal(got, names) {
		t.Errorf("keys %v, written %v", names, got)
	}
}

// TestKeysOf: an option of a key that nothing reads is no silent change of what is required.
func TestKeysOf(t *testing.T) {
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, `Scale: the option "string"`) {
			t.Error(text)
		}
	}()
	keysOf(reflect.TypeFor[struct {
		Scale float64 `json:"scale,string"`
	}]())
}

// requiredKeys are those that every config.json has had.
var requiredKeys = strings.Fields(`model_type task vocab_size num_labels pad_token_id hidden_size num_hidden_layers num_attention_heads
	intermediate_size num_sampled_tokens max_position_embeddings sinusoid_dim sinusoid_base norm_position layer_norm_eps score
	probability relative sampler_seed tokenizer`)

func TestConfigMissingKeys(t *testing.T) {
	for _, key := range requiredKeys {
		must.Fail(t, `"`+key+`" is missing`, "without", key)(ParseConfig(configText(t, map[string]any{key: nil})))
	}
	for _, k := range configKeys {
		if _, err := ParseConfig(configText(t, map[string]any{k.name: json.RawMessage("null")})); !k.nullable &&
			(err == nil || !strings.Contains(err.Error(), k.name+": null")) {
			t.Errorf("%s null: error %v", k.name, err)
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
		{"num_sampled_tokens", 0}, {"max_position_embeddings", 0}, {"sinusoid_dim", 3},
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
		{"input_window", 5},
		{"vocab_size", math.MaxInt64}, {"num_hidden_layers", 1 << 40}, {"hidden_size", 1 << 62},
		{"num_sampled_tokens", 1 << 25},
		{"num_labels", json.RawMessage("99999999999999999999")},
	} {
		must.Fail(t, c.key, c.key, c.value)(ParseConfig(configText(t, map[string]any{c.key: c.value})))
	}
}

// TestConfigBadConvolutions: an error says which entry has which wrong value.
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
		_, err := ParseConfig(configText(t, map[string]any{"convolutions": json.RawMessage(text)}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, expected it to say %q", text, err, want)
		}
	}
	for _, text := range []string{`[]`, `[{"kernel_size":1,"dilation":1},{"kernel_size":63,"dilation":16777216}]`} {
		if _, err := ParseConfig(configText(t, map[string]any{"convolutions": json.RawMessage(text)})); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParseConvolutions(t *testing.T) {
	for text, want := range map[string][]Convolution{
		"none": nil, "5": {{5, 1}}, "5,5:32": {{5, 1}, {5, 32}}, "63:16777216,1": {{63, 1 << 24}, {1, 1}},
	} {
		if got, err := ParseConvolutions(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, error %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": `""`, "x": `"x"`, "5,": `""`, "5:": `"5:"`, "5:2:3": `"5:2:3"`, "5;7": `"5;7"`, "none,5": `"none"`,
		"5,4": `"4" has taps 4`, "65": "taps 65", "-1": "taps -1", "5:0": "dilation 0",
		"5:16777217": "dilation 16777217",
	} {
		if _, err := ParseConvolutions(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, expected it to say %q", text, err, want)
		}
	}
}

func TestConfigBadText(t *testing.T) {
	valid := string(configText(t, nil))
	for name, text := range map[string]string{
		"empty": "", "space": " \n", "null": "null", "list": "[]", "number": "5", "cut": valid[:len(valid)/2],
		"two objects": valid + valid,
		"text behind": valid + "x", "not JSON": "task: classification", "empty object": "{}",
		"unknown key within": strings.Replace(valid, `{`, `{"input_window":{"length":5,"policy":"head","x":1},`, 1),
		"a key twice":        strings.Replace(valid, `"task":`, `"task":"retrieval","task":`, 1),
	} {
		if c, err := ParseConfig([]byte(text)); err == nil {
			t.Errorf("%s: no error, %+v", name, c)
		}
	}
}

func TestReadConfigNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	must.Fail(t, path, "missing")(ReadConfig(path))
	for _, size := range []int64{0, maxConfigBytes + 1} {
		must.Succeed(t, os.WriteFile(path, nil, 0o666))
		must.Succeed(t, os.Truncate(path, size))
		must.Fail(t, path, size, "bytes")(ReadConfig(path))
	}
}

// fullConfig has every key set.
func fullConfig() *Config {
	c := ofTask(tinyConfig(), FillMask)
	c.PadTokenID, c.LabelNames, c.InputWindow = new(int32(0)), strings.Split("abcdefgh", ""),
		&InputWindow{Length: 10, Policy: "head"}
	c.Convolutions = []Convolution{{5, 1}, {3, 32}}
	c.Numbers, c.RegressionLoss = []Number{{"mass", 1, 2}}, Squared // which other tasks do not read
	c.Thresholds = []float64{0, 0.25, 0.5, 0.75, 1, 0.5, 0.5, 0.5}
	c.SamplerNoise, c.SamplerSeed, c.Extra = "always", math.MaxUint64, json.RawMessage(`{"why":[1,null]}`)
	c.AutoMap = json.RawMessage(`{"AutoModel":"modeling_sft.SFTModel"}`)
	for _, f := range switches(c) {
		f.SetBool(true)
	}
	rate, fields := 0.1, reflect.ValueOf(c).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.IsZero() && f.CanFloat() {
			f.SetFloat(rate)
			rate += 0.1
		}
	}
	return c
}

func TestConfigRoundTrip(t *testing.T) {
	for _, want := range []*Config{tinyConfig(), fullConfig()} {
		path := filepath.Join(t.TempDir(), "config.json")
		must.Succeed(t, want.Write(path))
		got := must.Get(ReadConfig(path))(t)
		a, b := normalised(t, got), normalised(t, want)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("read %v, written %v", a, b)
		}
	}
}

// normalised is a configuration without the spacing of its raw values.
func normalised(t *testing.T, c *Config) map[string]any {
	t.Helper()
	text := must.Get(json.Marshal(c))(t)
	var keys map[string]any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber() // a seed has 64 bits
	must.Succeed(t, d.Decode(&keys))
	return keys
}

func TestCheckTokens(t *testing.T) {
	c := fullConfig()
	c.MaxLength = 3
	for _, s := range []struct {
		tokens  []int32
		message string // "" is accepted
	}{
		{[]int32{1}, ""}, {[]int32{8, 1, 8}, ""}, {nil, "empty"}, {[]int32{1, 2, 3, 4}, "4 tokens"},
		{[]int32{1, 9}, "index 1"},
		{[]int32{-1}, "index 0"}, {[]int32{1, 2, 0}, "index 2"},
	} {
		err := c.CheckTokens(s.tokens)
		if (err == nil) != (s.message == "") || err != nil && !strings.Contains(err.Error(), s.message) {
			t.Errorf("%v: %v", s.tokens, err)
		}
	}
}

// FuzzParseConfig: whatever is accepted is valid, is stored as it was read, and
// costs nothing to look at.
func FuzzParseConfig(f *testing.F) {
	f.Add(configText(f, nil))
	text := must.Get(json.MarshalIndent(fullConfig(), "", " "))(f)
	f.Add(text)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		defer testenv.FuzzLimits(t, 1<<20+1000*len(text))()
		c, err := ParseConfig(text)
		if err != nil {
			return
		}
		must.Succeed(t, c.Validate())
		again := must.Get(json.Marshal(c))(t)
		d, err := ParseConfig(again)
		if err != nil {
			t.Fatalf("%v: %s", err, again)
		}
		if !reflect.DeepEqual(normalised(t, c), normalised(t, d)) {
			t.Fatalf("%+v was read back as %+v", c, d)
		}
	})
}

// TestFormatConvolutions: what is written is read as it was.
func TestFormatConvolutions(t *testing.T) {
	for _, text := range []string{"none", "7", "5,5:32", "15,1,3:8"} {
		list, err := ParseConvolutions(text)
		if got := FormatConvolutions(list); err != nil || got != text {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// TestUnknownTaskWithFeatures: a task that does not exist is an error before anything asks for its objective.
func TestUnknownTaskWithFeatures(t *testing.T) {
	c := must.Get(ReadConfig("testdata/golden/clouds/config.json"))(t)
	c.Task, c.Pooling = "sorting", MaxPooling
	must.Fail(t, `task: "sorting"`)(c.Validate())
}
