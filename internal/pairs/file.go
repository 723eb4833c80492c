package pairs

import (
	"fmt"
	"math/bits"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/safetensors"
)

// Names of the tensors of a comparison. TextsTensor has a number per used slot, in the order of views
// and slots.
const (
	slotsTensor      = "pair_used_slots"    // I32 [views, slots/32], one bit per slot
	TextsTensor      = "pair_texts"         // I32 [used slots], number of training texts with an n-gram in the slot
	meanTensor       = "pair_mean"          // F32 [features]
	scaleTensor      = "pair_scale"         // F32 [features], 1 divided by the standard deviation
	hiddenTensor     = "pair_hidden_weight" // F32 [hidden units, features]
	hiddenBiasTensor = "pair_hidden_bias"   // F32 [hidden units]
	outputTensor     = "pair_output_weight" // F32 [outputs, hidden units]
	outputBiasTensor = "pair_output_bias"   // F32 [outputs]
)

// Shapes returns the tensors of a configuration without data, for the given numbers of outputs and
// used slots.
func (c *Config) Shapes(outputs, texts int) []safetensors.Tensor {
	n := c.features()
	return []safetensors.Tensor{
		{Name: slotsTensor, Type: safetensors.I32, Shape: []int{len(views[c.Units]), c.Slots / 32}},
		{Name: TextsTensor, Type: safetensors.I32, Shape: []int{texts}},
		{Name: meanTensor, Shape: []int{n}},
		{Name: scaleTensor, Shape: []int{n}},
		{Name: hiddenTensor, Shape: []int{c.Hidden, n}},
		{Name: hiddenBiasTensor, Shape: []int{c.Hidden}},
		{Name: outputTensor, Shape: []int{outputs, c.Hidden}},
		{Name: outputBiasTensor, Shape: []int{outputs}},
	}
}

// Tensors returns the tensors of the model, in the order of [Config.Shapes].
func (m *Model) Tensors() []safetensors.Tensor {
	var used, texts []int32
	for _, counts := range m.texts {
		bitmap := ngram.NewBitmap(len(counts))
		for slot, n := range counts {
			if n > 0 {
				bitmap.Set(uint32(slot))
				texts = append(texts, n)
			}
		}
		used = append(used, bitmap...)
	}
	out := m.Shapes(m.head.outputs, len(texts))
	out[0].Ints, out[1].Ints = used, texts
	w, b, v, c := m.head.parts(m.head.weights)
	for i, values := range [][]float64{m.head.mean, m.head.scale, w, b, v, c} {
		for _, x := range values {
			out[2+i].Data = append(out[2+i].Data, float32(x))
		}
	}
	return out
}

// NewModel returns a model from tensors with the order and shapes of [Config.Shapes].
func NewModel(c Config, outputs int, tensors []safetensors.Tensor) (*Model, error) {
	if err := safetensors.CheckFinite(tensors[2:]); err != nil {
		return nil, err
	}
	used, texts := ngram.Bitmap(tensors[0].Ints), tensors[1].Ints
	count := 0
	for _, w := range used {
		count += bits.OnesCount32(uint32(w))
	}
	if count != len(texts) {
		return nil, fmt.Errorf("tensor %q: expected a number for each of the %d slots in %s, found %d", TextsTensor,
			count,
			slotsTensor, len(texts))
	}
	m := &Model{Config: c, texts: make([][]int32, len(views[c.Units])), head: newHead(c.features(), c.Hidden, outputs)}
	at := 0
	for v := range m.texts {
		m.texts[v] = make([]int32, c.Slots)
		for slot := range c.Slots {
			if !used.Has(uint32(v*c.Slots + slot)) {
				continue
			}
			n := texts[at]
			if n < 1 || int(n) > c.Texts {
				return nil, fmt.Errorf("tensor %q: expected numbers from 1 to %d, found %d at index %d", TextsTensor,
					c.Texts,
					n, at)
			}
			m.texts[v][slot] = n
			at++
		}
	}
	w, b, v, o := m.head.parts(m.head.weights)
	for i, values := range [][]float64{m.head.mean, m.head.scale, w, b, v, o} {
		for j, x := range tensors[2+i].Data {
			values[j] = float64(x)
		}
	}
	return m, nil
}
