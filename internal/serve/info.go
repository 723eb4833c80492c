package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// modelInfo describes the served model.
type modelInfo struct {
	Name          string         `json:"name"`
	Task          string         `json:"task"`
	Labels        []any          `json:"labels"`
	Numbers       []string       `json:"numbers,omitempty"`      // targets of a regression model
	Features      []string       `json:"features,omitempty"`     // names of the token features
	EdgeFeatures  *[]string      `json:"edgeFeatures,omitempty"` // names of the edge features, for a model of graphs
	Tokenizer     *tokenizerInfo `json:"tokenizer"`
	VocabSize     int            `json:"vocabSize"`
	LongestLength int            `json:"longestLength"`
	HiddenSize    int            `json:"hiddenSize"`
	Layers        int            `json:"layers"`
	Device        string         `json:"device"`
	Hash          string         `json:"hash"`
	Models        int            `json:"models,omitempty"` // size of an ensemble; omitted for one model
}

// tokenizerInfo identifies a model's tokenizer by type and hash. It omits the vocabulary, which may
// take hundreds of KB.
type tokenizerInfo struct {
	Type string `json:"type"`
	Hash string `json:"hash"` // SHA-256 of the tokenizer's JSON in config.json, compacted
}

// tokenizerOf returns the model's tokenizerInfo, or nil if the model has no tokenizer.
func tokenizerOf(c *sft.Config) *tokenizerInfo {
	name := tokenizers.TypeOf(c.Tokenizer)
	if name == "" {
		return nil
	}
	sum := sha256.Sum256(compact(c.Tokenizer))
	return &tokenizerInfo{Type: name, Hash: hex.EncodeToString(sum[:])}
}

// compact returns valid JSON without white space between JSON tokens.
func compact(text json.RawMessage) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil { // unreachable: the text was parsed as part of the configuration
		panic(err)
	}
	return out.Bytes()
}

func infoOf(m *served) modelInfo {
	c := m.config
	i := modelInfo{Name: m.loaded.Name, Task: c.Task, Labels: []any{}, Tokenizer: tokenizerOf(c),
		VocabSize: c.VocabSize, LongestLength: longest(c), HiddenSize: c.HiddenSize, Layers: c.NumLayers,
		Device: m.loaded.Device, Hash: m.loaded.Hash, Numbers: c.NumberNames()}
	if i.Features = c.FeatureNames; c.Edged() {
		i.EdgeFeatures = &c.EdgeFeatureNames
	}
	if n := m.Scorer.Members(); n > 1 {
		i.Models = n
	}
	i.Labels = append(i.Labels, m.task.Labels()...)
	return i
}
