package model

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/internal/sparse"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// NGrams holds the embeddings of a model's n-grams. They stay in the host's memory; a device
// receives the rows that a batch reads.
type NGrams struct {
	vocabulary *ngram.Vocabulary
	*sparse.Table
}

// errNoNGrams is the error for a model whose n-grams were not collected.
var errNoNGrams = errors.New("the n-grams of the model were not collected: " +
	"call Model.CollectNGrams first")

// NewNGrams returns the n-grams of a configuration with the table t, whose memory it shares.
func NewNGrams(c *config.Config, t *config.NGramTable) (*NGrams, error) {
	if t == nil {
		return nil, errNoNGrams
	}
	v, err := ngram.NewVocabulary(ngramOptions(c.NGrams), t.Kept, t.Used)
	if err != nil {
		return nil, err
	}
	if len(t.Weights) != v.Size()*c.HiddenSize {
		return nil, fmt.Errorf("embeddings of n-grams: expected %d numbers for %d features, found %d",
			v.Size()*c.HiddenSize, v.Size(), len(t.Weights))
	}
	return &NGrams{v, &sparse.Table{Width: c.HiddenSize, Values: t.Weights, Squares: t.Squares}}, nil
}

func ngramOptions(n *config.NGrams) ngram.Options {
	return ngram.Options{Units: n.Units, MinN: n.MinN, MaxN: n.MaxN, Slots: n.Slots, MinCount: n.MinCount,
		MaxWords: n.MaxWords}
}

// CollectNGrams returns a table with zero embeddings for the n-grams of the training split. It
// returns nil if the configuration has no n-grams.
func CollectNGrams(ctx context.Context, c *config.Config, train *seq.File) (*config.NGramTable, error) {
	if c.NGrams == nil {
		return nil, nil
	}
	const block = 256 // rows per task of a thread
	blocks, threads := (train.Len()+block-1)/block, runtime.GOMAXPROCS(0)
	eachRow := func(b int, visit func(e *seq.Example)) error {
		for i := b * block; i < min(train.Len(), (b+1)*block); i++ {
			e, err := train.Example(i)
			if err != nil {
				return err
			}
			visit(&e)
		}
		return nil
	}
	v, err := ngram.Collect(ctx, ngramOptions(c.NGrams), blocks, threads, func(b int, add func(a, b []int32)) error {
		return eachRow(b, func(e *seq.Example) {
			add(e.A, nil)
			if e.B != nil { // both sides of a pair share the embeddings
				add(e.B, nil)
			}
		})
	})
	if err == nil && c.NGrams.MaxFeatures > 0 {
		v, err = v.Select(ctx, c.NGrams.MaxFeatures, c.NumLabels, blocks, threads,
			func(b int, add func(a []int32, class int)) error {
				return eachRow(b, func(e *seq.Example) { add(e.A, int(e.Label)) })
			})
	}
	if err != nil {
		return nil, err
	}
	t := sparse.NewTable(v.Size(), c.HiddenSize)
	return &config.NGramTable{Kept: v.Kept, Used: v.Used, Weights: t.Values, Squares: t.Squares}, nil
}

// Tensors of a model with n-grams in model.safetensors and, with prefixes, in a checkpoint. Each row of
// the table belongs to a feature, a used slot; features are numbered by ascending slot.
const (
	ngramKept    = "ngrams.kept_cells" // I32 [2¹⁹], a bit for each cell of the sketch; absent if min_count is 1
	ngramUsed    = "ngrams.used_slots" // I32 [slots/32], a bit for each slot
	NGramWeight  = "ngrams.weight"     // F32 [features, hidden_size]; not in model.safetensors if ngrams.bits is 8
	ngramSquares = "ngrams.squares"    // F32 [features], Adagrad's sums of squares; only in a checkpoint

	// The results of sparse.Quantize; only in model.safetensors, if ngrams.bits is 8.
	ngramQuantized = "ngrams.quantized_weight" // I32 [features, hidden_size/4]
	ngramExponent  = "ngrams.exponent"         // I32 [features]
)

// NGramTensors returns the tensors of a table in model.safetensors; none if t is nil.
func NGramTensors(c *config.Config, t *config.NGramTable) (out []safetensors.Tensor) {
	if t == nil {
		return nil
	}
	ints := func(name string, data []int32, shape ...int) {
		out = append(out, safetensors.Tensor{Name: name, Type: safetensors.I32, Shape: shape, Ints: data})
	}
	if t.Kept != nil {
		ints(ngramKept, t.Kept, len(t.Kept))
	}
	ints(ngramUsed, t.Used, len(t.Used))
	features := len(t.Weights) / c.HiddenSize
	if c.NGrams.Bits > 0 {
		words, exponents := sparse.Quantize(t.Weights, c.HiddenSize)
		ints(ngramQuantized, words, features, c.HiddenSize/4)
		ints(ngramExponent, exponents, features)
		return out
	}
	return append(out, safetensors.Tensor{Name: NGramWeight, Shape: []int{features, c.HiddenSize}, Data: t.Weights})
}

// ngramShapes returns names and shapes of the tensors that a configuration needs. The number of
// features is taken from the tensors found, because the configuration does not contain it. If optimizer is true, it
// returns the tensors of a checkpoint, whose embeddings are floats.
func ngramShapes(c *config.Config, found []safetensors.Tensor, optimizer bool) (out []safetensors.Tensor) {
	if c.NGrams == nil {
		return nil
	}
	features, weight := 0, NGramWeight
	if c.NGrams.Bits > 0 && !optimizer {
		weight = ngramQuantized
	}
	for _, t := range found {
		if t.Name == weight && len(t.Shape) == 2 && t.Shape[0] <= c.NGrams.Slots {
			features = t.Shape[0]
		}
	}
	if c.NGrams.MinCount > 1 {
		out = append(out, safetensors.Tensor{Name: ngramKept, Type: safetensors.I32, Shape: []int{ngram.Cells / 32}})
	}
	out = append(out, safetensors.Tensor{Name: ngramUsed, Type: safetensors.I32, Shape: []int{c.NGrams.Slots / 32}})
	switch {
	case weight == ngramQuantized:
		return append(out,
			safetensors.Tensor{Name: weight, Type: safetensors.I32, Shape: []int{features, c.HiddenSize / 4}},
			safetensors.Tensor{Name: ngramExponent, Type: safetensors.I32, Shape: []int{features}})
	case optimizer:
		out = append(out, safetensors.Tensor{Name: ngramSquares, Shape: []int{features}})
	}
	return append(out, safetensors.Tensor{Name: weight, Shape: []int{features, c.HiddenSize}})
}

// NGramStateTensors returns the tensors of a table in a checkpoint, including the state of the
// optimizer.
func NGramStateTensors(c *config.Config, t *config.NGramTable) []safetensors.Tensor {
	if t == nil {
		return nil
	}
	floats, n := *c, *c.NGrams
	n.Bits, floats.NGrams = 0, &n
	return append(NGramTensors(&floats, t), safetensors.Tensor{Name: ngramSquares, Shape: []int{len(t.Squares)},
		Data: t.Squares})
}

// ReadNGrams returns the table from a file's tensors, or nil if the configuration has no n-grams.
// If optimizer is true, it also reads the state of the optimizer.
func ReadNGrams(c *config.Config, tensors []safetensors.Tensor, optimizer bool) (*config.NGramTable, error) {
	if c.NGrams == nil {
		return nil, nil
	}
	wanted := ngramShapes(c, tensors, optimizer)
	byName := map[string]safetensors.Tensor{}
	for _, w := range wanted {
		at := slices.IndexFunc(tensors, func(t safetensors.Tensor) bool { return t.Name == w.Name })
		if at < 0 {
			return nil, fmt.Errorf("tensor %q is missing", w.Name)
		}
		t := tensors[at]
		if t.Type != w.Type {
			return nil, fmt.Errorf("tensor %q has type %s, expected %s", t.Name, cmp.Or(t.Type, safetensors.F32),
				cmp.Or(w.Type, safetensors.F32))
		}
		if !slices.Equal(t.Shape, w.Shape) {
			return nil, fmt.Errorf("tensor %q has shape %v, expected %v", t.Name, t.Shape, w.Shape)
		}
		if err := safetensors.CheckFinite([]safetensors.Tensor{t}); err != nil {
			return nil, err
		}
		byName[w.Name] = t
	}
	t := &config.NGramTable{Kept: byName[ngramKept].Ints, Used: byName[ngramUsed].Ints,
		Weights: byName[NGramWeight].Data,
		Squares: byName[ngramSquares].Data}
	name := NGramWeight
	if q, ok := byName[ngramQuantized]; ok {
		name = ngramQuantized
		var err error
		if t.Weights, err = sparse.Dequantize(q.Ints, byName[ngramExponent].Ints, c.HiddenSize); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", ngramExponent, err)
		}
	}
	v, err := ngram.NewVocabulary(ngramOptions(c.NGrams), t.Kept, t.Used)
	if err != nil {
		return nil, err
	}
	if found := byName[name].Shape[0]; found != v.Size() {
		return nil, fmt.Errorf("tensor %q: expected a row for each of the %d slots in %s, found %d rows", name,
			v.Size(), ngramUsed, found)
	}
	for i, s := range t.Squares {
		if s < 0 {
			return nil, fmt.Errorf("tensor %q: expected sums of squares, found %v at index %d", ngramSquares, s, i)
		}
	}
	return t, nil
}

// WriteNGrams writes the parts of a table that affect a model's outputs.
func WriteNGrams(w io.Writer, c *config.Config, n *config.NGramTable) error {
	for _, t := range NGramTensors(c, n) {
		for part := range slices.Chunk(t.Ints, 1<<14) { // binary.Write copies its argument
			if err := binary.Write(w, binary.LittleEndian, part); err != nil {
				return err
			}
		}
		for part := range slices.Chunk(t.Data, 1<<14) {
			if err := binary.Write(w, binary.LittleEndian, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// Bytes returns the memory in bytes of the table and the state of its optimizer; 0 for nil.
func (n *NGrams) Bytes() int64 {
	if n == nil {
		return 0
	}
	words := len(n.Values) + len(n.Squares) + 2*len(n.vocabulary.Used) + len(n.vocabulary.Kept)
	return WordBytes * int64(words)
}
