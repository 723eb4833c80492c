package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestGenes checks that each interval is an open reading frame of its strand, that intervals do not
// overlap, and that a second draw with the same seed is equal.
func TestGenes(t *testing.T) {
	r := rule{sequences: 30, shortest: 2000, longest: 9000, codonBias: 0.8, seed: 3}
	draw := func() (fasta, bed string) {
		var f, b bytes.Buffer
		r.drawGenes(rand.New(rand.NewPCG(r.seed, 0)), &f, &b)
		return f.String(), b.String()
	}
	fasta, bed := draw()
	if again, same := draw(); again != fasta || same != bed {
		t.Error("two draws with the same seed differ")
	}
	texts := map[string]string{}
	for record := range strings.SplitSeq(strings.TrimPrefix(fasta, ">"), ">") {
		name, text, _ := strings.Cut(record, "\n")
		texts[name] = strings.TrimSpace(text)
	}
	ends, strands := map[string]int{}, map[string]int{}
	for line := range strings.Lines(bed) {
		var name, kind, score, strand string
		var start, end int
		if _, err := fmt.Sscan(line, &name, &start, &end, &kind, &score, &strand); err != nil {
			t.Fatal(err)
		}
		gene := []byte(texts[name][start:end])
		if strand == "-" {
			reverseComplement(gene)
		}
		var codons []string
		for codon := range slices.Chunk(gene, 3) {
			codons = append(codons, string(codon))
		}
		stop := slices.IndexFunc(codons, func(c string) bool { return slices.Contains(stopCodons, c) })
		if n := end - start; n < shortestGene || n > longestGene || n%3 != 0 || codons[0] != "ATG" ||
			stop != len(codons)-1 || start < ends[name] {
			t.Errorf("%s: %d bases from %q, the first stop codon has the index %d",
				strings.TrimSpace(line), n, codons[0], stop)
		}
		ends[name] = end
		strands[strand]++
	}
	if len(texts) != r.sequences || strands["+"] < 10 || strands["-"] < 10 || len(strands) != 2 {
		t.Errorf("%d sequences, genes per strand %v; expected %d sequences and at least 10 genes on + and on -",
			len(texts), strands, r.sequences)
	}
}
