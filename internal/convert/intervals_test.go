package convert

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestIntervalMemory checks that intervals do not keep the lines of their file in memory.
func TestIntervalMemory(t *testing.T) {
	const lines, long = 200, 50_000
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "s%[1]d\t.\tgene%[1]d\t1\t2\t.\t+\t.\t%[2]s\n", i, strings.Repeat("x", long))
	}
	path := writeFile(t, "x.gff", text.String())
	text.Reset()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	v, err := readIntervals(path, nil, false)
	if err != nil || len(v.bySequence) != lines {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > lines*long/4 {
		t.Errorf("got %d bytes for %d intervals, want less than a quarter of the file", grown, lines)
	}
	runtime.KeepAlive(v)
}

// TestStrands checks that the name of an interval ends with its strand, for BED and GFF, and that
// the error for an invalid strand column has its location.
func TestStrands(t *testing.T) {
	for name, text := range map[string]string{
		"x.bed": "s\t0\t2\tgene\t0\t+\ns\t2\t4\tgene\t0\t-\ns\t4\t6\tgene\t0\t.\ns\t6\t8\tgene\n",
		"x.gff": "s\t.\tgene\t1\t2\t.\t+\t.\tx\ns\t.\tgene\t3\t4\t.\t-\t.\tx\ns\t.\tgene\t5\t6\t.\t?\t.\tx\ns\t.\tgene\t7\t8\n",
	} {
		for strands, want := range map[bool]string{true: "gene(+) gene(-) gene gene", false: "gene gene gene gene"} {
			v, err := readIntervals(writeFile(t, name, text), []string{"gene"}, strands)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, x := range v.bySequence["s"] {
				kinds = append(kinds, x.kind)
			}
			if got := strings.Join(kinds, " "); got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
	}
	_, err := readIntervals(writeFile(t, "y.bed", "s\t0\t2\tgene\t0\t+\ns\t2\t4\tgene\t0\tplus\n"), nil, true)
	if err == nil || !strings.Contains(err.Error(), `y.bed:2: column 6, the strand: expected +, - or ., found "plus"`) {
		t.Errorf("got error %v, want one for the strand in line 2", err)
	}
}

// TestMissingStrands checks that a file without any strand is refused, and that a file with some
// missing strands gets a note.
func TestMissingStrands(t *testing.T) {
	_, err := readIntervals(writeFile(t, "x.bed", "s\t0\t2\tgene\t0\ns\t2\t4\tgene\t+\n"), nil, true)
	if err == nil || !strings.Contains(err.Error(),
		"x.bed: --strands: expected + or - in column 6, found no strand in 2 intervals") {
		t.Errorf("got error %v, want one for no strand in 2 intervals", err)
	}
	v, err := readIntervals(writeFile(t, "x.bed", "s\t0\t2\tgene\t0\t.\ns\t2\t4\tgene\t0\t+\n"), nil, true)
	const want = "x.bed: 1 of 2 intervals have no strand: their labels have no suffix (+) or (-)"
	if err != nil || !strings.HasSuffix(v.strandNote(), want) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("got note %q, want one that ends in %q", v.strandNote(), want)
	}
}

// TestAmbiguousSequence checks that an interval is an error if its sequence name occurs twice, and that
// duplicate names without intervals are allowed.
func TestAmbiguousSequence(t *testing.T) {
	fasta := writeFile(t, "x.fa", ">chr1\nACGTACGTA\n>chr2\nACGT\n>chr1\nACGTACGTAA\n")
	set := func(bed string) Options {
		return tagOptions(t, fasta, func(o *Options) {
			o.Text, o.Tokenizer, o.Intervals = "sequence", []byte(`{"type":"dna"}`), writeFile(t, "x.bed", bed)
		})
	}
	_, _, err := Convert(t.Context(), set("chr2\t0\t2\tg\nchr1\t1\t4\tg\n"))
	if err == nil || !strings.Contains(err.Error(),
		`x.bed:2: expected one sequence named "chr1", found 2, at `+fasta+":1, "+fasta+":5") {
		t.Errorf("got error %v, want one for the two sequences chr1", err)
	}
	mustConvert(t, set("chr2\t0\t2\tg\n"))
}
