package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDraw checks that each interval differs from its motif in at most r.mismatches bases, that each line
// has as many occurrences and motifs as the intervals of its sequence, and that a second draw with the
// same seed has the same sequences.
func TestDraw(t *testing.T) {
	r := rule{sequences: 40, shortest: 60, longest: 200, motifs: 2, motifLength: 8, mismatches: 1,
		maxCopies: 3, present: 0.7, seed: 3}
	draw := func() (motifs [][]byte, fasta, bed, lines string) {
		var f, b, l bytes.Buffer
		motifs = r.draw(rand.New(rand.NewPCG(r.seed, 0)), &f, &b, &l)
		return motifs, f.String(), b.String(), l.String()
	}
	motifs, fasta, bed, lines := draw()
	if _, again, _, _ := draw(); again != fasta {
		t.Error("two draws with the same seed differ")
	}
	texts, counts, known := map[string]string{}, map[string]int{}, map[string]map[string]bool{}
	for record := range strings.SplitSeq(strings.TrimPrefix(fasta, ">"), ">") {
		name, text, _ := strings.Cut(record, "\n")
		texts[name] = strings.TrimSpace(text)
		known[name] = map[string]bool{}
	}
	for line := range strings.Lines(bed) {
		var name, motif string
		var start, end, number int
		if _, err := fmt.Sscan(line, &name, &start, &end, &motif); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscanf(motif, "motif%d", &number); err != nil {
			t.Fatal(err)
		}
		differences := 0
		for i, base := range motifs[number-1] {
			if texts[name][start+i] != base {
				differences++
			}
		}
		if end-start != r.motifLength || differences > r.mismatches {
			t.Errorf("%s: %d differences, expected at most %d in %d bases", strings.TrimSpace(line), differences,
				r.mismatches, r.motifLength)
		}
		counts[name]++
		known[name][motif] = true
	}
	rows := 0
	for line := range strings.Lines(lines) {
		var s sequence
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		rows++
		if s.Sequence != texts[s.ID] || s.Count != counts[s.ID] || len(s.Motifs) != len(known[s.ID]) {
			t.Errorf("%s: %d occurrences of %q, the intervals have %d of %v", s.ID, s.Count, s.Motifs,
				counts[s.ID], known[s.ID])
		}
	}
	if rows != r.sequences || len(bed) == 0 {
		t.Errorf("%d rows, expected one for each sequence, and intervals", rows)
	}
}

// TestClasses checks that the most frequent motif of a sequence is its class, and that motifs contain
// each base equally often.
func TestClasses(t *testing.T) {
	r := rule{sequences: 40, shortest: 800, longest: 1000, motifs: 3, motifLength: 16, mismatches: 2,
		maxCopies: 9, classes: true, seed: 3}
	var fasta, bed, lines bytes.Buffer
	motifs := r.draw(rand.New(rand.NewPCG(r.seed, 0)), &fasta, &bed, &lines)
	for _, motif := range motifs {
		for _, base := range []byte(bases) {
			if n := bytes.Count(motif, []byte{base}); n != r.motifLength/len(bases) {
				t.Errorf("motif %s has %d of base %c, expected %d", motif, n, base, r.motifLength/len(bases))
			}
		}
	}
	copies := map[string]map[string]int{}
	for line := range strings.Lines(bed.String()) {
		fields := strings.Fields(line)
		if copies[fields[0]] == nil {
			copies[fields[0]] = map[string]int{}
		}
		copies[fields[0]][fields[3]]++
	}
	classes := map[string]int{}
	for line := range strings.Lines(lines.String()) {
		var s sequence
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		classes[s.Class]++
		for name, n := range copies[s.ID] {
			if own := copies[s.ID][s.Class]; name != s.Class && n >= own {
				t.Errorf("%s: got %d copies of %s, want fewer than the %d of its class %s", s.ID, n, name, own, s.Class)
			}
		}
		if copies[s.ID][s.Class] == 0 {
			t.Errorf("%s has no copy of its class %q", s.ID, s.Class)
		}
	}
	if len(classes) != r.motifs {
		t.Errorf("classes %v, expected %d", classes, r.motifs)
	}
}
