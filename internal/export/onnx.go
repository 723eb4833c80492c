// Package export writes models for other programs: as ONNX graphs and as PyTorch modules. Both
// compute the same outputs as package sft in evaluation, up to rounding.
package export

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/sftseq/sftseq/internal/onnx"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// Names of inputs and outputs.
const (
	inputTokens       = "tokens"        // [length]
	inputFeatures     = "features"      // [length, names]
	inputEdges        = "edges"         // [edges, 2]
	inputEdgeFeatures = "edge_features" // [edges, names]
	inputWordHashes   = "word_hashes"   // [length]
	outputLogits      = "logits"
	outputEmbedding   = "embedding"
	outputNumbers     = "numbers"   // predictions of a regression, in the units of the data
	outputPositions   = "positions" // positions of the masks, for fill-mask
	dimLength         = "length"
	dimRead           = "read" // number of tokens that the model reads
	dimMasks          = "masks"
	dimEdges          = "edges"
	graphName         = "sft"
	graphDescription  = "A Sampling Foundational Transformer, which reads one sequence of any length, or a pair, at a time."
)

// ONNX returns the ONNX file of a model, with opset [onnx.OpsetVersion]. The graph reads one example:
// int64 tokens[length], or a[length_a] and b[length_b] for pairs. Points and nodes are float32
// features[length, names]. Further inputs are int64 edges[edges, 2] with relative encoding of edges,
// float32 edge_features[edges, names] if these edges have features, and int64 word_hashes[length] with
// n-grams of words (word_hashes_a and word_hashes_b for pairs).
//
// Tokens, features, edges and lengths that the model does not accept become indices out of bounds:
// the runtime reports an error.
//
// Outputs, float32 unless another type is stated:
//
//	logits     [labels]; for tagging [read, labels], a row for each token in the input window; for
//	           fill-mask [masks, labels], a row for each mask
//	embedding  [hidden]; for pairs embedding_a and embedding_b
//	numbers    [labels], only for a regression: mean + deviation·logits
//	positions  int64 [masks], only for fill-mask: positions of the masks
//
// The metadata describe the meaning of tokens and outputs.
func ONNX(m *sft.Model) ([]byte, error) {
	c := m.Config
	if err := checkCovered(c); err != nil {
		return nil, err
	}
	if words := fileNumbers(m); words > math.MaxInt32/wordBytes {
		return nil, fmt.Errorf("found %d numbers of 4 bytes, but an ONNX file holds at most %d bytes: "+
			"sftseq export pytorch has no such limit", words, math.MaxInt32)
	}
	e := &emitter{Graph: &onnx.Graph{}, model: m, config: c}
	exportedTasks[e.config.Task].heads(e)
	return e.Model(graphName, graphDescription, metadata(c))
}

// wordBytes is the size of a parameter in bytes.
const wordBytes = 4

// emitter adds a model to a graph.
type emitter struct {
	*onnx.Graph
	model  *sft.Model
	config *sft.Config
}

// weight returns the parameter of the model with this name.
func (e *emitter) weight(name string) onnx.Tensor {
	p, ok := e.model.Parameters.Lookup(name)
	if !ok {
		panic(fmt.Sprintf("export: no parameter %q", name))
	}
	return e.Weight(name, p.Shape, e.model.Parameters.Slice(e.model.Weights, p))
}

// linear returns x Wᵀ + b for x [rows, in].
func (e *emitter) linear(name string, x onnx.Tensor) onnx.Tensor {
	return e.Gemm(x, e.weight(name+".weight"), e.weight(name+".bias"))
}

// norm returns the layer norm of each row.
func (e *emitter) norm(name string, x onnx.Tensor) onnx.Tensor {
	return e.LayerNormalization(x, e.weight(name+".weight"), e.weight(name+".bias"), e.config.LayerNormEps)
}

// gelu returns x·Φ(x), where Φ is the cumulative distribution function of the standard normal
// distribution.
func (e *emitter) gelu(x onnx.Tensor) onnx.Tensor {
	phi := e.Add(e.Erf(e.Mul(x, e.Float(math.Sqrt2/2))), e.Float(1))
	return e.Mul(e.Mul(x, e.Float(0.5)), phi)
}

// metadata returns the properties that a program needs for the graph. Lists are JSON arrays.
func metadata(c *sft.Config) (out []onnx.Property) {
	add := func(key, value string) { out = append(out, onnx.Property{Key: key, Value: value}) }
	list := func(key string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("export: %s: %v", key, err)) // strings and finite numbers always marshal
		}
		add(key, string(text))
	}
	add("task", c.Task)
	if c.HasFeatures() {
		list("feature_names", c.FeatureNames)
	} else {
		add("vocab_size", strconv.Itoa(c.VocabSize))
	}
	if c.Relative == config.EdgeRelation {
		list("edge_feature_names", c.EdgeFeatureNames)
	}
	add("max_length", strconv.Itoa(longest(c)))
	if n := c.TruncatesAt(); n > 0 {
		add("input_window", strconv.Itoa(n)) // maximum number of tokens
	}
	if c.InputWindowTail > 0 {
		add("input_window_tail", strconv.Itoa(c.InputWindowTail))
	}
	if c.PadTokenID != nil {
		add("pad_token_id", strconv.Itoa(int(*c.PadTokenID)))
	}
	if c.MaskTokenID != nil {
		add("mask_token_id", strconv.Itoa(int(*c.MaskTokenID)))
	}
	if c.LabelNames != nil {
		list("label_names", c.LabelNames)
	}
	if properties := exportedTasks[c.Task].properties; properties != nil {
		properties(c, list)
	}
	add("tokenizer", string(c.Tokenizer))
	return out
}

// longest returns the maximum number of tokens of a sequence after truncation to the input window.
func longest(c *sft.Config) int {
	if c.InputWindow != nil {
		return min(c.MaxLength, c.InputWindow.Length)
	}
	return c.MaxLength
}
