package config_test

import (
	"encoding/json"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestChunkErrors checks that valid chunks are accepted, and the errors for invalid ones.
func TestChunkErrors(t *testing.T) {
	const valid = `{"rule":"content","average":64,"exports":4,"local_layers":1}`
	for _, c := range []struct {
		chunks string
		change map[string]any
		want   string // empty if the configuration is valid
	}{
		{valid, nil, ""},
		{`{"rule":"fixed","average":50,"exports":50,"local_layers":1}`, nil, ""},
		{`{"rule":"words","average":64,"exports":4,"local_layers":1}`, nil,
			`chunks.rule: expected content or fixed, found "words"`},
		{`{"rule":"content","average":50,"exports":4,"local_layers":1}`, nil,
			"chunks.average: expected a power of two"},
		{`{"rule":"content","average":8,"exports":2,"local_layers":1}`, nil,
			"chunks.average: expected 16 to 1048576 tokens, found 8"},
		{`{"rule":"content","average":64,"exports":0,"local_layers":1}`, nil, "chunks.exports: 0, expected 1 to 16"},
		{`{"rule":"content","average":64,"exports":17,"local_layers":1}`, nil, "chunks.exports: 17, expected 1 to 16"},
		{`{"rule":"content","average":64,"exports":4,"local_layers":0}`, nil,
			"chunks.local_layers: 0, expected at least 1 and less than"},
		{`{"rule":"content","average":64,"exports":4,"local_layers":2}`, nil,
			"chunks.local_layers: 2, expected at least 1 and less than"},
		{`{"rule":"content","average":64,"exports":4}`, nil, "chunks.local_layers: 0"},
		{`{"rule":"content","size":64}`, nil, `unknown field "size"`},
		{`{}`, nil, `chunks.rule: expected content or fixed, found ""`},
		{valid, map[string]any{"input_window": map[string]any{"length": 9, "policy": "head"}},
			"input_window.length: 9, expected none (0) with chunks"},
		{valid, map[string]any{"task": config.Tagging, "label_names": []string{"O", "B-X", "I-X"}}, ""},
		{valid, map[string]any{"feature_names": []string{"heat"}, "relative": "none", "vocab_size": 0},
			"chunks: for tokens with features, expected tokens with ids"},
	} {
		change := map[string]any{"chunks": json.RawMessage(c.chunks)}
		for key, v := range c.change {
			change[key] = v
		}
		_, err := config.Parse(configtest.ConfigText(t, change))
		if c.want == "" {
			must.Succeed(t, err, c.chunks)
		} else {
			must.Fail(t, c.want, c.chunks)(err)
		}
	}
}
