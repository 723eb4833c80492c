package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/train"
	"github.com/sftseq/sftseq/tokenizers"
)

// linearFlags are those of train custom that a linear model has, too.
var linearFlags = []string{"members", "data", "out", "o", "seed", "epochs", "threads", "config", "device", "precision"}

// trainLinear trains a linear model of n-grams.
func trainLinear(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; c.IsSet(name) && !slices.Contains(linearFlags, name) {
			return usage(c, "--%s belongs to --members %s: a linear model has no layers and trains in seconds", name,
				sftMember)
		}
	}
	if err := linearDevice(c); err != nil {
		return err
	}
	switch dir := c.String("data"); {
	case dir == "":
		return usage(c, "--data is missing, a data set directory was expected (sftseq data convert makes one)")
	case c.String("out") == "":
		return usage(c, "--out is empty, a directory was expected")
	case c.IsSet("epochs") && c.Int("epochs") < 1:
		return usage(c, "--epochs %d, expected at least 1", c.Int("epochs"))
	}
	set, err := seq.OpenDataset(c.String("data"))
	if err != nil {
		return err
	}
	out := filepath.Clean(c.String("out"))
	if _, err := provenance.Found(out, nil, os.ErrNotExist, false, true); err != nil {
		return err
	}
	report, err := saveLinear(c, set, out, "")
	if err != nil {
		return err
	}
	return reportLinear(c, set, report, out)
}

// saveLinear trains a linear model and writes its directory.
func saveLinear(c *cli.Context, set *seq.Dataset, out, members string) (*linear.Report, error) {
	begun := time.Now()
	m, report, err := fitLinear(c, set, out, members)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, err
	}
	if err := tokenizers.CopyFile(set.Manifest.Tokenizer, set.Dir, out); err != nil {
		return nil, err
	}
	if err := m.Save(out); err != nil {
		return nil, err
	}
	o := m.Config.NGrams
	parts := fmt.Sprintf("%d n-grams of 1 to %d %s", m.Features(), o.MaxN, o.Units)
	if p := m.Config.Pairs; p != nil {
		parts = fmt.Sprintf("a comparison of %d texts (weight %.2f) and %s (weight %.2f)", p.Texts, p.Weights[1], parts,
			p.Weights[0])
	}
	fmt.Fprintf(c.App.ErrWriter, "linear model of %d rows: %s, %.1f s\n", report.Rows, parts,
		time.Since(begun).Seconds())
	return report, nil
}

// linearDevice refuses a GPU, unless the environment alone names it.
func linearDevice(c *cli.Context) error {
	switch name := c.String("device"); name {
	case "auto", "cpu", os.Getenv(deviceVariable):
		return nil
	default:
		return usage(c, "--device %s: a linear model runs on the CPU: expected cpu or auto", name)
	}
}

// fitLinear trains on the training split and chooses the epoch on the validation split.
func fitLinear(c *cli.Context, set *seq.Dataset, out, members string) (*linear.Model, *linear.Report, error) {
	spec := set.Spec()
	nGrams, rate, err := baseline.NGrams(c.Context, set)
	if err != nil {
		return nil, nil, err
	}
	config, err := linear.NewConfig(&spec, nGrams)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w (--members %s trains on it)", set.Dir, err, sftMember)
	}
	config.Extra, err = json.Marshal(provenance.Provenance{Sftseq: version(), Command: linearCommand(c, out),
		Members: members, DataDir: provenance.Path(c.String("data")),
		DataName: set.Manifest.Name, Data: set.Fingerprint(), Settings: train.Settings{Seed: c.Uint64("seed")}})
	if err != nil {
		return nil, nil, err
	}
	rows, err := set.Open("train")
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var judge linear.Rows
	if set.Manifest.Splits["val"].Rows > 0 {
		val, err := set.Open("val")
		if err != nil {
			return nil, nil, err
		}
		defer val.Close()
		judge = val
	} else {
		fmt.Fprintln(c.App.ErrWriter,
			"warning: the data have no validation split (data convert --val-part): the last epoch is kept")
	}
	epochs := 0 // the default
	if c.String("members") == linearMember {
		epochs = c.Int("epochs")
	}
	var bar *progress
	m, report, err := linear.Fit(c.Context, config, rows, judge,
		linear.Options{Rate: rate, Epochs: epochs, Seed: c.Uint64("seed"),
			Threads: c.Int("threads"), Progress: func(rows int) {
				if bar == nil {
					bar = newProgress(0, "training a linear model", "rows")
				}
				bar.Add(int64(rows))
			}})
	if bar != nil {
		bar.Finish()
	}
	if errors.Is(err, linear.ErrNothingToLearn) {
		err = fmt.Errorf("%s: %w", set.Dir, err)
	}
	return m, report, err
}

// linearCommand returns the command that repeats the training of a linear model in out.
func linearCommand(c *cli.Context, out string) string {
	names := []string{"data"}
	if c.String("members") == linearMember {
		names = append(names, "epochs")
	}
	return fmt.Sprintf("sftseq train custom --members %s --seed %d%s --out %s", linearMember, c.Uint64("seed"),
		givenFlags(c, names...), again(c, out))
}

// reportLinear prints the result of a run.
func reportLinear(c *cli.Context, set *seq.Dataset, report *linear.Report, out string) error {
	_, err := fmt.Fprintf(c.App.Writer,
		"%s, model in %s\nevaluate with: sftseq eval --model %s --data %s\nrepeat with: %s\n",
		describeLinear(report), out, shellQuote(out), shellQuote(set.Dir), linearCommand(c, out))
	return err
}

// describeLinear formats the validation result.
func describeLinear(report *linear.Report) string {
	said := "no validation"
	if p := report.Pairs; p != nil {
		return fmt.Sprintf("validation accuracy %.2f%%, loss %.4f (n-grams %.4f, comparison %.4f)", 100*report.Accuracy,
			p.Sum, p.NGrams, p.Comparison)
	}
	if report.Kept >= 0 {
		said = fmt.Sprintf("validation loss %.4f", report.Losses[report.Kept])
		if report.Measured > 0 {
			said = fmt.Sprintf("validation accuracy %.2f%%, loss %.4f", 100*report.Accuracy, report.Losses[report.Kept])
		}
		if report.Penalty > 0 {
			said += fmt.Sprintf(" (penalty %g)", report.Penalty)
		} else {
			said += fmt.Sprintf(" (epoch %d of %d)", report.Kept+1, len(report.Losses))
		}
	}
	return said
}
