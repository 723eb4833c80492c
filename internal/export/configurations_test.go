package export

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// variants maps the name of each test configuration to a function that changes [small] to it. Tests use these
// configurations in addition to those of the golden folders.
var variants = map[string]func(*sft.Config){
	"relu":           func(c *sft.Config) { c.Probability = "relu" },
	"softmax":        func(c *sft.Config) { c.Probability, c.Score = "softmax", "dot" },
	"lily post":      func(c *sft.Config) { c.Score, c.NormPosition = "lily", "post" },
	"standardized":   func(c *sft.Config) { c.Score = "maxout_standardized" },
	"no relation":    func(c *sft.Config) { c.Relative, c.NumLayers = "none", 3 },
	"temperature":    func(c *sft.Config) { c.Temperature = 2.5 },
	"residual scale": func(c *sft.Config) { c.ResidualScale = true },
	"noise":          func(c *sft.Config) { c.SamplerNoise = "always" },
	"large seed":     func(c *sft.Config) { c.SamplerSeed = math.MaxUint64 },
	"one key":        func(c *sft.Config) { c.NumSampledTokens = 1 },
	"no attention": func(c *sft.Config) {
		c.NumSampledTokens, c.Relative, c.Convolutions = 0, "none", []config.Convolution{{KernelSize: 3, Dilation: 2}}
	},
	"no attention, maximum of a sample": func(c *sft.Config) {
		c.NumSampledTokens, c.Relative, c.NormPosition = 0, "none", "post"
		c.Pooling, c.PoolingSamples, c.SamplerNoise = config.MaxPooling, 5, "always"
	},
	"wide kernel": func(c *sft.Config) {
		c.Convolutions = []config.Convolution{{KernelSize: 3, Dilation: 1000}, {KernelSize: 1, Dilation: 1}}
	},
	"moving averages":           func(c *sft.Config) { c.MovingAverages = 4 },
	"moving average, post-norm": func(c *sft.Config) { c.MovingAverages, c.NormPosition, c.NumLayers = 1, "post", 3 },
	"moving averages of pairs": func(c *sft.Config) {
		c.Task, c.MovingAverages, c.NormPosition = config.Retrieval, 4, "post"
		c.InputWindow = &config.InputWindow{Length: 40, Policy: "head"}
	},
	"moving averages, no attention": func(c *sft.Config) {
		c.NumSampledTokens, c.Relative, c.MovingAverages, c.ResidualScale = 0, "none", 4, true
		c.Convolutions = []config.Convolution{{KernelSize: 3, Dilation: 2}}
	},
	"moving average of points": func(c *sft.Config) {
		points(c, "x", "y", "z")
		c.MovingAverages, c.Pooling, c.PoolingSamples = 1, config.MaxPooling, 7
	},
	"head window": func(c *sft.Config) { c.InputWindow = &config.InputWindow{Length: 40, Policy: "head"} },
	"tail window": func(c *sft.Config) {
		c.InputWindow, c.InputWindowTail = &config.InputWindow{Length: 40, Policy: "head"}, 15
	},
	"window of the tail": func(c *sft.Config) {
		c.Task, c.InputWindow, c.InputWindowTail = config.Retrieval, &config.InputWindow{Length: 40, Policy: "head"}, 40
	},
	"untied mask":     func(c *sft.Config) { mask(c) },
	"tied mask, post": func(c *sft.Config) { mask(c); c.TieEmbeddings, c.NormPosition = true, "post" },
	"tagging window": func(c *sft.Config) {
		c.Task, c.InputWindow = config.Tagging, &config.InputWindow{Length: 40, Policy: "head"}
	},
	"numbers": func(c *sft.Config) {
		c.Task, c.NumLabels, c.Numbers = config.Regression, 4, []config.Number{{Name: "a", Mean: 1e6, Deviation: 3},
			{Name: "b", Deviation: 0}, {Name: "c", Deviation: 1e-6}, {Name: "beyond float32", Mean: 1e39}}
	},
	"pairs": func(c *sft.Config) {
		c.Task, c.InputWindow = config.Retrieval, &config.InputWindow{Length: 40, Policy: "head"}
	},
	"maximum of all": func(c *sft.Config) { c.Pooling = config.MaxPooling },
	"maximum of a sample": func(c *sft.Config) {
		c.Pooling, c.PoolingSamples,
			c.SamplerNoise = config.MaxPooling, 5, "always"
	},
	"pairs of maxima": func(c *sft.Config) {
		c.Task, c.Pooling,
			c.PoolingSamples = config.Retrieval, config.MaxPooling, 40
	},
	"positions":     func(c *sft.Config) { points(c, "x", "heat", "z", "y") },
	"normals, ones": func(c *sft.Config) { points(c, "nz", "ny", "nx", "z", "y", "x"); c.Input = config.OnesInput },
	"tags of points": func(c *sft.Config) {
		points(c, "x", "y", "z", "nx")
		c.Task, c.InputWindow, c.NormPosition = config.Tagging, &config.InputWindow{Length: 40, Policy: "head"}, "post"
	},
	"numbers of points": func(c *sft.Config) {
		points(c, "x", "y", "z")
		c.Task, c.NumLabels, c.Numbers = config.Regression, 2, []config.Number{{Name: "a", Mean: 5, Deviation: 3},
			{Name: "b", Deviation: 1}}
		c.Pooling, c.PoolingSamples = config.MaxPooling, 7
	},
	"sinusoids of features": func(c *sft.Config) { points(c, "x", "heat"); c.Relative = config.SinusoidRelation },
	"series": func(c *sft.Config) {
		points(c, "volts", "hectopascals", "constant")
		c.Relative, c.Convolutions = config.SinusoidRelation, []config.Convolution{{KernelSize: 3, Dilation: 2}}
		c.InputWindow, c.InputWindowTail = &config.InputWindow{Length: 40, Policy: "head"}, 11
		c.FeatureScales = []config.Number{{Name: "volts", Mean: 0.25, Deviation: 0.01},
			{Name: "hectopascals", Mean: 1013, Deviation: 250}, {Name: "constant", Mean: 1}}
	},
	"no relation of features": func(c *sft.Config) {
		points(c, "x", "y", "z")
		c.Relative, c.Convolutions = config.NoRelation, []config.Convolution{{KernelSize: 3, Dilation: 2}}
	},
	"nodes":       func(c *sft.Config) { nodes(c, "order", "length") },
	"plain edges": func(c *sft.Config) { nodes(c); c.Input = config.OnesInput },
	"tags of nodes": func(c *sft.Config) {
		nodes(c, "order")
		c.Task, c.InputWindow, c.Probability = config.Tagging,
			&config.InputWindow{Length: 40, Policy: "head"}, "softmax"
	},
	"maximum of nodes": func(c *sft.Config) {
		nodes(c, "order")
		c.Pooling, c.PoolingSamples, c.SamplerNoise = config.MaxPooling, 7, "always"
	},
	"edges without relation": func(c *sft.Config) { nodes(c, "order"); c.Relative = config.NoRelation },
	"n-grams of tokens": func(c *sft.Config) {
		c.NGrams = &config.NGrams{Units: ngram.Tokens, MinN: 1, MaxN: 2, Slots: 1 << 10, MinCount: 2, Dropout: 0.1}
	},
	"n-grams of pairs": func(c *sft.Config) {
		c.Task, c.InputWindow = config.Retrieval, &config.InputWindow{Length: 40, Policy: "head"}
		c.NGrams = &config.NGrams{Units: ngram.Tokens, MinN: 2, MaxN: 8, Slots: 1 << 12, MinCount: 1}
		c.Relative = "none"
	},
	"n-grams of bytes": func(c *sft.Config) {
		c.VocabSize, c.NormPosition = config.ByteVocabulary, "post"
		c.NGrams = &config.NGrams{Units: ngram.Bytes, MinN: 1, MaxN: 4, Slots: 1 << 20, MinCount: 2}
	},
	"n-grams of words": func(c *sft.Config) {
		c.VocabSize, c.PadTokenID = config.ByteVocabulary, new(int32(0))
		c.InputWindow = &config.InputWindow{Length: 40, Policy: "head"}
		c.NGrams = &config.NGrams{Units: ngram.Bytes, MinN: 3, MaxN: 6, MaxWords: 2, Slots: 1 << 14, MinCount: 2}
	},
	"n-grams of words, tail": func(c *sft.Config) {
		c.VocabSize, c.InputWindowTail = config.ByteVocabulary, 7
		c.InputWindow = &config.InputWindow{Length: 40, Policy: "head"}
		c.NGrams = &config.NGrams{Units: ngram.Bytes, MinN: 3, MaxN: 6, MaxWords: 2, Slots: 1 << 14, MinCount: 2}
	},
	"n-grams of words of pairs": func(c *sft.Config) {
		c.Task, c.VocabSize = config.Retrieval, config.ByteVocabulary
		c.NGrams = &config.NGrams{Units: ngram.Bytes, MinN: 8, MaxN: 8, MaxWords: 8, Slots: 1 << 10, MinCount: 1}
	},
	"distances of nodes": func(c *sft.Config) {
		nodes(c, "order")
		c.FeatureNames, c.Relative = []string{"z", "y", "x"}, config.DistanceRelation
	},
}

// mask changes c to a masked-token model.
func mask(c *sft.Config) {
	c.Task, c.VocabSize, c.NumLabels, c.MaskTokenID, c.MaskRate, c.MaskSpan = config.FillMask,
		6, 5, new(int32(5)), 0.2, 1
}

// small returns a configuration with odd sizes and a small vocabulary, so that scores tie.
func small() *sft.Config {
	return &sft.Config{
		ModelType: "sft",
		Task:      config.Classification,
		Inputs:    config.Inputs{VocabSize: 5, MaxLength: 1 << 20, Tokenizer: json.RawMessage(`{"type":"dna"}`)},
		Encoder: config.Encoder{HiddenSize: 21, NumLayers: 2, IntermediateSize: 29,
			NormPosition: "pre", LayerNormEps: 1e-5},
		Attention: config.Attention{NumHeads: 3, SinusoidDim: 10, SinusoidBase: 10000, Score: "maxout",
			Probability: "leaky_relu", Relative: "sinusoid_hadamard"},
		Sampler: config.Sampler{NumSampledTokens: 11, SamplerSeed: 1 << 40, SamplerNoise: "train"},
		Head:    config.Head{NumLabels: 3},
	}
}

// fresh returns a model without zero weights.
func fresh(t *testing.T, change func(*sft.Config)) *sft.Model {
	t.Helper()
	c := small()
	change(c)
	must.Succeed(t, c.Validate())
	m := sft.NewModel(c, 5)
	draw := rand.New(rand.NewPCG(1, 2))
	for _, p := range m.Parameters.List {
		for i := range m.Parameters.Slice(m.Weights, p) {
			m.Weights[p.Offset+i] += float32(0.2 * draw.NormFloat64())
		}
	}
	if n := c.NGrams; n != nil { // on average, use two thirds of the slots and keep three quarters of the cells
		m.NGrams = &config.NGramTable{Used: ngram.NewBitmap(n.Slots)}
		for slot := range uint32(n.Slots) {
			if draw.IntN(3) > 0 {
				ngram.Bitmap(m.NGrams.Used).Set(slot)
				for range c.HiddenSize {
					m.NGrams.Weights = append(m.NGrams.Weights, float32(0.5*draw.NormFloat64()))
				}
			}
		}
		if n.MinCount > 1 {
			m.NGrams.Kept = ngram.NewBitmap(ngram.Cells)
			for i := range m.NGrams.Kept {
				m.NGrams.Kept[i] = int32(draw.Uint32() | draw.Uint32())
			}
		}
	}
	return m
}

// points changes c to a model of points with these features.
func points(c *sft.Config, names ...string) {
	c.VocabSize, c.Tokenizer, c.FeatureNames, c.Relative = 0, json.RawMessage(`{"type":"none"}`),
		names, config.DistanceRelation
}

// nodes changes c to a model of graphs with these edge features.
func nodes(c *sft.Config, names ...string) {
	points(c, "mass", "charge", "ring")
	c.EdgeFeatureNames, c.Relative = append([]string{}, names...), config.EdgeRelation
}

// pieces are parts of texts: words in several scripts and forms, other characters, and bytes that
// are not valid UTF-8.
var pieces = append(strings.Split("a,The,GOOD,film,Été,好日本,Σίσυφος,İstanbul,é̂,٣२,x_1,don't,😀,ß", ","), " ", " ",
	" ", ", ", "\n", "\t\x1c",
	"\u00a0", "\u3000", "\u0085", "\xff", "\xe2\x82", "\xed\xa0\x80", "\x00", strings.Repeat("abCD", 15),
	strings.Repeat("loNG", 45),
	strings.Repeat("長い", 100))

// randomLines returns sequences of the given lengths, or pairs whose second sequence has about half
// the length. Features have few different values, so that some tokens are equal.
func randomLines(c *sft.Config, lengths []int) (lines []line) {
	draw := rand.New(rand.NewPCG(3, 4))
	sequence := func(n int) (tokens []int32) {
		if c.VocabSize == config.ByteVocabulary { // text, whose last character may be incomplete
			var text []byte
			for len(text) < n {
				text = append(text, pieces[draw.IntN(len(pieces))]...)
			}
			for _, b := range text[:n] {
				tokens = append(tokens, int32(b)+1)
				if c.PadTokenID == nil && draw.IntN(20) == 0 { // id 0 represents no byte
					tokens[len(tokens)-1] = 0
				}
			}
			return tokens
		}
		for range n {
			tokens = append(tokens, draw.Int32N(int32(c.VocabSize)))
		}
		return tokens
	}
	for i, n := range lengths {
		l := line{ID: i}
		switch {
		case c.HasFeatures():
			l.Features = numbers(draw, n, len(c.FeatureNames))
			if c.Edged() && n > 1 { // a graph of one node has no edges
				l.Edges = numbers(draw, 3*n, 2+len(c.EdgeFeatureNames))
				for _, edge := range l.Edges {
					edge[0], edge[1] = float32(draw.IntN(n)), float32(draw.IntN(n))
				}
				l.Edges = append(l.Edges, l.Edges[:n]...) // parallel edges
			}
		case c.Sequences() == 2:
			l.A, l.B = sequence(n), sequence(1+n/2)
		default:
			l.Tokens = sequence(n)
		}
		lines = append(lines, l)
	}
	return lines
}

// numbers returns rows of multiples of 0.5.
func numbers(draw *rand.Rand, rows, columns int) (out [][]float32) {
	for range rows {
		row := make([]float32, columns)
		for i := range row {
			row[i] = float32(draw.IntN(5)-2) / 2
		}
		out = append(out, row)
	}
	return out
}

// example converts a line of features to an example.
func (l line) example() seq.Example {
	e := seq.Example{Features: l.Features}
	for _, edge := range l.Edges {
		e.Edges = append(e.Edges, seq.Edge{Source: int32(edge[0]), Target: int32(edge[1]), Features: edge[2:]})
	}
	return e
}
