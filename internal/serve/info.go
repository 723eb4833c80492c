package serve

import "encoding/json"

// modelInfo says what the server answers with.
type modelInfo struct {
	Name          string          `json:"name"`
	Task          string          `json:"task"`
	Labels        []any           `json:"labels"`
	Tokenizer     json.RawMessage `json:"tokenizer"`
	VocabSize     int             `json:"vocabSize"`
	LongestLength int             `json:"longestLength"`
	HiddenSize    int             `json:"hiddenSize"`
	Layers        int             `json:"layers"`
	Device        string          `json:"device"`
	Hash          string          `json:"hash"`
}

func infoOf(m *served) modelInfo {
	c := m.config
	i := modelInfo{Name: m.Name, Task: c.Task, Tokenizer: c.Tokenizer, VocabSize: c.VocabSize, LongestLength: longest(c),
		HiddenSize: c.HiddenSize, Layers: c.NumLayers, Device: m.Device, Hash: m.Hash}
	for n := range c.NumLabels {
		i.Labels = append(i.Labels, c.Label(n))
	}
	return i
}

// info is model/info.
func (c *call) info() (any, error) { return infoOf(c.model), nil }
