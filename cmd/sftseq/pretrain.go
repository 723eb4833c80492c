package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/tokenizers"
)

func pretrainCommand() *cli.Command {
	return &cli.Command{
		Name:      "pretrain",
		Usage:     "train a model on unlabelled sequences, to predict masked tokens",
		ArgsUsage: "DATA",
		UsageText: `sftseq pretrain DATA [flags]

Example: sftseq data convert --from logs.jsonl --to data/logs --text line
         sftseq pretrain data/logs --out runs/pretrained
         sftseq data convert --from labelled.csv --to data/labelled --text line --label fault \
             --tokenizer from:runs/pretrained
         sftseq train custom --data data/labelled --init-from runs/pretrained --out runs/faults`,
		Description: `Trains on the data set DATA without its labels. The data determine the values of flags without a
printed default, such as --lr and --layers. Fine-tune the model with train --init-from, compute embeddings with embed or
serve, and fill masks with predict --fill. More: docs/pretraining.md, docs/training.md`,
		Flags:  pretrainFlags(),
		Action: onAllRanks(pretrain),
	}
}

// maskFlags are the flags of a masked-token model. Each sets a key of config.json.
var maskFlags = []architectureFlag{
	{"mask-rate", "mask_rate", "mask a `FRACTION` of the tokens", trainingGroup, masksKind},
	{"mask-span", "mask_span", "mask spans of `N` tokens on average", trainingGroup, masksKind},
	{"tie-embeddings", "tie_embeddings", "predict tokens by their own embeddings, without an output layer",
		advancedModel, masksKind},
}

// pretrainFlags returns the flags of train that apply without labels, and the mask flags.
func pretrainFlags() []cli.Flag {
	flags := append(trainFlags(lra.Pretrain(&seq.Manifest{})), maskTargetsFlag())
	findFlag(flags, "preset").(*cli.StringFlag).Usage += ", or another preset of the data's task"
	return flags
}

// maskTargetsFlag returns the flag that selects the targets of a masked-token model.
func maskTargetsFlag() cli.Flag {
	return &cli.StringFlag{Name: "mask-targets", Category: trainingGroup,
		DefaultText: fmt.Sprintf("spectra:%d for audio samples, otherwise tokens", lra.SpectrumNames),
		Usage:       "predict masked tokens, or spectra:N: the nearest of N learned audio spectra"}
}

func pretrain(c *cli.Context) error {
	if c.NArg() > 1 {
		return usage(c, "expected one DATA, found %q after %q", c.Args().Get(1), c.Args().First())
	}
	if dir := c.Args().First(); dir != "" {
		if c.IsSet("data") {
			return usage(c, "found DATA %q and --data %q, expected one of them", dir, c.String("data"))
		}
		if err := c.Set("data", dir); err != nil {
			return err
		}
	}
	for _, f := range maskFlags {
		if v, ok := c.Value(f.name).(float64); ok && c.IsSet(f.name) && v == 0 { // 0 would mean the default
			return badFlag(c, f.name, "a number above 0")
		}
	}
	if c.String("data") == "" && !c.Bool("resume") {
		return usage(c, "DATA is missing: expected a data set directory (create one from tables with sftseq data "+
			"convert)")
	}
	m, err := manifestOf(c)
	if err != nil {
		return err
	}
	if m.FeatureNames != nil {
		return fmt.Errorf("%s: expected tokens with ids (text, images or audio), which pretrain can mask, found "+
			"tokens with features", c.String("data"))
	}
	return trainTask(c, lra.Pretrain(m))
}

// validationUnigramBits returns the result of [unigramBits] for the validation split.
func validationUnigramBits(c *cli.Context, config *sft.Config, set *seq.Dataset) (float64, error) {
	bits, err := unigramBits(c.Context, config, set, "val")
	if err != nil {
		return 0, fmt.Errorf("%s: %w", set.Dir, err)
	}
	return bits, nil
}

// maxTargets is the maximum number of target spectra of a model.
const maxTargets = 4096

// parseMaskTargets parses --mask-targets, and returns the number of spectra, or 0 for tokens.
func parseMaskTargets(text string) (names int, err error) {
	if text == "tokens" {
		return 0, nil
	}
	kind, count, hasCount := strings.Cut(text, ":")
	names = lra.SpectrumNames
	if hasCount {
		names, err = strconv.Atoi(count)
	}
	if kind != config.SpectrumTargets || err != nil || names < 2 || names > maxTargets {
		return 0, fmt.Errorf("%q: expected tokens, spectra or spectra:N, N from 2 to %d", text, maxTargets)
	}
	return names, nil
}

// learnMaskTargets learns the target spectra of a model from the training split. It does nothing if the
// model has no target spectra or has already learned them.
func learnMaskTargets(c *cli.Context, cfg *sft.Config, set *seq.Dataset) error {
	targets := cfg.MaskTargets
	if targets == nil || targets.Learned() {
		return nil
	}
	if kind := tokenizers.TypeOf(set.Manifest.Tokenizer); kind != new(tokenizers.MuLaw).Type() {
		return usage(c, "--mask-targets %s: expected audio samples (data convert --tokenizer mulaw), "+
			"found the tokenizer %s in %s", config.SpectrumTargets, kind, set.Dir)
	}
	f, err := cfg.OpenSplit(set, "train")
	if err != nil {
		return err
	}
	defer f.Close()
	var bars phases
	err = targets.Learn(c.Context, func(add func([]int32) error) error {
		for i := range f.Len() {
			if err := c.Context.Err(); err != nil {
				return err
			}
			e, err := f.Example(i)
			if err != nil {
				return err
			}
			if err := add(e.A); err != nil {
				return fmt.Errorf("%s: row %d: %w", set.Dir, i, err)
			}
			bars.phase(int64(f.Len()), "reading spectra", "sequences").Add(1)
		}
		return nil
	}, func(done, all int) {
		bars.phase(int64(all), "learning spectra", "rounds").Add(min(1, int64(done)))
	})
	bars.Finish()
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter,
		"the model is trained to predict the spectrum around each masked sample: the nearest of %d learned spectra\n",
		targets.Len())
	return nil
}
