package main

import (
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/sft"
)

// TestAdviceCommand: the commands that advice names are the run's own with other flags, wherever it
// was written to.
func TestAdviceCommand(t *testing.T) {
	for out, dir := range map[string]string{
		"runs/a-again":                     "runs/a",
		"runs/a-again/seed-1":              "runs/a/seed-1",
		"'/my runs/it'\\''s-again/seed-1'": "/my runs/it's/seed-1",
	} {
		config := &sft.Config{HiddenSize: 8, NumLayers: 2, NumSampledTokens: 16}
		p := &provenance.Provenance{Command: "sftseq train custom --seed 1 --data d --hidden 8 --out " + out + " --steps 6"}
		must.Succeed(t, p.Store(config))
		want := "; try: sftseq train custom --seed 1 --data d --steps 6 --hidden 16 --layers 3 --k 32 --out " + shellQuote(dir+"-wide") +
			"; or: sftseq train custom --data d --hidden 8 --steps 6 --seeds 1,2,3 --out " + shellQuote(dir+"-three")
		if got := advice(config, dir, 0); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
