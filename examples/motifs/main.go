// Motifs generates DNA with hidden short motifs and their positions. Tagging, regression and
// multi-label models train on these data from scratch within minutes.
//
//	go run ./examples/motifs --out dna
//
// writes dna/sequences.fasta, dna/motifs.bed with a line for each occurrence, and
// dna/sequences.jsonl. A line of sequences.jsonl contains a sequence, the motifs that occur in the
// sequence and the number of their occurrences.
//
//	go run ./examples/motifs --genes --longest 10000 --out genes
//
// writes genes/sequences.fasta and genes/genes.bed: open reading frames of 300 to 3,000 bases, on both
// strands, among random bases.
//
// Bases are uniformly random. In a fraction --present of the sequences, 0 to --most copies of a
// motif replace bases. Each copy has up to --mismatches substituted bases. Then all windows are
// compared with all motifs, to include random occurrences: an occurrence is a window with at most
// --mismatches differences. If two occurrences overlap, only the occurrence with fewer
// differences counts, or the first one if both have equally many.
//
//	go run ./examples/motifs --classes --motifs 4 --shortest 80000 --longest 120000 --out dna4
//
// plants copies of one motif in each sequence. The line in sequences.jsonl names this motif as the
// class. If --length is a multiple of 4, motifs then contain each base equally often, so base
// frequencies do not depend on the class.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

const bases = "ACGT"

// rule contains the parameters of the generated sequences.
type rule struct {
	sequences, shortest, longest               int
	motifs, motifLength, mismatches, maxCopies int
	present, codonBias                         float64
	classes                                    bool
	seed                                       uint64
}

func main() {
	log.SetFlags(0)
	out := flag.String("out", "dna", "`folder` of the files")
	var r rule
	flag.IntVar(&r.sequences, "sequences", 2000, "number of sequences")
	flag.IntVar(&r.shortest, "shortest", 1000, "minimum length of a sequence, in bases")
	flag.IntVar(&r.longest, "longest", 5000, "maximum length of a sequence, in bases")
	flag.IntVar(&r.motifs, "motifs", 1, "number of motifs")
	flag.IntVar(&r.motifLength, "length", 12, "length of a motif, in bases")
	flag.IntVar(&r.mismatches, "mismatches", 2, "maximum number of bases of an occurrence that differ from the motif")
	flag.IntVar(&r.maxCopies, "most", 10, "maximum number of copies of a motif in a sequence")
	flag.Float64Var(&r.present, "present", 1,
		"fraction of the sequences that get copies of a motif, drawn for each motif")
	flag.BoolVar(&r.classes, "classes", false,
		"plant --most copies of one motif, the class, in each sequence; ignore --present")
	genes := flag.Bool("genes", false, "write genes instead of motifs")
	flag.Float64Var(&r.codonBias, "codon-bias", 0.8,
		"standard deviation of the logarithm of a codon's weight, with --genes")
	flag.Uint64Var(&r.seed, "seed", 1, "`seed` of all random numbers")
	flag.Parse()
	if err := r.check(); err != nil {
		log.Fatal(err)
	}
	write := r.write
	if *genes {
		write = r.writeGenes
	}
	if err := write(*out); err != nil {
		log.Fatal(err)
	}
}

func (r *rule) check() error {
	switch {
	case r.sequences < 1 || r.motifs < 1 || r.maxCopies < 0 || r.mismatches < 0:
		return fmt.Errorf("expected --sequences and --motifs of at least 1, --most and --mismatches of at least 0, "+
			"found %d, %d, %d and %d", r.sequences, r.motifs, r.maxCopies, r.mismatches)
	case r.motifLength <= r.mismatches:
		return fmt.Errorf("--length: expected more than --mismatches (%d), found %d", r.mismatches, r.motifLength)
	case !(r.present >= 0 && r.present <= 1):
		return fmt.Errorf("--present: expected a fraction from 0 to 1, found %v", r.present)
	case r.shortest < r.motifLength || r.longest < r.shortest:
		return fmt.Errorf("expected %d ≤ --shortest ≤ --longest, found %d and %d", r.motifLength, r.shortest, r.longest)
	}
	return nil
}

// occurrence is a window of a sequence that differs from a motif in at most rule.mismatches bases.
type occurrence struct{ start, motif, differences int }

// sequence is a line of sequences.jsonl.
type sequence struct {
	ID       string   `json:"id"`
	Sequence string   `json:"sequence"`
	Motifs   []string `json:"motifs"`
	Count    int      `json:"count"`
	Class    string   `json:"class,omitempty"` // name of the planted motif
}

// write draws all sequences, writes the files in dir and prints the motifs.
func (r *rule) write(dir string) (err error) {
	var motifs [][]byte
	err = writeFiles(dir, []string{"sequences.fasta", "motifs.bed", "sequences.jsonl"}, func(to []io.Writer) {
		motifs = r.draw(rand.New(rand.NewPCG(r.seed, 0)), to[0], to[1], to[2])
	})
	if err != nil {
		return err
	}
	for i, motif := range motifs {
		fmt.Printf("%s is %s\n", motifName(i), motif)
	}
	return nil
}

// writeGenes draws sequences with genes and writes the files in dir.
func (r *rule) writeGenes(dir string) error {
	return writeFiles(dir, []string{"sequences.fasta", "genes.bed"}, func(to []io.Writer) {
		r.drawGenes(rand.New(rand.NewPCG(r.seed, 0)), to[0], to[1])
	})
}

// writeFiles creates files in dir and calls write with their writers.
func writeFiles(dir string, names []string, write func(to []io.Writer)) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var files []*os.File
	var buffers []*bufio.Writer
	var to []io.Writer
	for _, name := range names {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		b := bufio.NewWriter(f)
		files, buffers, to = append(files, f), append(buffers, b), append(to, b)
	}
	write(to)
	for i, b := range buffers {
		if err := errors.Join(b.Flush(), files[i].Close()); err != nil {
			return err
		}
	}
	return nil
}

func motifName(i int) string { return fmt.Sprintf("motif%d", i+1) }

// draw generates sequences, writes them with their occurrences, and returns the motifs.
func (r *rule) draw(random *rand.Rand, fasta, bed, lines io.Writer) (motifs [][]byte) {
	for range r.motifs {
		motif := randomBases(random, r.motifLength)
		if r.classes {
			motif = shuffledBases(random, r.motifLength)
		}
		motifs = append(motifs, motif)
	}
	encoder := json.NewEncoder(lines)
	for i := range r.sequences {
		text := randomBases(random, r.shortest+random.IntN(r.longest-r.shortest+1))
		class := ""
		if r.classes {
			motif := random.IntN(len(motifs))
			for range r.maxCopies {
				r.plant(random, text, motifs[motif])
			}
			class = motifName(motif)
		} else {
			r.plantSome(random, text, motifs)
		}
		s := sequence{ID: fmt.Sprintf("s%d", i+1), Sequence: string(text), Motifs: []string{}, Class: class}
		fmt.Fprintf(fasta, ">%s\n%s\n", s.ID, text)
		for _, o := range r.find(text, motifs) {
			name := motifName(o.motif)
			fmt.Fprintf(bed, "%s\t%d\t%d\t%s\n", s.ID, o.start, o.start+r.motifLength, name)
			if s.Count++; !slices.Contains(s.Motifs, name) {
				s.Motifs = append(s.Motifs, name)
			}
		}
		slices.Sort(s.Motifs)
		encoder.Encode(s) // writes to a buffer; Flush returns the error
	}
	return motifs
}

func randomBases(random *rand.Rand, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = bases[random.IntN(len(bases))]
	}
	return out
}

// shuffledBases returns n bases in random order, each base equally often if n is a multiple of 4.
func shuffledBases(random *rand.Rand, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = bases[i%len(bases)]
	}
	random.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// plantSome plants 0 to r.maxCopies copies of each motif with the probability r.present.
func (r *rule) plantSome(random *rand.Rand, text []byte, motifs [][]byte) {
	for _, motif := range motifs {
		copies := random.IntN(r.maxCopies + 1)
		if random.Float64() >= r.present {
			copies = 0
		}
		for range copies {
			r.plant(random, text, motif)
		}
	}
}

// plant replaces bases at a random position by a copy of the motif with up to r.mismatches
// mismatches.
func (r *rule) plant(random *rand.Rand, text, motif []byte) {
	at := random.IntN(len(text) - len(motif) + 1)
	copy(text[at:], motif)
	for range random.IntN(r.mismatches + 1) {
		text[at+random.IntN(len(motif))] = bases[random.IntN(len(bases))]
	}
}

// find returns the occurrences in the order of their positions, without overlaps.
func (r *rule) find(text []byte, motifs [][]byte) (found []occurrence) {
	var all []occurrence
	for at := range len(text) - r.motifLength + 1 {
		for i, motif := range motifs {
			differences := 0
			for j, base := range motif {
				if text[at+j] != base {
					differences++
				}
			}
			if differences <= r.mismatches {
				all = append(all, occurrence{at, i, differences})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b occurrence) int { return cmp.Compare(a.differences, b.differences) })
	for _, o := range all {
		overlaps := func(f occurrence) bool { return max(f.start-o.start, o.start-f.start) < r.motifLength }
		if !slices.ContainsFunc(found, overlaps) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b occurrence) int { return cmp.Compare(a.start, b.start) })
	return found
}
