package sft

import (
	"fmt"
	"strings"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Parameter is one tensor of a model and its place in the range of weights.
type Parameter struct {
	Name   string
	Shape  []int
	Offset int
	Decay  bool // weight decay applies
}

// Size is the number of elements.
func (p Parameter) Size() int {
	n := 1
	for _, s := range p.Shape {
		n *= s
	}
	return n
}

// Parameters lists a model's tensors in the order of the model. Weights,
// gradients and moments are contiguous ranges with one layout: the tensors that
// decay come first, so that an update is two launches.
type Parameters struct {
	List    []Parameter
	Words   int // size of the range
	Decayed int // size of its first part, which decays

	index map[string]int
}

// alignment of a parameter, in words: what devices ask of a buffer's offset.
const alignment = 64

// NewParameters lists the tensors that a configuration needs.
func NewParameters(c *Config) *Parameters {
	p := &Parameters{index: map[string]int{}}
	add := func(name string, shape ...int) {
		p.index[name] = len(p.List)
		norm := strings.Contains(name, "norm")
		p.List = append(p.List, Parameter{Name: name, Shape: shape, Decay: strings.HasSuffix(name, ".weight") && !norm})
	}
	linear := func(name string, out, in int) {
		add(name+".weight", out, in)
		add(name+".bias", out)
	}
	row := func(name string, d int) {
		add(name+".weight", d)
		add(name+".bias", 1)
	}
	norm := func(name string, d int) {
		add(name+".weight", d)
		add(name+".bias", d)
	}
	d, h := c.HiddenSize, c.NumHeads
	add("embed.weight", c.VocabSize, d)
	for l := range c.NumLayers {
		at := fmt.Sprintf("layers.%d.", l)
		for n, v := range c.Convolutions {
			name := fmt.Sprintf("%sconv.%d.", at, n)
			add(name+"weight", v.KernelSize, d)
			add(name+"bias", d)
			norm(name+"norm", d)
		}
		row(at+"sampler", d)
		for _, n := range []string{"q", "k", "v", "o"} {
			linear(at+"attn."+n, d, d)
		}
		linear(at+"attn.leak", h, d)
		if c.Relative != "none" {
			linear(at+"attn.rel_mul", h, c.SinusoidDim)
			linear(at+"attn.rel_add", h, c.SinusoidDim)
		}
		linear(at+"mlp.fc1", c.IntermediateSize, d)
		linear(at+"mlp.fc2", d, c.IntermediateSize)
		norm(at+"norm1", d)
		norm(at+"norm2", d)
		if c.ResidualScale {
			add(at+"residual_scale", 1)
		}
	}
	if c.NormPosition == "pre" {
		norm("final_norm", d)
	}
	row("head.pool", d)
	if c.Pair() {
		linear("head.hidden", d, 4*d)
	}
	linear("head.out", c.NumLabels, d)

	for _, decay := range []bool{true, false} {
		for i := range p.List {
			if p.List[i].Decay == decay {
				p.List[i].Offset = p.Words
				p.Words += (p.List[i].Size() + alignment - 1) / alignment * alignment
			}
		}
		if decay {
			p.Decayed = p.Words
		}
	}
	return p
}

// Lookup returns a parameter by name.
func (p *Parameters) Lookup(name string) (Parameter, bool) {
	i, ok := p.index[name]
	if !ok {
		return Parameter{}, false
	}
	return p.List[i], true
}

// Tensor is a parameter, or its gradient, as an operand.
func (p *Parameters) Tensor(space tensor.Space, name string) *tensor.Tensor {
	q, ok := p.Lookup(name)
	if !ok {
		panic(fmt.Sprintf("sft: no parameter %q", name))
	}
	if space == tensor.Gradients {
		name += ".grad"
	}
	return tensor.At(space, q.Offset, name, q.Shape...)
}

// Count is the number of parameters, padding left out.
func (p *Parameters) Count() int {
	n := 0
	for _, q := range p.List {
		n += q.Size()
	}
	return n
}

// Slice is the part of a range that holds a parameter.
func (p *Parameters) Slice(words []float32, q Parameter) []float32 {
	return words[q.Offset : q.Offset+q.Size()]
}

// NonFinite names the first parameter that holds NaN or an infinity.
func (p *Parameters) NonFinite(words []float32) (name string, found bool) {
	for _, q := range p.List {
		for _, v := range p.Slice(words, q) {
			if v-v != 0 {
				return q.Name, true
			}
		}
	}
	return "", false
}
