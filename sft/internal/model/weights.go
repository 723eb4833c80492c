package model

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/sft/config"
)

// CheckpointFile holds all that a resume needs, in one file: it is replaced
// whole or not at all.
const CheckpointFile = "last/checkpoint.safetensors"

// The files of a model directory.
const (
	ConfigFile  = "config.json"
	WeightsFile = "model.safetensors"
)

// CheckShapes reports a tensor that is missing, has another shape or is not part of the model.
func CheckShapes(p *config.Parameters, tensors []safetensors.Tensor) error {
	shapes := make(map[string][]int, len(tensors))
	for _, t := range tensors {
		shapes[t.Name] = t.Shape
	}
	for _, q := range p.List {
		shape, ok := shapes[q.Name]
		if !ok {
			return fmt.Errorf("tensor %q is missing, expected with shape %v", q.Name, q.Shape)
		}
		if !slices.Equal(shape, q.Shape) {
			return fmt.Errorf("tensor %q has shape %v, expected %v", q.Name, shape, q.Shape)
		}
	}
	for _, t := range tensors {
		if _, ok := p.Lookup(t.Name); !ok {
			return fmt.Errorf("tensor %q is not part of the model that %s describes", t.Name, ConfigFile)
		}
	}
	return nil
}

// CheckSize compares the weights that a configuration needs with the bytes of
// the file before memory is taken for them.
func CheckSize(size int64, c *config.Config) error {
	// The sum in floating point, and without a list of all parameters: a hostile
	// configuration that is valid must not make it overflow.
	words := func(list []parameter) (n float64) {
		for _, p := range list {
			n += float64(p.size())
		}
		return n
	}
	least := 4 * (words(embedParameters(c)) + float64(c.NumLayers)*words(layerParameters(c, "")) +
		words(objectiveOf(c).parameters(c)))
	if least > float64(size) {
		return fmt.Errorf("%d bytes, but %s describes a model of at least %.0f", size, ConfigFile, least)
	}
	return nil
}

// Gather puts named tensors in their places of a range. Each must be there,
// with its shape and finite values; prefix is put before each name.
func Gather(p *config.Parameters, tensors []safetensors.Tensor, prefix string) ([]float32, error) {
	byName := make(map[string]safetensors.Tensor, len(tensors))
	for _, t := range tensors {
		byName[t.Name] = t
	}
	words := make([]float32, p.Words)
	for _, q := range p.List {
		t, ok := byName[prefix+q.Name]
		if !ok {
			return nil, fmt.Errorf("tensor %q is missing, expected with shape %v", prefix+q.Name, q.Shape)
		}
		if !slices.Equal(t.Shape, q.Shape) {
			return nil, fmt.Errorf("tensor %q has shape %v, expected %v", t.Name, t.Shape, q.Shape)
		}
		if err := safetensors.CheckFinite([]safetensors.Tensor{t}); err != nil {
			return nil, err
		}
		copy(p.Slice(words, q), t.Data)
	}
	return words, nil
}

// TensorsOf lists the parts of a range under their names.
func TensorsOf(p *config.Parameters, words []float32, prefix string) []safetensors.Tensor {
	var out []safetensors.Tensor
	for _, q := range p.List {
		out = append(out, safetensors.Tensor{Name: prefix + q.Name, Shape: q.Shape, Data: p.Slice(words, q)})
	}
	return out
}
