package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// TestArchitectureFlags checks that each flag sets its key of config.json and changes no other key.
func TestArchitectureFlags(t *testing.T) {
	keys := func(m *sft.Config) (out map[string]any) {
		text, err := json.Marshal(m)
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		must.Succeed(t, err)
		return out
	}
	for _, f := range slices.Concat(architectureFlags, maskFlags, regressionFlags) {
		m, want := sft.Config{}, keys(&sft.Config{})
		value := map[bool]string{true: "true", false: "3"}[fmt.Sprintf("%T", configValue(&m, f.key)) == "*bool"]
		of := lra.Custom(&seq.Manifest{})
		if f.of == masksKind {
			of = lra.Pretrain(&seq.Manifest{})
		}
		app := &cli.App{Flags: newArchitectureFlags(of, []architectureFlag{f}, ""), Action: func(c *cli.Context) error {
			return applyTrainFlag(c, f.name, &train.Settings{}, &m)
		}}
		must.Succeed(t, app.Run([]string{"train", "--" + f.name + "=" + value}))
		want[f.key] = value
		equal(t, fmt.Sprint(keys(&m)), fmt.Sprint(want), f.name, want)
	}
}
