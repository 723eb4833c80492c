package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// trainFused trains a linear model and a model with layers in folders of --out, and fits the weights by which their
// logits are summed. --resume continues where a run was stopped.
func trainFused(c *cli.Context, m *seq.Manifest, task *lra.Task) error {
	out := filepath.Clean(c.String("out"))
	linearDir, layersDir := filepath.Join(out, linearMember), filepath.Join(out, sftMember)
	if err := checkFused(c, m, out, linearDir, layersDir); err != nil {
		return err
	}
	if c.Bool("resume") && c.String("data") == "" {
		if err := c.Set("data", recordedData(linearDir)); err != nil {
			return err
		}
	}
	if c.String("data") == "" {
		return usage(c, "--data is missing, a data set directory was expected (sftseq data convert makes one)")
	}
	set, err := seq.OpenDataset(c.String("data"))
	if err != nil {
		return err
	}
	if set.Manifest.Splits["val"].Rows == 0 {
		return fmt.Errorf("%s: expected a validation split, on which the weights of the models are fitted (data convert --val-part)", set.Dir)
	}
	if isRun(linearDir) {
		if err := sameLinearRun(linearDir, set); err != nil {
			return err
		}
	}
	if c.Bool("resume") && !isRun(layersDir) { // it was stopped before the first checkpoint
		if err := c.Set("resume", "false"); err != nil {
			return err
		}
	}
	r, err := newTrainRun(c, task, layersDir, c.Uint64("seed"), nil) // before the linear model: it checks the flags
	if err != nil {
		return err
	}
	members := " --members " + fusedMembers
	r.resume = strings.Replace(resumption(c, task, "", out), " --out ", members+" --out ", 1)
	r.reproduce = strings.Replace(reproduction(c, task, out, c.Uint64("seed")), " --preset ", members+" --preset ", 1)
	if !isRun(linearDir) {
		report, err := saveLinear(c, set, linearDir)
		if err != nil {
			return errors.Join(err, r.close(c))
		}
		fmt.Fprintf(c.App.Writer, "%s: %s, model in %s\n", linearMember, describeLinear(report), linearDir)
	}
	if err := r.run(c); err != nil || !r.trainer.Finished() {
		return err
	}
	return fuse(c, set.Dir, out)
}

// checkFused refuses flags and folders that do not fit.
func checkFused(c *cli.Context, m *seq.Manifest, out, linearDir, layersDir string) error {
	f, err := sft.ReadFusion(out)
	switch {
	case err != nil:
		return err
	case c.NArg() > 0:
		return noArguments(c)
	case c.IsSet("seeds"):
		return usage(c, "--seeds and --members %s exclude each other", fusedMembers)
	case c.String("out") == "":
		return usage(c, "--out is empty, a directory was expected")
	case c.IsSet("stop-at") && c.Int("stop-at") < 1:
		return usage(c, "--stop-at %d, expected a step from 1", c.Int("stop-at"))
	case isRun(out) && (f == nil || !c.Bool("resume")):
		return fmt.Errorf("%s already holds a model or a run: choose another --out for --members %s",
			shellQuote(out), fusedMembers)
	case !c.Bool("resume") && (isRun(linearDir) || isRun(layersDir)):
		return fmt.Errorf("%s already holds a run of --members %s: --resume continues it, another --out begins a new one", shellQuote(out), fusedMembers)
	case ranksOf(c) != nil:
		return usage(c, "--members %s: expected one process, without --ranks", fusedMembers)
	case m.Task != "" && m.Task != seq.Classification && m.Task != seq.Retrieval:
		return usage(c, "--members %s: expected one class for each row, found the task %s: --members %s or %s",
			fusedMembers, m.Task, sftMember, linearMember)
	}
	return nil
}

// sameLinearRun refuses a linear model that was trained on other data.
func sameLinearRun(dir string, set *seq.Dataset) error {
	config, err := sft.ReadConfig(filepath.Join(dir, "config.json"))
	if err != nil {
		return err
	}
	p, err := provenance.Of(config)
	if err == nil && p.Data != set.Fingerprint() {
		err = fmt.Errorf("%s was trained on other data than %s: choose another --out",
			shellQuote(dir), shellQuote(set.Dir))
	}
	return err
}

// fuse fits the weights of the models in the folders of out, and writes its config.json.
func fuse(c *cli.Context, data, out string) error {
	set, err := seq.OpenDataset(data)
	if err != nil {
		return err
	}
	rows, err := set.Open("val")
	if err != nil {
		return err
	}
	defer rows.Close()
	var members []sft.Member
	for _, name := range []string{linearMember, sftMember} {
		m, err := load(c.Context, filepath.Join(out, name))
		if err != nil {
			return err
		}
		members = append(members, sft.Member{Name: name, Model: m})
	}
	d, err := openDevice(c)
	if err != nil {
		return err
	}
	defer closeDevice(c, d)
	p := newProgress(int64(rows.Len()), "fitting weights", "rows")
	f, err := sft.FitFusion(c.Context, members, rows, d, p.Add)
	p.Finish()
	if err != nil {
		return err
	}
	if err := f.Save(out); err != nil {
		return err
	}
	var said []string
	for i, name := range f.Members {
		said = append(said, fmt.Sprintf("%s %.4f (weight %.2f)", name, f.Losses[i], f.Weights[i]))
	}
	_, err = fmt.Fprintf(c.App.Writer,
		"validation loss of the members: %s; of the sum of their logits %.4f, model in %s\nevaluate with: sftseq eval --model %s --data %s\n",
		strings.Join(said, ", "), f.Loss, out, shellQuote(out), shellQuote(data))
	return err
}
