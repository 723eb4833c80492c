package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestBasesOfBED: places in BED count bases, on the way in and out: white space within a sequence is
// no base, in FASTA and in other tables.
func TestBasesOfBED(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	var fasta, bed strings.Builder
	for i := range 40 { // no base is outside of a gene, so that each is in a predicted span
		fmt.Fprintf(&fasta, ">s%d\tfirst\nACGTACGTAC GTACG\tTACG%s\n", i, strings.Repeat("A", i%7))
		fmt.Fprintf(&bed, "s%d\t0\t%d\tgene\n", i, 19+i%7)
	}
	writeText(t, in("a.fa"), fasta.String())
	writeText(t, in("a.bed"), bed.String())
	done(t, "", "data", "convert", "--from", in("a.fa"), "--intervals", in("a.bed"), "--to", in("data"), "--split", "0.6,0.2,0.2", "--no-baselines")
	runCustom(t, in("data"), in("model"), "--steps", "2", "--device", "cpu")
	predicted := func(name, text string) string {
		t.Helper()
		writeText(t, in(name), text)
		done(t, "", "predict", "--model", in("model"), "--input", in(name), "--text", "sequence", "--id", "id", "--output", in(name+".bed"))
		return readText(t, in(name+".bed"))
	}
	want := predicted("plain.fa", ">s\nACGTACGTACGTACGTACG\n")
	if lines := strings.Split(strings.TrimSpace(want), "\n"); !strings.HasPrefix(want, "s\t0\t") || !strings.HasSuffix(lines[len(lines)-1], "\t19\tgene") {
		t.Fatalf("%q", want)
	}
	for name, text := range map[string]string{
		"spaces.fa": ">s x\nACGTACGTAC GTACGTACG\n", "tabs.fa": "\n>s\tx\nACG\tTACGTACG\n TACGTACG\n",
		"a.csv": "id,sequence\ns,\"ACGTACGTAC GTA\nCGTACG\"\n", "a.jsonl": `{"id":"s","sequence":"ACGT ACGT\tACGTACGTACG"}` + "\n",
	} {
		if got := predicted(name, text); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
