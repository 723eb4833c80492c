package sft

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// maxFrequency is the highest frequency of Fourier embeddings, in radians over the range of levels:
// its period is about a tenth of the range.
const maxFrequency = 64

// FourierEmbeddings replaces initial embeddings by embeddings of levels. Token v of a vocabulary of
// V is the level t = v/(V−1), and its embedding is
//
//	√2·sin(ω_i·t) in channel 2i and √2·cos(ω_i·t) in channel 2i+1,
//
// with frequencies ω_i from 1 to 64 in geometric progression. Like normal embeddings they have mean
// square 1. Neighbouring gray values, or samples of sound, then start with similar embeddings. Otherwise a
// model must learn the meaning of each level separately.
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
		angle := math.Pow(maxFrequency, ratio) * float64(level) / float64(max(1, levels-1))
		if e%channels%2 == 0 {
			x[e] = float32(math.Sqrt2 * math.Sin(angle))
		} else {
			x[e] = float32(math.Sqrt2 * math.Cos(angle))
		}
	}
}

// CodebookEmbeddings replaces initial embeddings by embeddings of vectors. Token v represents row v of
// the codebook [V, n], such as a spectrum of sound, and its embedding is
//
//	Σ_j z_vj·r_j / √n,
//
// where z are the standardised columns of the codebook, and each r_j [hidden] is a normal vector that
// depends only on the seed and j. Like normal embeddings they have mean square 1 on average.
// Distances between embeddings are approximately proportional to distances between the standardised
// vectors (Johnson and Lindenstrauss 1984), so that similar vectors start with similar embeddings.
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
		if square <= 1e-12*mean*mean { // the column is constant up to rounding
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
