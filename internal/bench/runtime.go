package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
)

// The paper's runtime table: one layer on 4 sequences of 1,024 tokens.
const (
	TableBatch  = 4
	TableLength = 1024
	tableHidden = 256
	tableHeads  = 16
	// tableLayers are measured and divided by: what lies around a layer, the
	// embedding and the head, is counted in, and counts half as much.
	tableLayers = 2
)

// Layer is a row of the table.
type Layer struct {
	Kind     string // sft or vanilla
	Relative string
	K        int
}

// Layers lists the rows: the vanilla layer attends to every token.
func Layers() []Layer {
	out := []Layer{{"vanilla", "none", TableLength}}
	for _, relative := range []string{"none", "sinusoid_hadamard"} {
		for _, k := range []int{32, 64, 128, 256, 512} {
			out = append(out, Layer{"sft", relative, k})
		}
	}
	return out
}

// String is such as "sft, k 64, sinusoid_hadamard".
func (l Layer) String() string { return fmt.Sprintf("%s, k %d, %s", l.Kind, l.K, l.Relative) }

// config is a model of such layers.
func (l Layer) config() *sft.Config {
	c := &sft.Config{
		ModelType: "sft", Task: sft.Classification, VocabSize: 256, NumLabels: 2, HiddenSize: tableHidden, NumLayers: tableLayers,
		NumHeads: tableHeads, IntermediateSize: 4 * tableHidden, NumSampledTokens: l.K, MaxLength: TableLength,
		SinusoidDim: tableHidden, SinusoidBase: 10000, NormPosition: "post", LayerNormEps: 1e-5,
		Score: "maxout", Probability: "leaky_relu", Relative: l.Relative, SamplerNoise: "train",
		Tokenizer: json.RawMessage(`{"type":"byte"}`),
	}
	if l.Kind == "vanilla" {
		c.Score, c.Probability = "dot", "softmax"
	}
	return c
}

// Prepare readies a forward pass of the stack of layers.
func (l Layer) Prepare(device tensor.Device) (Run, error) {
	w := &Workload{Config: l.config(), Settings: sft.Settings{Batch: TableBatch}, Length: TableLength, Device: device}
	return w.Prepare(Forward)
}

// LayerSeconds is the time of one layer, given the run of a stack of them.
func LayerSeconds(ctx context.Context, f Run) (float64, error) {
	if err := f(ctx); err != nil {
		return 0, err
	}
	const reps, atLeast = 3, time.Second / 2
	s, err := Seconds(ctx, f, reps, atLeast)
	return s / tableLayers, err
}
