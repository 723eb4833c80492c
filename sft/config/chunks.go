package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/chunk"
)

// Chunks divides a model into two encoders. Local layers read each chunk of a document as a separate
// sequence and export some rows. The other layers, the document encoder, read the exported rows of all
// chunks in order, with the index of the row as position.
type Chunks struct {
	Rule    string `json:"rule"`         // rule for cuts: content, fixed
	Average int    `json:"average"`      // average number of tokens per chunk
	Exports int    `json:"exports"`      // sampled rows that a chunk exports in addition to its pooled row
	Layers  int    `json:"local_layers"` // number of local layers, the first layers of the model
}

// MaxDocument is the maximum length of a sequence, in tokens, that a new chunked model accepts. The
// memory for a sequence depends on its exported rows, not on its tokens.
const MaxDocument = maxSize

// validateChunks returns an error for invalid chunks.
func (c *Config) validateChunks() error {
	k := c.Chunks
	if k == nil {
		return nil
	}
	cuts := chunk.Config{Rule: chunk.Rule(k.Rule), Average: k.Average}
	if err := cuts.Validate(); err != nil {
		return fmt.Errorf("chunks.%w", err)
	}
	// With at most as many exports as the shortest chunk has tokens, every chunk but the last exports
	// the same number of rows. Differences of row indices are then proportional to distances in the
	// document.
	shortest := cuts.MinLength()
	switch {
	case c.NumLayers < 2:
		return bad("num_hidden_layers", c.NumLayers, "at least 2 with chunks: local layers and a document encoder")
	case k.Exports < 1 || k.Exports > shortest:
		return bad("chunks.exports", k.Exports, fmt.Sprintf("1 to %d, the length of the shortest chunk", shortest))
	case k.Layers < 1 || k.Layers >= c.NumLayers:
		return bad("chunks.local_layers", k.Layers,
			fmt.Sprintf("at least 1 and less than num_hidden_layers %d: the document encoder has the other layers",
				c.NumLayers))
	case c.HasFeatures():
		return bad("chunks", "for tokens with features", "tokens with ids")
	case c.InputWindow != nil:
		return bad("input_window.length", c.InputWindow.Length, "none (0) with chunks, which cover whole sequences")
	}
	return nil
}

// ParseChunks parses the rule and the average of chunks: AVERAGE or fixed:AVERAGE. For the text
// none it returns nil.
func ParseChunks(text string) (*Chunks, error) {
	if text == "none" {
		return nil, nil
	}
	rule, number := string(chunk.Content), text
	if rest, fixed := strings.CutPrefix(text, string(chunk.Fixed)+":"); fixed {
		rule, number = string(chunk.Fixed), rest
	}
	average, err := strconv.Atoi(number)
	if err == nil {
		err = chunk.Config{Rule: chunk.Rule(rule), Average: average}.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("expected the average number of tokens of a chunk, a power of two from %d to %d, "+
			"fixed:N with N in this range, or none", chunk.MinAverage, chunk.MaxAverage)
	}
	return &Chunks{Rule: rule, Average: average}, nil
}

// String describes the chunks in words, for errors.
func (k *Chunks) String() string {
	if k == nil {
		return "no chunks"
	}
	layers := "1 local layer"
	if k.Layers > 1 {
		layers = fmt.Sprintf("%d local layers", k.Layers)
	}
	return fmt.Sprintf("chunks by %s of %d tokens with %d exports and %s", k.Rule, k.Average, k.Exports, layers)
}
