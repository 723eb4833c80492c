package model

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// parameter is a tensor of a model with its initial values.
type parameter struct {
	Name        string
	Shape       []int
	Decay       bool // weight decay applies
	Part        config.Part
	initializer initializer
}

// size returns the number of elements.
func (p parameter) size() int { return config.Parameter{Shape: p.Shape}.Size() }

// forEachParameter calls f with the tensors that a configuration needs, in the order of the model.
// It builds no list, because a malicious configuration may need very many tensors.
func forEachParameter(c *config.Config, f func(parameter)) {
	for _, p := range embedParameters(c) {
		f(p)
	}
	for l := range c.NumLayers {
		for _, p := range layerParameters(c, fmt.Sprintf("layers.%d.", l)) {
			f(p)
		}
	}
	for _, p := range slices.Concat(exportParameters(c), objectiveOf(c).parameters(c)) {
		f(p)
	}
}

// NewParameters lists the tensors that a configuration needs.
func NewParameters(c *config.Config) *config.Parameters {
	var list []config.Parameter
	forEachParameter(c, func(p parameter) {
		list = append(list, config.Parameter{Name: p.Name, Shape: p.Shape, Decay: p.Decay, Part: p.Part})
	})
	return config.LayoutParameters(list)
}

// parameterTensor returns a parameter, or its gradient, as an operand.
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
