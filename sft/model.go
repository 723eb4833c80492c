package sft

import (
	"context"
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
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// Model is a configuration with its weights.
type Model struct {
	Config     *Config
	Parameters *config.Parameters
	Weights    []float32          // words with the layout of Parameters
	NGrams     *config.NGramTable // embeddings of n-grams; nil if the configuration has none
	linear     *linearmodel.Model // a linear model, which has no Weights; otherwise nil
}

// NewParameters lists the tensors that a configuration needs.
func NewParameters(c *Config) *config.Parameters { return model.NewParameters(c) }

// NewModel returns a model with initial weights, which depend only on c and the seed.
func NewModel(c *Config, seed uint64) *Model {
	return &Model{Config: c, Parameters: model.NewParameters(c), Weights: model.Initialize(c, seed)}
}

// Load reads a model directory: config.json and model.safetensors. An error names the file, and the
// key or tensor in it if a single one is wrong.
func Load(dir string) (*Model, error) {
	c, err := ReadModelConfig(dir)
	if err != nil {
		return nil, err
	}
	if c.IsLinear() {
		return loadLinear(dir, c)
	}
	path := filepath.Join(dir, model.WeightsFile)
	m := &Model{Config: c, Parameters: model.NewParameters(c)}
	tensors, _, err := model.ReadTensors(c, path)
	if err != nil {
		return nil, err
	}
	if m.Weights, err = model.Gather(m.Parameters, tensors, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m.NGrams, err = model.ReadNGrams(c, tensors, false); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// ReadModelConfig reads the config.json of a model directory and compares its sizes with those in
// model.safetensors: a caller can then safely allocate memory for the configuration. For a linear
// model, only [Load] compares the sizes.
func ReadModelConfig(dir string) (*Config, error) {
	c, err := config.Read(filepath.Join(dir, model.ConfigFile))
	if err != nil {
		return nil, notModel(dir, err)
	}
	path := filepath.Join(dir, model.WeightsFile)
	if _, err := os.Stat(filepath.Join(dir, model.CheckpointFile)); err == nil {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s contains a training run without %s: finish the run with sftseq train … "+
				"--out %s --resume, or restore the file of a finished run from a copy", dir, model.WeightsFile, dir)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if c.IsLinear() { // loading compares the shapes of a linear model
		return c, nil
	}
	if err := model.CheckSize(info.Size(), c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := model.CheckFile(c, path); err != nil {
		return nil, err
	}
	return c, nil
}

// notModel returns an error that states the expected files if err means that config.json does not exist,
// and otherwise err.
func notModel(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if _, missing := os.Stat(filepath.Join(dir, seq.ManifestName)); missing == nil {
			return fmt.Errorf("%s: expected a model directory with %s and %s, found a data set", dir, model.ConfigFile,
				model.WeightsFile)
		}
		if errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("%s: expected a model directory with %s and %s, found a file", dir, model.ConfigFile,
				model.WeightsFile)
		}
		if _, err := os.Stat(dir); err == nil {
			return fmt.Errorf("%s: expected a model directory with %s and %s, found a directory without %[2]s: name the "+
				"directory of a finished run (--out of sftseq train)", dir, model.ConfigFile, model.WeightsFile)
		}
		return fmt.Errorf("%s: expected a model directory with %s and %s: %w", dir, model.ConfigFile,
			model.WeightsFile, atomicfile.Cause(err))
	}
	return err
}

// Save writes the model directory. It writes the weights first, because config.json marks a
// complete model.
func (m *Model) Save(dir string) error {
	if err := atomicfile.MakeFolder(dir); err != nil {
		return err
	}
	if err := m.SaveWeights(dir, nil); err != nil {
		return err
	}
	return m.Config.Write(filepath.Join(dir, model.ConfigFile))
}

// SaveWeights writes the model.safetensors of a directory, with metadata in the header of the file.
func (m *Model) SaveWeights(dir string, metadata map[string]string) error {
	tensors := append(model.TensorsOf(m.Parameters, m.Weights, ""), model.NGramTensors(m.Config, m.NGrams)...)
	return safetensors.Write(filepath.Join(dir, model.WeightsFile), tensors, metadata)
}

// CollectNGrams creates zero embeddings for the n-grams of the training split, limited by MinCount and
// MaxFeatures of [config.NGrams]. Without n-grams in the configuration, it sets NGrams to nil.
func (m *Model) CollectNGrams(ctx context.Context, train *seq.File) (err error) {
	m.NGrams, err = model.CollectNGrams(ctx, m.Config, train)
	return err
}

// NGramWeights returns the number of weights in the embeddings of the model's n-grams, which
// Parameters does not count.
func (m *Model) NGramWeights() int {
	if m.NGrams == nil {
		return 0
	}
	return len(m.NGrams.Weights)
}

// SaveRange writes words with the model's layout, such as gradients, under the names of its
// tensors.
func (m *Model) SaveRange(path string, words []float32) error {
	return safetensors.Write(path, model.TensorsOf(m.Parameters, words, ""), nil)
}

// CopyFrom initialises m with the weights of source. The vocabulary sizes, the features and the encoders
// must match, and source must not have embeddings of n-grams. If only one of the models has a mask
// token, the embedding of the mask is not copied. m takes the scales of features from source. If the
// models have different tasks or outputs ([config.Config.SameOutputs]), the head of m keeps its initial
// weights. CopyFrom returns the parameters of the head that it did not copy.
func (m *Model) CopyFrom(source *Model) (fresh []config.Parameter, err error) {
	got, want := source.Config.DataVocabSize(), m.Config.DataVocabSize()
	if got != want {
		return nil, fmt.Errorf("the initial model has a vocabulary of %d tokens, expected %d", got, want)
	}
	sameHead := m.Config.Task == source.Config.Task && m.Config.SameOutputs(source.Config)
	if source.Config.NGrams != nil {
		return nil, fmt.Errorf("the initial model has embeddings of n-grams, expected a model without ngrams in its %s",
			model.ConfigFile)
	}
	if got, want := source.Config.FeatureNames, m.Config.FeatureNames; !slices.Equal(got, want) {
		return nil, fmt.Errorf("the initial model has the features %q, expected %q", got, want)
	}
	if err := m.Config.SameEdges(source.Config.EdgeFeatureNames); err != nil {
		return nil, err
	}
	// The input layer was trained on features with these scales.
	m.Config.FeatureScales = source.Config.FeatureScales
	for _, size := range []struct {
		name      string
		got, want int
	}{{"hidden_size", source.Config.HiddenSize, m.Config.HiddenSize},
		{"num_hidden_layers", source.Config.NumLayers, m.Config.NumLayers},
		{"intermediate_size", source.Config.IntermediateSize, m.Config.IntermediateSize}} {
		if size.got != size.want {
			return nil, fmt.Errorf("the initial model has %s %d, expected %d", size.name, size.got, size.want)
		}
	}
	if got, want := source.Config.Chunks, m.Config.Chunks; got != want && (got == nil || want == nil || *got != *want) {
		return nil, fmt.Errorf("the initial model has %s, expected %s (see --chunks)", got, want)
	}
	for _, p := range m.Parameters.List {
		q, ok := source.Parameters.Lookup(p.Name)
		same := ok && slices.Equal(p.Shape, q.Shape)
		if ok && p.Part == config.PartEmbed {
			same = slices.Equal(p.Shape[1:], q.Shape[1:]) // the mask is the last row
		}
		switch {
		case p.Part == config.PartHead && !(same && sameHead):
			fresh = append(fresh, p)
		case same:
			copy(m.Parameters.Slice(m.Weights, p), source.Parameters.Slice(source.Weights, q))
		case !ok:
			return nil, fmt.Errorf("the initial model has no tensor %q, expected shape %v", p.Name, p.Shape)
		default:
			return nil, fmt.Errorf("tensor %q has shape %v in the initial model, expected %v", p.Name, q.Shape, p.Shape)
		}
	}
	for _, q := range source.Parameters.List {
		if _, ok := m.Parameters.Lookup(q.Name); !ok && q.Part != config.PartHead {
			return nil, fmt.Errorf("the initial model has a tensor %q, but the new model has none", q.Name)
		}
	}
	if sameHead {
		model.Adopt(m.Config, m.Parameters, m.Weights, source.Config)
	}
	return fresh, nil
}

// Config is config.json: see [config.Config].
type Config = config.Config
