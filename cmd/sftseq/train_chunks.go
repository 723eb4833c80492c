package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/chunk"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// defaultChunkExports is the default of --chunk-exports.
const defaultChunkExports = 4

// noChunks is the value of --chunks for a flat model, which reads rows without chunks.
const noChunks = "none"

// formatChunks returns the value of --chunks for the chunks of a configuration.
func formatChunks(k *config.Chunks) string {
	switch {
	case k == nil:
		return noChunks
	case k.Rule == string(chunk.Fixed):
		return fmt.Sprintf("%s:%d", k.Rule, k.Average)
	}
	return strconv.Itoa(k.Average)
}

// chunkFlags returns the flags of chunked models.
func chunkFlags(task *lra.Task) []cli.Flag {
	unset := noChunks
	if task.Name == lra.CustomName {
		unset = "none, or measured for long rows"
	}
	return flagsIf(hasKind(task, tokensKind), advancedGroup(modelGroup,
		&cli.StringFlag{Name: "chunks",
			Usage:       "read rows in chunks of about `N` tokens, a power of two; or fixed:N, or none",
			DefaultText: unset},
		&cli.IntFlag{Name: "chunk-exports",
			Usage:       "pass `N` sampled tokens of each chunk to the document encoder, up to the shortest chunk's length",
			DefaultText: strconv.Itoa(defaultChunkExports)},
		&cli.IntFlag{Name: "local-layers", DefaultText: "all but the last",
			Usage: "use `N` layers for chunks and the remaining layers for the document"}))
}

// chunkFlagNames lists the flags of chunkFlags in the order in which they are applied.
var chunkFlagNames = []string{"chunks", "chunk-exports", "local-layers"}

// lengthAdvice returns advice on a row that is longer than the model accepts.
func lengthAdvice(c *cli.Context, m *sft.Config, e *train.LengthError) string {
	if m.Chunks != nil && !c.IsSet("max-length") {
		return "divide the row"
	}
	advice := fmt.Sprintf("accept it with --max-length %d", e.Tokens)
	if m.Chunks != nil {
		return advice
	}
	if !c.IsSet("max-length") && !m.HasFeatures() && e.Tokens <= config.MaxDocument {
		advice = fmt.Sprintf("read it in chunks with --chunks %s", measuredChunks)
	}
	return fmt.Sprintf("%s, or read the beginning of longer rows with --input-window %d", advice, e.Longest)
}

// applyChunkFlags applies the flags of chunks to the configuration. kind is the task of the data. The
// default of --local-layers depends on the number of layers.
func applyChunkFlags(c *cli.Context, kind string, m *sft.Config) error {
	for _, name := range chunkFlagNames {
		if !c.IsSet(name) {
			continue
		}
		if err := applyChunkFlag(c, name, m); err != nil {
			return err
		}
		if name == "chunks" && m.Chunks != nil {
			if !c.IsSet("layers") && !c.IsSet("init-from") {
				// A head that predicts tokens reads the output of the local layers, so they get one more layer.
				if of := (sft.Config{Task: cmp.Or(m.Task, kind)}); !of.Pools() {
					m.NumLayers++
				}
				m.NumLayers = max(m.NumLayers, 2)
			}
			m.Chunks.Exports, m.Chunks.Layers = defaultChunkExports, max(1, m.NumLayers-1)
			if !c.IsSet("max-length") {
				m.MaxLength = config.MaxDocument
			}
		}
	}
	return nil
}

// applyChunkFlag applies the named flag to the configuration if chunkFlagNames contains it. The values of
// the other chunk flags are kept.
func applyChunkFlag(c *cli.Context, name string, m *sft.Config) error {
	if !slices.Contains(chunkFlagNames, name) {
		return nil
	}
	var chunks config.Chunks // the configuration may share its value with a preset
	if m.Chunks != nil {
		chunks = *m.Chunks
	}
	switch {
	case name == "chunks":
		parsed, err := config.ParseChunks(c.String(name))
		if err != nil {
			return invalidFlag(c, name, err)
		}
		if parsed == nil {
			m.Chunks = nil
			return nil
		}
		parsed.Exports, parsed.Layers = chunks.Exports, chunks.Layers
		chunks = *parsed
	case m.Chunks == nil && c.Bool("resume"):
		return nil // resumeSettings compares the flag with the chunks of the run
	case m.Chunks == nil:
		return usage(c, "--%s needs --chunks: the model reads rows without chunks", name)
	case name == "chunk-exports":
		chunks.Exports = c.Int(name)
	default:
		chunks.Layers = c.Int(name)
	}
	m.Chunks = &chunks
	return nil
}
