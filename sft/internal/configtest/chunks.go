package configtest

import "github.com/sftseq/sftseq/sft/config"

// chunkConfigs holds configurations of chunked models by name.
type chunkConfigs map[string]*config.Config

// add adds a configuration with chunks of 16 tokens on average.
func (out chunkConfigs) add(name, task string, change func(c *config.Config)) {
	c := WithTask(TinyConfig(), task)
	c.NumLayers = 3
	c.Chunks = &config.Chunks{Rule: "content", Average: 16, Exports: 3, Layers: 1}
	change(c)
	out[name] = c
}

// ChunkConfigs returns, by name, configurations of chunked models with predictions for whole documents or
// pairs.
func ChunkConfigs() map[string]*config.Config {
	out := chunkConfigs{}
	add := out.add
	add("content", config.Classification, func(c *config.Config) {})
	add("post-norm", config.MultiLabel, func(c *config.Config) { c.NormPosition = "post" })
	add("fixed", config.Regression, func(c *config.Config) {
		c.Chunks.Rule, c.Chunks.Exports, c.Chunks.Layers = "fixed", 16, 2
		c.Convolutions = []config.Convolution{{KernelSize: 3, Dilation: 1}, {KernelSize: 3, Dilation: 8}}
	})
	add("moving averages", config.Classification, func(c *config.Config) { c.MovingAverages = 2 })
	add("pairs", config.Retrieval, func(c *config.Config) {})
	add("no attention", config.Classification, func(c *config.Config) {
		c.NumSampledTokens, c.Relative = 0, config.NoRelation
		c.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}}
	})
	add("max pooling", config.Classification, func(c *config.Config) {
		c.Pooling, c.PoolingSamples = config.MaxPooling, 7
	})
	add("n-grams", config.Classification, func(c *config.Config) { c.NGrams = TokenNGrams() })
	return out
}

// TokenChunkConfigs returns, by name, configurations of chunked models with predictions per token.
func TokenChunkConfigs() map[string]*config.Config {
	out := chunkConfigs{}
	out.add("tags", config.Tagging, func(c *config.Config) {})
	out.add("masked tokens", config.FillMask, func(c *config.Config) { c.TieEmbeddings = true })
	out.add("post-norm tags", config.Tagging, func(c *config.Config) {
		c.NormPosition, c.NumSampledTokens, c.Relative = "post", 0, config.NoRelation
		c.Chunks.Rule, c.Chunks.Layers = "fixed", 2
	})
	return out
}
