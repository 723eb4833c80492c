package linear

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/pairs"
	"github.com/sftseq/sftseq/internal/safetensors"
)

// Files of a model directory.
const (
	configFile  = "config.json"
	weightsFile = "model.safetensors"
)

// Tensors of the n-grams in model.safetensors, in their order. Features are the used slots, numbered
// in ascending order. Row j of weights and of ratios belongs to feature j.
const (
	keptTensor    = "kept_cells" // I32 [2¹⁹], a bit for each cell of the sketch; absent if min_count is 1
	usedTensor    = "used_slots" // I32 [slots/32], a bit for each slot
	weightsTensor = "weights"    // I32 [features, columns], w·r in units of 2⁻²⁰
	ratiosTensor  = "ratios"     // I32 [features, columns], r in units of 2⁻¹⁰
	biasTensor    = "bias"       // F32 [columns]
)

// Save writes the model's config.json and model.safetensors to the existing directory dir.
func (m *Model) Save(dir string) error {
	if err := safetensors.Write(filepath.Join(dir, weightsFile), m.tensors(), nil); err != nil {
		return err
	}
	return m.SaveConfig(dir)
}

// SaveConfig writes the model's config.json to dir.
func (m *Model) SaveConfig(dir string) error {
	text, err := json.MarshalIndent(&m.Config, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, configFile), append(text, '\n'))
}

// tensors returns the tensors of model.safetensors.
func (m *Model) tensors() []safetensors.Tensor {
	shape := []int{m.Features(), len(m.bias)}
	weights, ratios := make([]int32, len(m.cells)), make([]int32, len(m.cells))
	for i, c := range m.cells {
		weights[i], ratios[i] = c.weight, c.ratio
	}
	var tensors []safetensors.Tensor
	ints := func(name string, shape []int, data []int32) {
		tensors = append(tensors, safetensors.Tensor{Name: name, Type: safetensors.I32, Shape: shape, Ints: data})
	}
	if kept := m.vocabulary.Kept; kept != nil {
		ints(keptTensor, []int{len(kept)}, kept)
	}
	ints(usedTensor, []int{len(m.vocabulary.Used)}, m.vocabulary.Used)
	ints(weightsTensor, shape, weights)
	ints(ratiosTensor, shape, ratios)
	tensors = append(tensors, safetensors.Tensor{Name: biasTensor, Shape: []int{len(m.bias)}, Data: m.bias})
	if m.pairs != nil {
		tensors = append(tensors, m.pairs.Tensors()...)
	}
	return tensors
}

// WriteWeights writes the parts of the model that determine its logits, in a fixed order: the n-gram
// options, the configuration of the comparison of pairs, and all tensors. It does not write the other keys of
// the configuration, such as the label names and the tokenizer.
func (m *Model) WriteWeights(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(m.Config.NGrams); err != nil {
		return err
	}
	if m.pairs != nil {
		if err := json.NewEncoder(w).Encode(m.Config.Pairs); err != nil {
			return err
		}
	}
	for _, t := range m.tensors() {
		for part := range slices.Chunk(t.Ints, 1<<14) { // binary.Write copies its argument
			if err := binary.Write(w, binary.LittleEndian, part); err != nil {
				return err
			}
		}
		if err := binary.Write(w, binary.LittleEndian, t.Data); err != nil {
			return err
		}
	}
	return nil
}

// Load reads a model directory. It compares the sizes in config.json with the header of
// model.safetensors before it reads the tensors.
func Load(dir string) (*Model, error) {
	path := filepath.Join(dir, configFile)
	text, err := atomicfile.ReadRegular(path, maxConfigBytes)
	if err != nil {
		return nil, err
	}
	config, err := ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	path = filepath.Join(dir, weightsFile)
	shapes, err := safetensors.ReadMixedShapes(path)
	if err != nil {
		return nil, err
	}
	if err := config.checkShapes(shapes); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	tensors, _, err := safetensors.ReadMixed(path)
	if err != nil {
		return nil, err
	}
	m, err := newModel(config, tensors)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// checkShapes returns an error for the first tensor that is missing, has an unexpected type or
// shape, or is not part of the model. It takes two numbers from the file, because the configuration
// does not contain them: the number of features, and the number of used slots of a comparison of pairs.
func (c *Config) checkShapes(found []safetensors.Tensor) error {
	indexOf := func(name string) int {
		return slices.IndexFunc(found, func(t safetensors.Tensor) bool { return t.Name == name })
	}
	rows := func(name string, dimensions int) int {
		if at := indexOf(name); at >= 0 && len(found[at].Shape) == dimensions {
			return found[at].Shape[0]
		}
		return -1
	}
	features := rows(weightsTensor, 2)
	expected := []safetensors.Tensor{
		{Name: usedTensor, Type: safetensors.I32, Shape: []int{c.NGrams.Slots / 32}},
		{Name: weightsTensor, Type: safetensors.I32, Shape: []int{features, c.columns()}},
		{Name: ratiosTensor, Type: safetensors.I32, Shape: []int{features, c.columns()}},
		{Name: biasTensor, Shape: []int{c.columns()}},
	}
	if c.NGrams.MinCount > 1 {
		kept := safetensors.Tensor{Name: keptTensor, Type: safetensors.I32, Shape: []int{ngram.Cells / 32}}
		expected = slices.Insert(expected, 0, kept)
	}
	if c.Pairs != nil {
		expected = append(expected, c.Pairs.Shapes(c.columns(), rows(pairs.TextsTensor, 1))...)
	}
	for _, w := range expected {
		at := indexOf(w.Name)
		switch {
		case at < 0:
			return fmt.Errorf("tensor %q is missing", w.Name)
		case found[at].Type != w.Type:
			return fmt.Errorf("tensor %q: expected %s, found %s", w.Name, typeName(w.Type), typeName(found[at].Type))
		case !slices.Equal(found[at].Shape, w.Shape):
			const format = "tensor %q: expected the shape %v according to config.json and the other tensors, found %v"
			return fmt.Errorf(format, w.Name, w.Shape, found[at].Shape)
		}
	}
	for _, t := range found {
		if !slices.ContainsFunc(expected, func(w safetensors.Tensor) bool { return w.Name == t.Name }) {
			return fmt.Errorf("tensor %q is not part of a linear model", t.Name)
		}
	}
	return nil
}

// typeName returns the safetensors name of a type.
func typeName(t string) string {
	if t == "" {
		return safetensors.F32
	}
	return t
}

// newModel returns a model with the given tensors, whose shapes have been checked.
func newModel(config *Config, tensors []safetensors.Tensor) (*Model, error) {
	byName := map[string]safetensors.Tensor{}
	for _, t := range tensors {
		byName[t.Name] = t
	}
	var kept ngram.Bitmap
	if t, ok := byName[keptTensor]; ok {
		kept = t.Ints
	}
	vocabulary, err := ngram.NewVocabulary(config.NGrams, kept, byName[usedTensor].Ints)
	if err != nil {
		return nil, err
	}
	weights, ratios := byName[weightsTensor], byName[ratiosTensor].Ints
	if found := weights.Shape[0]; found != vocabulary.Size() {
		const format = "tensor %q: expected a row for each of the %d slots in %s, found %d rows"
		return nil, fmt.Errorf(format, weightsTensor, vocabulary.Size(), usedTensor, found)
	}
	if err := safetensors.CheckFinite([]safetensors.Tensor{byName[biasTensor]}); err != nil {
		return nil, err
	}
	m := &Model{*config, vocabulary, make([]cell, len(weights.Ints)), byName[biasTensor].Data, nil}
	for i, w := range weights.Ints {
		if r := ratios[i]; r < -maxRatio || r > maxRatio {
			const format = "tensor %q: expected numbers from %d to %d, found %d at index %d"
			return nil, fmt.Errorf(format, ratiosTensor, -maxRatio, maxRatio, r, i)
		}
		m.cells[i] = cell{w, ratios[i]}
	}
	if config.Pairs != nil {
		var ordered []safetensors.Tensor
		for _, t := range config.Pairs.Shapes(config.columns(), 0) {
			ordered = append(ordered, byName[t.Name])
		}
		if m.pairs, err = pairs.NewModel(*config.Pairs, config.columns(), ordered); err != nil {
			return nil, err
		}
	}
	return m, nil
}
