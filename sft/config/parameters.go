package config

import (
	"github.com/sftseq/sftseq/internal/fmath"
)

// Parameter is one tensor of a model and its place in the range of weights.
type Parameter struct {
	Name   string
	Shape  []int
	Offset int
	Decay  bool // weight decay applies
	Part   Part
}

// Part is what a parameter belongs to.
type Part string

// The parts of a model.
const (
	PartEmbed        Part = "embed"
	PartSampler      Part = "sampler"
	PartAttention    Part = "attention"
	PartRelative     Part = "relative"
	PartMLP          Part = "mlp"
	PartConvolutions Part = "convolutions"
	PartNorms        Part = "norms"
	PartResidual     Part = "residual"
	PartHead         Part = "head"
)

// Parts lists them.
var Parts = []Part{PartEmbed, PartSampler, PartAttention, PartRelative, PartMLP, PartConvolutions,
	PartNorms, PartResidual, PartHead}

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

// LayoutParameters places tensors, in the order of the model, in a range of words.
func LayoutParameters(list []Parameter) *Parameters {
	p := &Parameters{List: list, index: map[string]int{}}
	for i, q := range p.List {
		p.index[q.Name] = i
	}
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
		if !fmath.Finite(p.Slice(words, q)) {
			return q.Name, true
		}
	}
	return "", false
}
