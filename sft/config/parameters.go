package config

import (
	"github.com/sftseq/sftseq/internal/fmath"
)

// Parameter is one tensor of a model and its offset in the weights.
type Parameter struct {
	Name   string
	Shape  []int
	Offset int
	Decay  bool // weight decay applies
	Part   Part
}

// Part names the part of the model that a parameter belongs to.
type Part string

// The parts of a model.
const (
	PartEmbed        Part = "embed"
	PartSampler      Part = "sampler"
	PartAttention    Part = "attention"
	PartRelative     Part = "relative"
	PartMLP          Part = "mlp"
	PartConvolutions Part = "convolutions"
	PartAverages     Part = "averages"
	PartNorms        Part = "norms"
	PartResidual     Part = "residual"
	PartHead         Part = "head"
)

// Parts lists the parts of a model.
var Parts = []Part{PartEmbed, PartSampler, PartAttention, PartRelative, PartMLP, PartConvolutions,
	PartAverages, PartNorms, PartResidual, PartHead}

// Size returns the number of elements.
func (p Parameter) Size() int {
	n := 1
	for _, s := range p.Shape {
		n *= s
	}
	return n
}

// Parameters lists a model's tensors in the order of the model. Weights, gradients and moments are
// contiguous ranges with the same layout. In a range, tensors with weight decay come first, so that
// an update takes two launches.
type Parameters struct {
	List    []Parameter
	Words   int // size of the range in words
	Decayed int // size of the first part, with weight decay

	index map[string]int
}

// alignment is the alignment of a parameter in words. Devices require aligned offsets in a buffer.
const alignment = 64

// LayoutParameters assigns offsets to tensors, given in the order of the model.
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

// Count returns the total number of elements of all tensors, without padding.
func (p *Parameters) Count() int {
	n := 0
	for _, q := range p.List {
		n += q.Size()
	}
	return n
}

// Slice returns the words of a parameter in a range.
func (p *Parameters) Slice(words []float32, q Parameter) []float32 {
	return words[q.Offset : q.Offset+q.Size()]
}

// NonFinite returns the name of the first parameter with a NaN or an infinity.
func (p *Parameters) NonFinite(words []float32) (name string, found bool) {
	for _, q := range p.List {
		if !fmath.Finite(p.Slice(words, q)) {
			return q.Name, true
		}
	}
	return "", false
}
