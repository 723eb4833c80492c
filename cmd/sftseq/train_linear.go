package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// linearFlags lists the flags of train custom that apply to a linear model.
var linearFlags = []string{"members", "data", "out", "o", "seed", "epochs", "threads", "config", "device", "precision"}

// trainLinear trains a linear model of n-grams, for train custom or a linear preset.
func trainLinear(c *cli.Context, task *lra.Task) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if c.Bool("resume") {
		advice := "omit the flag"
		if _, err := os.Stat(filepath.Join(c.String("out"), "config.json")); err == nil {
			advice = "train another model, without the flag and with another --out"
		}
		return usage(c, "--resume: a linear model is trained in one go and has no checkpoint to continue from: %s",
			advice)
	}
	flags, layers := linearFlags, fmt.Sprintf("--members %s or %s", lexicalMember, sftMember)
	if published(task) {
		flags, layers = append([]string{"preset"}, flags...), "--preset paper"
	}
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; c.IsSet(name) && !slices.Contains(flags, name) {
			return usage(c, "--%s does not apply to a linear model: omit the flag, or train a model with layers (%s)",
				name, layers)
		}
	}
	if err := linearDevice(c); err != nil {
		return err
	}
	switch dir := c.String("data"); {
	case dir == "":
		return missingData(c, task)
	case c.String("out") == "":
		return usage(c, "--out is empty: expected a directory")
	case c.IsSet("epochs") && c.Int("epochs") < 1:
		return badFlag(c, "epochs", "at least 1")
	}
	if err := refuseTable(c.String("data")); err != nil {
		return fmt.Errorf("--data %w", err)
	}
	set, err := seq.OpenDataset(c.String("data"))
	if err != nil {
		return err
	}
	if err := checkTask(c, task, set); err != nil {
		return err
	}
	out := filepath.Clean(c.String("out"))
	if err := checkOut(out); err != nil {
		return err
	}
	if _, err := provenance.Found(out, nil, os.ErrNotExist, false, true); err != nil {
		return err
	}
	f, err := newLinearFit(c, set, out)
	if err != nil {
		return err
	}
	m, report, err := f.fit()
	if err != nil {
		return err
	}
	if f.refits() {
		if m, err = f.refit(report.Choice); err != nil {
			return err
		}
	}
	if err := f.save(m); err != nil {
		return err
	}
	return reportLinear(c, set, report, out)
}

// linearDevice returns an error unless --device is auto, cpu or the device that the environment selects.
func linearDevice(c *cli.Context) error {
	switch name := c.String("device"); name {
	case "auto", "cpu", os.Getenv(deviceVariable):
		return nil
	default:
		return usage(c, "--device %s: expected cpu or auto, because a linear model runs on the CPU", name)
	}
}

// linearAlone reports whether the command trains only a linear model, so that --epochs is meant for it.
func linearAlone(c *cli.Context) bool {
	return c.String("members") == linearMember || c.Command.Name != lra.CustomName // a linear preset
}

// linearCommand returns the command that repeats the training of a linear model in the directory out.
func linearCommand(c *cli.Context, out string) string {
	names := []string{"data"}
	if linearAlone(c) {
		names = append(names, "epochs")
	}
	return fmt.Sprintf("sftseq train custom --members %s --seed %d%s --out %s", linearMember, c.Uint64("seed"),
		formatSetFlags(c, names...), repeatDir(c, out))
}

// reportLinear prints the result of a run.
func reportLinear(c *cli.Context, set *seq.Dataset, report *linear.Report, out string) error {
	accuracy := math.NaN()
	if report.Measured > 0 {
		accuracy = report.Accuracy
	}
	scored, compared := compareBaselines(c, set, out, accuracy)
	_, err := fmt.Fprintf(c.App.Writer, "%s, model in %s\n%s%srepeat with: %s\n%s", describeLinear(report), out, scored,
		evalAdvice(out, set), linearCommand(c, out), compared)
	return err
}

// describeLinear formats the validation result.
func describeLinear(report *linear.Report) string {
	text := "no validation"
	if p := report.Pairs; p != nil {
		return fmt.Sprintf("validation accuracy %.2f%%, loss %.4f (n-grams %.4f, comparison %.4f)", 100*report.Accuracy,
			p.Sum, p.NGrams, p.Comparison)
	}
	if report.Kept >= 0 {
		text = fmt.Sprintf("validation loss %.4f", report.Losses[report.Kept])
		if report.Measured > 0 {
			text = fmt.Sprintf("validation accuracy %.2f%%, loss %.4f", 100*report.Accuracy, report.Losses[report.Kept])
		}
		if report.Penalty > 0 {
			text += fmt.Sprintf(" (penalty %g)", report.Penalty)
		} else {
			text += fmt.Sprintf(" (epoch %d of %d)", report.Kept+1, len(report.Losses))
		}
	}
	return text
}

// checkOut returns an error unless files can be written in the directory of --out. A missing directory
// can be created, so checkOut creates a temporary folder in the nearest existing directory and removes it.
func checkOut(out string) error {
	dir := filepath.Clean(out)
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("--out: %s is not a directory: choose another --out", shellQuote(dir))
		}
		parent := filepath.Dir(dir)
		if err == nil || parent == dir {
			break
		}
		dir = parent
	}
	probe, err := os.MkdirTemp(dir, ".sftseq-*")
	if err != nil {
		return fmt.Errorf("--out: creating a folder in %s: %w: choose another --out", shellQuote(dir),
			atomicfile.Cause(err))
	}
	return os.Remove(probe)
}

// alreadyRun returns the error for an --out that contains a model or a run.
func alreadyRun(out string) error {
	if isPlainRun(out) {
		return fmt.Errorf("%s already contains a run: continue it with --resume, or choose another --out",
			shellQuote(out))
	}
	return fmt.Errorf("%s already contains a model: choose another --out", shellQuote(out))
}

// checkLinearRun returns an error if the linear model in dir was trained on different data.
func checkLinearRun(dir string, set *seq.Dataset) error {
	cfg, err := config.Read(filepath.Join(dir, "config.json"))
	if err != nil {
		return err
	}
	p, err := provenance.Of(cfg)
	if err == nil && p.Data != set.Fingerprint() {
		err = fmt.Errorf("%s was not trained on %s: choose another --out",
			shellQuote(dir), shellQuote(set.Dir))
	}
	return err
}

// resumesOneModel returns the error for --resume of a run of several members in a directory with one model. A
// linear model has no checkpoint.
func resumesOneModel(dir, members string) error {
	if c, err := config.Read(filepath.Join(dir, "config.json")); err == nil && c.IsLinear() {
		return fmt.Errorf("--resume: %s contains a linear model, which is trained in one go and has no checkpoint to "+
			"continue from: choose another --out for a new run", shellQuote(dir))
	}
	return fmt.Errorf("%s contains a run of one model, expected one of --members %s: resume it with the command "+
		"that started it", shellQuote(dir), members)
}
