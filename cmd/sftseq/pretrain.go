package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

func pretrainCommand() *cli.Command {
	return &cli.Command{
		Name:      "pretrain",
		Usage:     "learn from sequences without labels, by telling masked tokens",
		ArgsUsage: "DATA",
		UsageText: `sftseq pretrain DATA [flags]

Example: sftseq data convert --from logs.jsonl --to data/logs --text line
         sftseq pretrain data/logs --out runs/pretrained
         sftseq data convert --from labelled.csv --to data/labelled --text line --label fault --tokenizer from:runs/pretrained
         sftseq train custom --data data/labelled --init-from runs/pretrained --out runs/faults`,
		Description: `Trains a model to tell tokens that are masked from those around them, on a data set
DATA; its labels are not read, and the sequences of pairs are read one by one. Of each
sequence --mask-rate of the tokens are to be told, in spans of --mask-span tokens on
average: 80% of them are read as the mask, 10% as any token, and 10% as they are. Of
sound by its samples (data convert --tokenizer mulaw) it tells the spectrum around a token
instead (--mask-targets).

Model, batch and number of epochs are chosen from the data, as train does; every flag
replaces one of them. The progress says with how many bits a masked token is told on the
validation split, beside what the frequencies of the tokens alone would need.

What comes out is a model that train --init-from starts from, with labels of any kind;
embed and serve turn sequences into vectors with it, and predict --fill fills masks.
It stops, is resumed and runs on several machines as train does.`,
		Flags:  pretrainFlags(),
		Action: together(pretrain),
	}
}

// maskFlags are those of a model that fills masks: each replaces the value of a key of
// config.json.
var maskFlags = []architectureFlag{
	{"mask-rate", "mask_rate", "share of the tokens that are to be told"},
	{"mask-span", "mask_span", "mean number of such tokens in a row"},
	{"tie-embeddings", "tie_embeddings", "tell tokens by their own embeddings, without a layer for that"},
}

// pretrainFlags are those of train, but for what labels are for, and masks'.
func pretrainFlags() (flags []cli.Flag) {
	for _, f := range trainFlags(lra.Pretrain(&seq.Manifest{})) {
		switch name := f.Names()[0]; name {
		case "preset":
			preset := f.(*cli.StringFlag)
			preset.Usage += ", or another one of the task that the data are of"
			flags = append(flags, preset)
		case "class-weights", "select", "token-replacement", "seeds":
		default:
			flags = append(flags, f)
		}
	}
	flags = append(flags, newArchitectureFlags(maskFlags, "chosen from the data")...)
	return append(flags, &cli.StringFlag{Name: "mask-targets", DefaultText: fmt.Sprintf("spectra:%d for samples of sound, otherwise tokens", lra.SpectrumNames),
		Usage: "what is told of a masked token: itself, tokens; or of a sample of sound (data convert --tokenizer mulaw) the spectrum around it, spectra:N, by the name of the nearest of N that are learned from the training split"})
}

func pretrain(c *cli.Context) error {
	if c.NArg() > 1 {
		return usage(c, "expected one DATA, found %q after %q", c.Args().Get(1), c.Args().First())
	}
	if dir := c.Args().First(); dir != "" {
		if c.IsSet("data") {
			return usage(c, "DATA %q and --data %q name the data twice", dir, c.String("data"))
		}
		if err := c.Set("data", dir); err != nil {
			return err
		}
	}
	for _, f := range maskFlags {
		if v, ok := c.Value(f.name).(float64); ok && c.IsSet(f.name) && v == 0 { // which would stand for what is usual
			return usage(c, "--%s 0, expected a number above 0", f.name)
		}
	}
	if c.String("data") == "" && !c.Bool("resume") {
		return usage(c, "DATA is missing, a data set directory was expected (sftseq data convert makes one of your tables)")
	}
	m, err := manifestOf(c)
	if err != nil {
		return err
	}
	if m.FeatureNames != nil {
		return fmt.Errorf("%s: its tokens have features, and pretrain masks token ids: expected data of text, ids, images or sound", c.String("data"))
	}
	return train(c, lra.Pretrain(m))
}

// frequencies is what the frequencies of tokens tell of those that a model's validation has
// it tell, in bits.
func frequencies(c *cli.Context, config *sft.Config, set *seq.Dataset) (float64, error) {
	bits, err := baseline.UnigramBits(c.Context, set, "val", config.TruncatesAt(), config.NumLabels, config.Targets, config.Masked)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", set.Dir, err)
	}
	return bits, nil
}

// mostTargets is how many names of spectra a model may tell.
const mostTargets = 4096

// parseMaskTargets reads --mask-targets: the number of names of spectra, or 0 for tokens.
func parseMaskTargets(text string) (names int, err error) {
	if text == "tokens" {
		return 0, nil
	}
	kind, count, given := strings.Cut(text, ":")
	names = lra.SpectrumNames
	if given {
		names, err = strconv.Atoi(count)
	}
	if kind != sft.SpectrumTargets || err != nil || names < 2 || names > mostTargets {
		return 0, fmt.Errorf("%q, expected tokens, spectra or spectra:N, N from 2 to %d", text, mostTargets)
	}
	return names, nil
}

// learnMaskTargets finds the spectra of a model that tells them, in the training split.
func learnMaskTargets(c *cli.Context, config *sft.Config, set *seq.Dataset) error {
	targets := config.MaskTargets
	if targets == nil || targets.Learned() {
		return nil
	}
	if kind := tokenizers.TypeOf(set.Manifest.Tokenizer); kind != new(tokenizers.MuLaw).Type() {
		return usage(c, "--mask-targets %s: expected samples of sound (data convert --tokenizer mulaw), found the tokenizer %s in %s", sft.SpectrumTargets, kind, set.Dir)
	}
	f, err := config.OpenSplit(set, "train")
	if err != nil {
		return err
	}
	defer f.Close()
	var shown phases
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
			shown.of(int64(f.Len()), "reading spectra", "sequences").Add(1)
		}
		return nil
	}, func(done, all int) {
		shown.of(int64(all), "learning spectra", "rounds").Add(min(1, int64(done)))
	})
	shown.Finish()
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "a masked sample is told by the spectrum around it: the nearest of %d that were learned\n", targets.Len())
	return nil
}
