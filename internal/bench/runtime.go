package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// The paper's runtime table: one layer on 4 sequences of 1,024 tokens.
const (
	TableBatch  = 4
	TableLength = 1024
	tableHidden = 256
	// tableLayers is the number of layers in a measured stack. The time of a layer is the time of the
	// stack divided by tableLayers. With two layers, the embedding and the head count only half.
	tableLayers = 2
)

// LayerShape holds the sizes of the measured layer that the paper's runtime table does not state.
type LayerShape struct {
	Heads        int
	Intermediate int // width of the MLP
}

// LayerShapes are alternative shapes: "usual" is the shape in the paper's table of costs, and
// "notebook" is the shape in the authors' notebook (which measures in training mode).
var LayerShapes = map[string]LayerShape{"usual": {16, 4 * tableHidden}, "notebook": {8, 8 * tableHidden}}

// Layer is a row of the runtime table.
type Layer struct {
	Kind     string // sft or vanilla
	Relative string
	K        int
	Length   int // tokens per sequence
	LayerShape
}

// Layers returns the rows of the table. The vanilla layer attends to every token.
func Layers(shape LayerShape, length int) []Layer {
	out := []Layer{{"vanilla", "none", length, length, shape}}
	for _, relative := range []string{"none", "sinusoid_hadamard"} {
		for k := 32; k <= length/2; k *= 2 {
			out = append(out, Layer{"sft", relative, k, length, shape})
		}
	}
	return out
}

// PaperSeconds returns the time of the layer in the paper's table in seconds; 0 if the table lacks it.
// The paper measured SFT with a relative encoding and the transformer without.
func (l Layer) PaperSeconds() float64 {
	if l.Length != TableLength || l.Kind == "sft" && l.Relative == "none" {
		return 0
	}
	return map[int]float64{32: 0.30, 64: 0.32, 128: 0.34, 256: 0.46, 512: 0.64, 1024: 0.64}[l.K]
}

// String returns a description such as "sft, k 64, sinusoid_hadamard".
func (l Layer) String() string { return fmt.Sprintf("%s, k %d, %s", l.Kind, l.K, l.Relative) }

// config returns the configuration of a stack of these layers.
func (l Layer) config() *sft.Config {
	c := &sft.Config{
		ModelType: "sft",
		Task:      config.Classification,
		Inputs:    config.Inputs{VocabSize: 256, MaxLength: l.Length, Tokenizer: json.RawMessage(`{"type":"byte"}`)},
		Encoder: config.Encoder{HiddenSize: tableHidden, NumLayers: tableLayers, IntermediateSize: l.Intermediate,
			NormPosition: "post", LayerNormEps: 1e-5},
		Attention: config.Attention{NumHeads: l.Heads, SinusoidDim: tableHidden, SinusoidBase: 10000, Score: "maxout",
			Probability: "leaky_relu", Relative: l.Relative},
		Sampler: config.Sampler{NumSampledTokens: l.K, SamplerNoise: "train"},
		Head:    config.Head{NumLabels: 2},
	}
	if l.Kind == "vanilla" {
		c.Score, c.Probability = "dot", "softmax"
	}
	return c
}

// Prepare prepares a forward pass of the stack of layers.
func (l Layer) Prepare(device tensor.Device) (Run, error) {
	w := &Workload{Config: l.config(), Settings: train.Settings{Batch: TableBatch}, Length: l.Length, Device: device}
	return w.Prepare(Forward)
}

// LayerSeconds returns the time of one layer in seconds. f runs the stack of layers.
func LayerSeconds(ctx context.Context, f Run) (float64, error) {
	if err := f(ctx); err != nil {
		return 0, err
	}
	const reps, atLeast = 3, time.Second / 2
	s, err := Seconds(ctx, f, reps, atLeast)
	return s / tableLayers, err
}
