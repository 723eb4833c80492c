package model

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// parameter is a tensor of a model with its values at the beginning.
type parameter struct {
	Name  string
	Shape []int
	Decay bool // weight decay applies
	Part  config.Part
	fresh fresh
}

// size is the number of elements.
func (p parameter) size() int { return config.Parameter{Shape: p.Shape}.Size() }

// parametersOf lists the tensors that a configuration needs, in the order of the model.
func parametersOf(c *config.Config) []parameter {
	list := embedParameters(c)
	for l := range c.NumLayers {
		list = append(list, layerParameters(c, fmt.Sprintf("layers.%d.", l))...)
	}
	return append(list, objectiveOf(c).parameters(c)...)
}

// NewParameters lists the tensors that a configuration needs.
func NewParameters(c *config.Config) *config.Parameters {
	var list []config.Parameter
	for _, p := range parametersOf(c) {
		list = append(list, config.Parameter{Name: p.Name, Shape: p.Shape, Decay: p.Decay, Part: p.Part})
	}
	return config.LayoutParameters(list)
}

// parameterTensor is a parameter, or its gradient, as an operand.
func parameterTensor(p *config.Parameters, region tensor.Region, name string) *tensor.Tensor {
	q, ok := p.Lookup(name)
	if !ok {
		panic(fmt.Sprintf("sft: no parameter %q", name))
	}
	if region == tensor.Gradients {
		name += ".grad"
	}
	return tensor.At(region, q.Offset, name, q.Shape...)
}
