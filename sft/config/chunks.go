package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/chunk"
)

// Chunks divides a model of documents into two encoders. Local layers read each chunk of a document
// as a separate sequence and export some rows. The other layers, the document encoder, read the
// exported rows of all chunks in order, with the index of the row as position.
type Chunks struct {
	Rule    string `json:"rule"`    // rule for cuts: content, fixed
	Average int    `json:"average"` // tokens of a chunk on average
	Exports int    `json:"exports"` // sampled rows that a chunk exports in addition to its pooled row
	Layers  int    `json:"layers"`  // number of local layers, the first layers of the model
}

// validateChunks returns an error for chunks that the model cannot have.
func (c *Config) validateChunks() error {
	k := c.Chunks
	if k == nil {
		return nil
	}
	cuts := chunk.Config{Rule: chunk.Rule(k.Rule), Average: k.Average}
	if err := cuts.Validate(); err != nil {
		return err
	}
	// Every chunk but the last then exports the same number of rows, so that differences of row
	// indices are distances in the document.
	shortest := cuts.MinLength()
	switch {
	case k.Exports < 1 || k.Exports > shortest:
		return bad("chunks.exports", k.Exports, fmt.Sprintf("1 to %d, the tokens of the shortest chunk", shortest))
	case k.Layers < 1 || k.Layers >= c.NumLayers:
		return bad("chunks.layers", k.Layers,
			fmt.Sprintf("1 to %d: the document encoder has the remaining layers of %d", c.NumLayers-1, c.NumLayers))
	case c.HasFeatures():
		return bad("chunks", "tokens with features", "tokens with ids")
	case !c.Pools():
		return bad("chunks", "task "+c.Task, "a task with one prediction per row or pair")
	case c.InputWindow != nil:
		return bad("chunks", "input_window", "no input_window: the model reads whole documents")
	}
	return nil
}

// ParseChunks parses the rule and the average of chunks: AVERAGE or fixed:AVERAGE. The text none
// returns nil.
func ParseChunks(text string) (*Chunks, error) {
	if text == "none" {
		return nil, nil
	}
	rule, number := string(chunk.Content), text
	if rest, fixed := strings.CutPrefix(text, string(chunk.Fixed)+":"); fixed {
		rule, number = string(chunk.Fixed), rest
	}
	average, err := strconv.Atoi(number)
	if err != nil {
		return nil, errors.New("expected none, AVERAGE or fixed:AVERAGE in tokens, for example 1024")
	}
	k := &Chunks{Rule: rule, Average: average}
	return k, chunk.Config{Rule: chunk.Rule(k.Rule), Average: k.Average}.Validate()
}
