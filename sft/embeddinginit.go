package sft

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// finestLevels is the highest frequency of Fourier embeddings, in radians over all levels:
// a tenth of them is one period.
const finestLevels = 64

// FourierEmbeddings replaces the embeddings of fresh weights by those of levels: token v of
// a vocabulary of V is the level t = v/(V−1), and its embedding is
//
//	√2·sin(ω_i·t) in channel 2i and √2·cos(ω_i·t) in channel 2i+1,
//
// with frequencies ω_i from 1 to 64 in equal ratios: of mean square 1, as normal ones. So
// neighbouring gray values, or samples of sound, begin with almost the same embedding, where
// otherwise a model must learn of each level what it is.
//
// Source: Tancik et al., "Fourier Features Let Networks Learn High Frequency Functions in
// Low Dimensional Domains", NeurIPS 2020.
func (m *Model) FourierEmbeddings() {
	p, _ := m.Parameters.Lookup("embed.weight")
	levels, channels := p.Shape[0], p.Shape[1]
	x := m.Parameters.Slice(m.Weights, p)
	for e := range x {
		level, pair := e/channels, e%channels/2
		ratio := float64(pair) / float64(max(1, (channels-1)/2))
		angle := math.Pow(finestLevels, ratio) * float64(level) / float64(max(1, levels-1))
		if e%channels%2 == 0 {
			x[e] = float32(math.Sqrt2 * math.Sin(angle))
		} else {
			x[e] = float32(math.Sqrt2 * math.Cos(angle))
		}
	}
}

// CodebookEmbeddings replaces the embeddings of fresh weights by those of vectors: token v
// stands for row v of the codebook [V, n], such as a spectrum of sound, and its embedding is
//
//	Σ_j z_vj·r_j / √n,
//
// where z are the codebook's columns less their mean and over their standard deviation,
// and each r_j [hidden] is normal, a function of the seed and of j: of mean square 1 in the
// mean, as normal embeddings. Distances between embeddings are so those between the
// vectors, nearly (Johnson and Lindenstrauss 1984), and tokens that sound alike begin alike.
func (m *Model) CodebookEmbeddings(codebook []float32, seed uint64) error {
	at := slices.IndexFunc(m.Parameters.List, func(p config.Parameter) bool { return p.Name == "embed.weight" })
	p := m.Parameters.List[at]
	tokens, channels := p.Shape[0], p.Shape[1]
	if len(codebook) == 0 || len(codebook)%tokens != 0 {
		return fmt.Errorf("codebook: expected a vector for each of %d tokens, found %d numbers", tokens, len(codebook))
	}
	n := len(codebook) / tokens
	normal := model.DrawsOf(seed, at).Normal
	x := m.Parameters.Slice(m.Weights, p)
	clear(x)
	for j := range n {
		mean, square := 0.0, 0.0
		for v := range tokens {
			mean += float64(codebook[v*n+j]) / float64(tokens)
		}
		for v := range tokens {
			d := float64(codebook[v*n+j]) - mean
			square += d * d / float64(tokens)
		}
		if square <= 1e-12*mean*mean { // a column that says nothing, but for rounding
			continue
		}
		scale := 1 / math.Sqrt(float64(n)*square)
		for c := range channels {
			r := normal(j*channels+c) * scale
			for v := range tokens {
				x[v*channels+c] += float32((float64(codebook[v*n+j]) - mean) * r)
			}
		}
	}
	return nil
}
