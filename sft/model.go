package sft

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/sftseq/sftseq/internal/atomicfile"
	linearmodel "github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/internal/safetensors"
)

// The files of a model directory.
const (
	configFile  = "config.json"
	weightsFile = "model.safetensors"
)

// Model is a configuration with its weights.
type Model struct {
	Config     *Config
	Parameters *Parameters
	Weights    []float32          // the range that Parameters describes
	linear     *linearmodel.Model // in place of weights, of a linear model
}

// NewModel returns a model with fresh weights.
func NewModel(c *Config, seed uint64) *Model {
	return &Model{Config: c, Parameters: NewParameters(c), Weights: Initialize(c, seed)}
}

// Load reads a model directory: config.json and model.safetensors. An error
// names the file, the key or tensor, and what was expected there.
func Load(dir string) (*Model, error) {
	c, err := ReadModelConfig(dir)
	if err != nil {
		return nil, err
	}
	if c.IsLinear() {
		return loadLinear(dir, c)
	}
	path := filepath.Join(dir, weightsFile)
	m := &Model{Config: c, Parameters: NewParameters(c)}
	tensors, _, err := safetensors.Read(path)
	if err != nil {
		return nil, err
	}
	if m.Weights, err = m.Parameters.gather(tensors, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// ReadModelConfig reads the config.json of a model directory and compares the sizes that it states
// with the header of model.safetensors, so that a caller can allocate what the configuration describes.
func ReadModelConfig(dir string) (*Config, error) {
	c, err := ReadConfig(filepath.Join(dir, configFile))
	if err != nil {
		return nil, notModel(dir, err)
	}
	path := filepath.Join(dir, weightsFile)
	if _, err := os.Stat(filepath.Join(dir, CheckpointFile)); err == nil {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: a training run that has no model yet: go on with --resume, which writes %s",
				dir, weightsFile)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if c.IsLinear() { // whose shapes loading compares
		return c, nil
	}
	if err := checkSize(info.Size(), c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	tensors, err := safetensors.ReadShapes(path)
	if err != nil {
		return nil, err
	}
	if err := NewParameters(c).checkShapes(tensors); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// checkShapes reports a tensor that is missing, has another shape or is not part of the model.
func (p *Parameters) checkShapes(tensors []safetensors.Tensor) error {
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
			return fmt.Errorf("tensor %q is not part of the model that %s describes", t.Name, configFile)
		}
	}
	return nil
}

// notModel says what was expected where there is no model directory.
func notModel(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%s: expected a model directory with %s and %s: %w", dir, configFile,
			weightsFile, atomicfile.Cause(err))
	}
	return err
}

// checkSize compares the weights that a configuration needs with the bytes of
// the file before memory is taken for them.
func checkSize(size int64, c *Config) error {
	// The sum in floating point, and without a list of all parameters: a hostile
	// configuration that is valid must not make it overflow.
	words := func(list []Parameter) (n float64) {
		for _, p := range list {
			n += float64(p.Size())
		}
		return n
	}
	least := 4 * (words(embedParameters(c)) + float64(c.NumLayers)*words(layerParameters(c, "")) +
		words(c.objective().parameters(c)))
	if least > float64(size) {
		return fmt.Errorf("%d bytes, but %s describes a model of at least %.0f", size, configFile, least)
	}
	return nil
}

// gather puts named tensors in their places of a range. Each must be there,
// with its shape and finite values; prefix is put before each name.
func (p *Parameters) gather(tensors []safetensors.Tensor, prefix string) ([]float32, error) {
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

// tensors lists the parts of a range under their names.
func (p *Parameters) tensors(words []float32, prefix string) []safetensors.Tensor {
	var out []safetensors.Tensor
	for _, q := range p.List {
		out = append(out, safetensors.Tensor{Name: prefix + q.Name, Shape: q.Shape, Data: p.Slice(words, q)})
	}
	return out
}

// Save writes the model directory, the weights first: a configuration stands
// for a whole model.
func (m *Model) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := m.SaveRange(filepath.Join(dir, weightsFile), m.Weights); err != nil {
		return err
	}
	return m.Config.Write(filepath.Join(dir, configFile))
}

// SaveRange writes a range with the model's layout, such as gradients, under
// the names of its tensors.
func (m *Model) SaveRange(path string, words []float32) error {
	return safetensors.Write(path, m.Parameters.tensors(words, ""), nil)
}

// CopyFrom takes the weights of another model as a start: every tensor that both have with one
// shape, and the embeddings of all tokens but the mask, which one of them may not have. The
// encoder must match, and the scales of features are the other model's. A head that says something else
// ([Config.SameAnswers]) stays fresh: its parameters are returned.
func (m *Model) CopyFrom(source *Model) (fresh []Parameter, err error) {
	have, want := source.Config.DataVocabSize(), m.Config.DataVocabSize()
	if have != want {
		return nil, fmt.Errorf("a vocabulary of %d tokens there, expected %d", have, want)
	}
	sameHead := m.Config.SameAnswers(source.Config)
	if there, here := source.Config.FeatureNames, m.Config.FeatureNames; !slices.Equal(there, here) {
		return nil, fmt.Errorf("features %q there, expected %q", there, here)
	}
	if err := m.Config.SameEdges(source.Config.EdgeFeatureNames); err != nil {
		return nil, err
	}
	// the input layer was trained on features standardised by these
	m.Config.FeatureScales = source.Config.FeatureScales
	for _, size := range []struct {
		name        string
		there, here int
	}{{"hidden_size", source.Config.HiddenSize, m.Config.HiddenSize},
		{"num_hidden_layers", source.Config.NumLayers, m.Config.NumLayers},
		{"intermediate_size", source.Config.IntermediateSize, m.Config.IntermediateSize}} {
		if size.there != size.here {
			return nil, fmt.Errorf("%s is %d there, expected %d", size.name, size.there, size.here)
		}
	}
	for _, p := range m.Parameters.List {
		q, ok := source.Parameters.Lookup(p.Name)
		same := ok && slices.Equal(p.Shape, q.Shape)
		if ok && p.Part == PartEmbed {
			same = slices.Equal(p.Shape[1:], q.Shape[1:]) // the mask's is the last row
		}
		switch {
		case p.Part == PartHead && !(same && sameHead):
			fresh = append(fresh, p)
		case same:
			copy(m.Parameters.Slice(m.Weights, p), source.Parameters.Slice(source.Weights, q))
		case !ok:
			return nil, fmt.Errorf("tensor %q is not there, expected one of shape %v", p.Name, p.Shape)
		default:
			return nil, fmt.Errorf("tensor %q has shape %v there, expected %v", p.Name, q.Shape, p.Shape)
		}
	}
	for _, q := range source.Parameters.List {
		if _, ok := m.Parameters.Lookup(q.Name); !ok && q.Part != PartHead {
			return nil, fmt.Errorf("tensor %q is there, the new model has none of that name", q.Name)
		}
	}
	if sameHead {
		m.Config.objective().adopt(m, source.Config)
	}
	return fresh, nil
}

// SameAnswers reports whether what the heads of two models say means the same: they have one
// task, and the same labels or numbers in the same order. Labels without names are the same where
// there are as many.
func (c *Config) SameAnswers(other *Config) bool {
	named := c.LabelNames != nil && other.LabelNames != nil
	return c.Task == other.Task && c.NumLabels == other.NumLabels &&
		(!named || slices.Equal(c.LabelNames, other.LabelNames)) && c.MaskTargets.same(other.MaskTargets) &&
		slices.Equal(c.NumberNames(), other.NumberNames())
}
