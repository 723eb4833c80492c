package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// modelInfo says what the server answers with.
type modelInfo struct {
	Name          string         `json:"name"`
	Task          string         `json:"task"`
	Labels        []any          `json:"labels"`
	Numbers       []string       `json:"numbers,omitempty"`      // targets of a regression, which has no labels
	Features      []string       `json:"features,omitempty"`     // features of tokens without ids
	EdgeFeatures  *[]string      `json:"edgeFeatures,omitempty"` // features of the edges of graphs
	Tokenizer     *tokenizerInfo `json:"tokenizer"`
	VocabSize     int            `json:"vocabSize"`
	LongestLength int            `json:"longestLength"`
	HiddenSize    int            `json:"hiddenSize"`
	Layers        int            `json:"layers"`
	Device        string         `json:"device"`
	Hash          string         `json:"hash"`
	Models        int            `json:"models,omitempty"` // size of an ensemble; omitted for one model
}

// tokenizerInfo says which tokenizer a model has, without what it has learned: a vocabulary
// of words alone is some 200 KB.
type tokenizerInfo struct {
	Type string `json:"type"`
	Hash string `json:"hash"` // SHA-256 of its JSON in config.json, without spaces
}

// tokenizerOf is nil for a model without one.
func tokenizerOf(c *sft.Config) *tokenizerInfo {
	name := tokenizers.TypeOf(c.Tokenizer)
	if name == "" {
		return nil
	}
	sum := sha256.Sum256(compact(c.Tokenizer))
	return &tokenizerInfo{Type: name, Hash: hex.EncodeToString(sum[:])}
}

// compact is valid JSON without spaces between its parts.
func compact(text json.RawMessage) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil { // the text that the configuration was read from
		panic(err)
	}
	return out.Bytes()
}

func infoOf(m *served) modelInfo {
	c := m.config
	i := modelInfo{Name: m.about.Name, Task: c.Task, Labels: []any{}, Tokenizer: tokenizerOf(c), VocabSize: c.VocabSize,
		LongestLength: longest(c),
		HiddenSize:    c.HiddenSize, Layers: c.NumLayers, Device: m.about.Device, Hash: m.about.Hash,
		Numbers: c.NumberNames()}
	if i.Features = c.FeatureNames; c.Edged() {
		i.EdgeFeatures = &c.EdgeFeatureNames
	}
	if n := m.Scorer.Members(); n > 1 {
		i.Models = n
	}
	i.Labels = append(i.Labels, m.task.Labels()...)
	return i
}
