package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
)

// Genes are open reading frames (ATG, codons and a stop codon) on either strand, with random bases
// between them. Codon usage differs between organisms, so it is random as well: the weight of a codon is
// exp(bias·z), with z from the standard normal distribution. Open reading frames that occur by chance
// have no label.
const (
	shortestGene = 300  // bases, with the start codon and the stop codon
	longestGene  = 3000 // bases
	maxGap       = 2000 // maximum number of bases between two genes
)

// usage contains the 61 coding codons and the cumulative sums of their weights.
type usage struct {
	codons     []string
	cumulative []float64
}

var stopCodons = []string{"TAA", "TAG", "TGA"}

func drawUsage(random *rand.Rand, bias float64) *usage {
	u, sum := &usage{}, 0.0
	for i := range 64 {
		codon := string([]byte{bases[i/16], bases[i/4%4], bases[i%4]})
		if slices.Contains(stopCodons, codon) {
			continue
		}
		sum += math.Exp(bias * random.NormFloat64())
		u.codons, u.cumulative = append(u.codons, codon), append(u.cumulative, sum)
	}
	return u
}

// gene draws an open reading frame of n bases, a multiple of 3.
func (u *usage) gene(random *rand.Rand, n int) []byte {
	out := []byte("ATG")
	for len(out) < n-3 {
		at, _ := slices.BinarySearch(u.cumulative, random.Float64()*u.cumulative[len(u.cumulative)-1])
		out = append(out, u.codons[at]...)
	}
	return append(out, stopCodons[random.IntN(len(stopCodons))]...)
}

// reverseComplement replaces text by its reverse complement, the sequence of the other strand.
func reverseComplement(text []byte) {
	slices.Reverse(text)
	for i, base := range text {
		text[i] = map[byte]byte{'A': 'T', 'C': 'G', 'G': 'C', 'T': 'A'}[base]
	}
}

// drawGenes writes sequences, and a BED line for each gene with its strand.
func (r *rule) drawGenes(random *rand.Rand, fasta, bed io.Writer) {
	u := drawUsage(random, r.codonBias)
	for i := range r.sequences {
		text := randomBases(random, r.shortest+random.IntN(r.longest-r.shortest+1))
		for at := 0; ; {
			n := 3 * (shortestGene/3 + random.IntN((longestGene-shortestGene)/3+1))
			if at += random.IntN(maxGap + 1); at+n > len(text) {
				break
			}
			gene, strand := u.gene(random, n), '+'
			if random.IntN(2) == 1 {
				reverseComplement(gene)
				strand = '-'
			}
			copy(text[at:], gene)
			fmt.Fprintf(bed, "s%d\t%d\t%d\tgene\t0\t%c\n", i+1, at, at+n, strand)
			at += n
		}
		fmt.Fprintf(fasta, ">s%d\n%s\n", i+1, text)
	}
}
