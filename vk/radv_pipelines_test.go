//go:build cgo

package vk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// passSizes are the numbers of tokens and sequences of the recorded passes. They determine the
// tiles of products.
var passSizes = [][2]int{{64, 1}, {1024, 1}, {4096, 4}, {32768, 16}}

// radvPipelines returns a dispatch for each pipeline that the device would use for the presets, for
// measurements, for the optimiser, and for attention with heads of 8 to 64 channels and each relation,
// score and probability. The keys are those of pipelineKey.
func radvPipelines(t *testing.T, d *gpu) map[string]dispatch {
	out := map[string]dispatch{}
	collect := func(c *sft.Config, training bool, tokens, sequences int, keep func(shader string) bool) {
		t.Helper()
		r := &recorder{device: d, planning: true}
		r.program = must.Get(sft.Record(c, training, tokens, sequences*c.Sequences()))(t).(*tensor.Program)
		must.Succeed(t, r.record())
		for _, s := range r.steps {
			if s.shader != "" && keep(s.shader) {
				out[pipelineKey(s.dispatch)] = s.dispatch
			}
		}
	}
	// The shaders of measurements and of the optimiser are not part of a pass.
	out["copy"] = dispatch{shader: "copy", operands: make([]operand, 3)}
	out["peak"] = dispatch{shader: "peak", operands: make([]operand, 2)}
	r := &recorder{device: d, planning: true, program: tensor.NewProgram()}
	words := func(region tensor.Region) *tensor.Tensor { return tensor.At(region, 0, "words", 1<<20) }
	sum, step := tensor.At(tensor.Arena, 0, "sum", 1), tensor.At(tensor.Inputs, 0, "step", 3)
	record(r, tensor.SumSquares{Y: sum, X: words(tensor.Gradients)})
	record(r, tensor.AdamW{W: words(tensor.Weights), M: words(tensor.Moment1), V: words(tensor.Moment2),
		G: words(tensor.Gradients), SumSquares: sum, Step: step})
	must.Succeed(t, r.err)
	for _, s := range r.steps {
		out[pipelineKey(s.dispatch)] = s.dispatch
	}

	presets := presetConfigs(t)
	for _, c := range presets {
		for _, size := range passSizes {
			for _, training := range []bool{false, true} {
				collect(c, training, size[0], size[1], func(string) bool { return true })
			}
		}
	}
	attention := func(shader string) bool { return strings.HasPrefix(shader, "attention") }
	for _, c := range headConfigs(t, *presets[0]) {
		collect(c, true, 8192, 2, attention)
	}
	return out
}

// pipelineKey returns the name of a pipeline: its shader, constants and required subgroup size.
func pipelineKey(d dispatch) string {
	key := d.shader
	for _, c := range d.constants {
		key += fmt.Sprint(" ", c)
	}
	if d.subgroup != 0 {
		key += fmt.Sprintf(" (subgroups of %d)", d.subgroup)
	}
	return key
}

// presetConfigs returns the configurations of the presets, and of models whose passes need further
// shaders.
func presetConfigs(t *testing.T) []*sft.Config {
	var out []*sft.Config
	add := func(p *lra.Preset, spec seq.Spec, change func(*sft.Config)) {
		c := p.Config
		change(&c)
		must.Succeed(t, c.DescribeData(spec))
		out = append(out, &c)
	}
	unchanged := func(*sft.Config) {}
	for _, task := range lra.Tasks() {
		spec := must.Get(task.Spec())(t)
		for _, p := range task.Presets {
			add(p, spec, unchanged)
			if task.Features == nil {
				add(p, spec, func(c *sft.Config) { c.Task, c.TieEmbeddings = config.FillMask, true })
			}
		}
	}
	for _, name := range lra.GeneratedNames {
		task, spec := lra.Generated(name)
		add(task.Presets[0], spec, unchanged)
	}
	text := must.Get(lra.ListOps.Spec())(t)
	add(lra.ListOps.Presets[0], text, func(c *sft.Config) {
		c.ResidualScale, c.Convolutions = true, []config.Convolution{{KernelSize: 7, Dilation: 1}}
	})
	add(lra.ListOps.Presets[0], text, func(c *config.Config) {
		c.NGrams = &config.NGrams{Units: "tokens", MinN: 1, MaxN: 2, Slots: 1 << 10, MinCount: 1}
	})
	return out
}

// headConfigs returns configurations like c with one layer and two heads that cover the head sizes,
// relations, scores and probabilities.
func headConfigs(t *testing.T, c sft.Config) []*sft.Config {
	var out []*sft.Config
	add := func(channels int, change func(*sft.Config)) {
		c := c
		c.NumLayers, c.NumHeads = 1, 2
		c.HiddenSize, c.SinusoidDim, c.IntermediateSize = 2*channels, 2*channels, 2*channels
		change(&c)
		must.Succeed(t, c.Validate())
		out = append(out, &c)
	}
	withFeatures := func(features, edgeFeatures []string) func(*sft.Config) {
		spec := seq.Spec{Task: seq.Classification, Name: "heads", LabelNames: []string{"a", "b"},
			FeatureNames: features, EdgeFeatureNames: edgeFeatures}
		return func(c *sft.Config) { must.Succeed(t, c.DescribeData(spec)) }
	}
	sinusoids := func(c *sft.Config) { c.Relative = config.SinusoidRelation }
	edges := withFeatures([]string{"a"}, []string{"b", "c", "d"})
	relations := []func(*sft.Config){
		func(c *sft.Config) { c.Relative = config.NoRelation }, sinusoids, edges,
		withFeatures(seq.PositionNames, nil),
		withFeatures(append(slices.Clone(seq.PositionNames), seq.NormalNames...), nil),
		withFeatures([]string{"a"}, []string{}),
	}
	for _, channels := range []int{8, 16, 24, 32, 48, 64} {
		for _, relation := range relations {
			add(channels, relation)
		}
	}
	for _, channels := range []int{32, 64} {
		for _, relation := range []func(*sft.Config){sinusoids, edges} {
			for _, score := range []string{"maxout_standardized", "lily", "dot"} {
				add(channels, func(c *sft.Config) { relation(c); c.Score = score })
			}
			add(channels, func(c *sft.Config) { relation(c); c.Probability = "softmax" })
			add(channels, func(c *sft.Config) { relation(c); c.NumSampledTokens = 2048 })
		}
		add(channels, func(c *sft.Config) { c.Probability = "relu" })
	}
	return out
}
