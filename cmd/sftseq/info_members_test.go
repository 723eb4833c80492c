package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestInfoMembers checks that info prints the n-grams and the memory of a linear model, without the
// keys of other models, such as hidden_size. For a fusion, info prints the members with their weights and losses.
func TestInfoMembers(t *testing.T) {
	data, out := proseData(t, 100), filepath.Join(t.TempDir(), "run")
	trained, progress := exits(t, exitOK, "", "train", "custom", "--data", data, "--out", out, "--steps", "2",
		"--seed", "1",
		"--hidden", "8", "--layers", "1", "--device", "cpu")
	contains(t, trained+progress, "kept: the sum of linear, lexical (model in "+out+")\n")
	linear := filepath.Join(out, "linear")
	output := succeed(t, "", "info", "--model", linear)
	contains(t, output, `"slots": 4194304`, "\nlinear model of n-grams of 1 to 2 tokens\nfeatures  ",
		" of 4194304 slots, 1 weight each\nmemory    ",
		`"seed": 1`)
	notContains(t, output, "hidden_size", "learning_rate")
	i := decode[linearInfo](t, succeed(t, "", "info", "--json", "--model", linear))
	equal(t, i.Memory, 8*int64(i.Features)+4194304/4)
	if i.Features < 100 || i.Config.NGrams.MaxN != 2 {
		t.Errorf("unexpected info: %+v", i)
	}
	output = succeed(t, "", "info", "--model", out)
	contains(t, output, "weighted sum of the logits of 2 models",
		"more about a member: sftseq info --model "+filepath.Join(out, "lexical"))
	if n := strings.Count(output, "\n"); n > 10 {
		t.Errorf("%d lines, want at most 10: %s", n, output)
	}
	f := decode[fusionInfo](t, succeed(t, "", "info", "--json", "--model", out))
	if m := f.Members; len(m) != 2 || m[0].Type != config.LinearType ||
		m[0].Parameters != i.Features+1 || m[1].Name != "lexical" {
		t.Errorf("unexpected fusion: %+v", f)
	}
	equal(t, f.Config.Loss, must.Get(sft.ReadFusion(out))(t).Loss)
	refuse(t, exitError, "choose one of them, such as --model "+filepath.Join(out, "lexical")+" (linear, lexical)", "",
		"serve", "--model", out, "--index", filepath.Join(t.TempDir(), "index"))
	for want, dir := range map[string]string{"--cluster: " + out +
		": expected a model, found a folder of 2 models": out,
		"--cluster: " + sft.ErrLinear.Error(): linear} {
		refuse(t, exitError, want, "", "info", "--model", dir, "--cluster", "4,10Gbit")
	}
}
