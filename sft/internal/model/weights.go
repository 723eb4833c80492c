package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/sft/config"
)

// CheckpointFile is the path of the checkpoint in a run directory. It is a single file, so that it
// can be replaced atomically.
const CheckpointFile = "last/checkpoint.safetensors"

// Names of the files in a model directory.
const (
	ConfigFile  = "config.json"
	WeightsFile = "model.safetensors"
)

// ReadTensors reads the tensors and the metadata of a model or checkpoint file.
func ReadTensors(c *config.Config, path string) ([]safetensors.Tensor, map[string]string, error) {
	if c.NGrams != nil {
		return safetensors.ReadMixed(path)
	}
	return safetensors.Read(path)
}

// CheckFile compares the header of model.safetensors with the configuration.
func CheckFile(c *config.Config, path string) error {
	read := safetensors.ReadShapes
	if c.NGrams != nil {
		read = safetensors.ReadMixedShapes
	}
	tensors, err := read(path)
	if err != nil {
		return err
	}
	if err := checkShapes(NewParameters(c), tensors, ngramShapes(c, tensors, false)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// checkShapes returns an error if a tensor is missing, has another shape or type, or is in neither
// p nor others.
func checkShapes(p *config.Parameters, tensors, others []safetensors.Tensor) error {
	found := make(map[string]safetensors.Tensor, len(tensors))
	for _, t := range tensors {
		found[t.Name] = t
	}
	wanted := others
	for _, q := range p.List {
		wanted = append(wanted, safetensors.Tensor{Name: q.Name, Shape: q.Shape})
	}
	known := map[string]bool{}
	for _, w := range wanted {
		t, ok := found[w.Name]
		switch {
		case !ok:
			return fmt.Errorf("tensor %q is missing, expected with shape %v", w.Name, w.Shape)
		case !slices.Equal(t.Shape, w.Shape):
			return fmt.Errorf("tensor %q has shape %v, expected %v", w.Name, t.Shape, w.Shape)
		case t.Type != w.Type:
			return fmt.Errorf("tensor %q: expected the type %s, found %s", w.Name, cmp.Or(w.Type, safetensors.F32),
				cmp.Or(t.Type, safetensors.F32))
		}
		known[w.Name] = true
	}
	for _, t := range tensors {
		if !known[t.Name] {
			return fmt.Errorf("tensor %q is not part of the model that %s describes", t.Name, ConfigFile)
		}
	}
	return nil
}

// CheckSize returns an error if a file of size bytes is too small for the weights of a configuration.
// Callers check the size before they allocate memory for the weights.
func CheckSize(size int64, c *config.Config) error {
	// The sum is in floating point and without a list of all parameters, so that a valid but
	// malicious configuration cannot make it overflow.
	words := func(list []parameter) (n float64) {
		for _, p := range list {
			n += float64(p.size())
		}
		return n
	}
	minBytes := 4 * (words(embedParameters(c)) + float64(c.NumLayers)*words(layerParameters(c, "")) +
		words(exportParameters(c)) + words(objectiveOf(c).parameters(c)))
	if minBytes > float64(size) {
		return fmt.Errorf("found %d bytes, but %s requires at least %.0f: the file is truncated or "+
			"belongs to another model (restore it from a copy)", size, ConfigFile, minBytes)
	}
	return nil
}

// Gather copies the parameters p from tensors, where prefix precedes each name, to a slice with the
// layout of p. A missing tensor, another type or shape, or a value that is not finite is an error.
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
		if cmp.Or(t.Type, safetensors.F32) != safetensors.F32 || !slices.Equal(t.Shape, q.Shape) {
			return nil, fmt.Errorf("tensor %q has type %s and shape %v, expected %s and %v", t.Name,
				cmp.Or(t.Type, safetensors.F32), t.Shape, safetensors.F32, q.Shape)
		}
		if err := safetensors.CheckFinite([]safetensors.Tensor{t}); err != nil {
			return nil, err
		}
		copy(p.Slice(words, q), t.Data)
	}
	return words, nil
}

// TensorsOf returns the parameters in words as tensors, with prefix before each name.
func TensorsOf(p *config.Parameters, words []float32, prefix string) []safetensors.Tensor {
	var out []safetensors.Tensor
	for _, q := range p.List {
		out = append(out, safetensors.Tensor{Name: prefix + q.Name, Shape: q.Shape, Data: p.Slice(words, q)})
	}
	return out
}
