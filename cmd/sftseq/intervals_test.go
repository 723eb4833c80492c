package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestBasesOfBED checks that positions in BED files count bases, in input and output. White space
// within a sequence is not a base, in FASTA and in other tables.
func TestBasesOfBED(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	var fasta, bed strings.Builder
	for i := range 40 { // every base is in a gene, and therefore in a predicted span
		fmt.Fprintf(&fasta, ">s%d\tfirst\nACGTACGTAC GTACG\tTACG%s\n", i, strings.Repeat("A", i%7))
		fmt.Fprintf(&bed, "s%d\t0\t%d\tgene\n", i, 19+i%7)
	}
	writeText(t, in("a.fa"), fasta.String())
	writeText(t, in("a.bed"), bed.String())
	done(t, "", "data", "convert", "--from", in("a.fa"), "--intervals", in("a.bed"), "--to", in("data"), "--split",
		"0.6,0.2,0.2", "--no-baselines")
	runCustom(t, in("data"), in("model"), "--steps", "2", "--device", "cpu")
	predicted := func(name, text string) string {
		t.Helper()
		writeText(t, in(name), text)
		done(t, "", "predict", "--model", in("model"), "--input", in(name), "--text", "sequence", "--id", "id",
			"--output", in(name+".bed"))
		return readText(t, in(name+".bed"))
	}
	want := predicted("plain.fa", ">s\nACGTACGTACGTACGTACG\n")
	if lines := strings.Split(strings.TrimSpace(want), "\n"); !strings.HasPrefix(want, "s\t0\t") ||
		!strings.Contains(lines[len(lines)-1], "\t19\tgene\t") || !strings.HasSuffix(want, "\t.\n") {
		t.Fatalf("got BED lines %q, want spans from base 0 to base 19", want)
	}
	for name, text := range map[string]string{
		"spaces.fa": ">s x\nACGTACGTAC GTACGTACG\n", "tabs.fa": "\n>s\tx\nACG\tTACGTACG\n TACGTACG\n",
		"a.csv":   "id,sequence\ns,\"ACGTACGTAC GTA\nCGTACG\"\n",
		"a.jsonl": `{"id":"s","sequence":"ACGT ACGT\tACGTACGTACG"}` + "\n",
	} {
		if got := predicted(name, text); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestMarkedEndsOfData checks that train warns if the tags of a data set, as older versions wrote them,
// mark the ends of spans.
func TestMarkedEndsOfData(t *testing.T) {
	dir := t.TempDir()
	for name, tags := range map[string][]string{"bioes": {"O", "B-X", "E-X"}, "bio": {"O", "B-X", "I-X"}} {
		b := must.Get(seq.CreateDataset(filepath.Join(dir, name), seq.Spec{Task: seq.Tagging, Name: name, VocabSize: 9,
			LabelNames: tags, Tokenizer: []byte(`{"type":"ids","vocab":9}`)}, false))(t)
		for _, split := range []string{"train", "val"} {
			w := must.Get(b.Split(split))(t)
			for range 4 {
				must.Succeed(t, w.Write(seq.Example{A: []int32{1, 2, 3}, Label: seq.NoLabel, Labels: []int32{1, 2, 0}}))
			}
			must.Succeed(t, w.Close())
		}
		must.Get(b.Finish(nil))(t)
		_, output := exits(t, exitOK, "", "train", "custom", "--members", "sft", "--data",
			filepath.Join(dir, name), "--out",
			filepath.Join(dir, name+"-run"), "--steps", "1", "--device", "cpu")
		if strings.Contains(output, "mark the ends of spans (BIOES, BILOU)") != (name == "bioes") {
			t.Errorf("%s: got output %s, want the warning about the ends of spans only for bioes", name, output)
		}
	}
}
