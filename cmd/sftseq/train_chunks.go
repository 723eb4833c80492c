package main

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// defaultChunkExports is the default of --chunk-exports.
const defaultChunkExports = 4

// chunkFlags returns the flags of chunked models.
func chunkFlags(task *lra.Task) []cli.Flag {
	return flagsIf(hasKind(task, tokensKind) && hasKind(task, labelsKind), advancedGroup(modelGroup,
		&cli.StringFlag{Name: "chunks",
			Usage: "read rows in chunks of about `N` tokens, a power of two; or fixed:N, or none", DefaultText: "none"},
		&cli.IntFlag{Name: "chunk-exports",
			Usage:       "pass `N` sampled rows of each chunk to the document encoder, at most a quarter of --chunks",
			DefaultText: strconv.Itoa(defaultChunkExports)},
		&cli.IntFlag{Name: "local-layers", Usage: "read chunks with `N` layers; the others read the document",
			DefaultText: "all but the last"}))
}

// applyChunkFlags applies the flags of chunks to the configuration. Their defaults depend on the
// number of layers.
func applyChunkFlags(c *cli.Context, m *sft.Config) (err error) {
	if c.IsSet("chunks") {
		if m.Chunks, err = config.ParseChunks(c.String("chunks")); err != nil {
			return invalidFlag(c, "chunks", err)
		}
		if m.Chunks != nil {
			m.Chunks.Exports, m.Chunks.Layers = defaultChunkExports, max(1, m.NumLayers-1)
			m.MaxLength = config.MaxDocument
		}
	}
	for _, name := range []string{"chunk-exports", "local-layers"} {
		if c.IsSet(name) && m.Chunks == nil {
			return usage(c, "--%s belongs to --chunks", name)
		}
	}
	if m.Chunks == nil {
		return nil
	}
	chunks := *m.Chunks // the configuration may share the value with a preset
	if c.IsSet("chunk-exports") {
		chunks.Exports = c.Int("chunk-exports")
	}
	if c.IsSet("local-layers") {
		chunks.Layers = c.Int("local-layers")
	}
	m.Chunks = &chunks
	return nil
}
