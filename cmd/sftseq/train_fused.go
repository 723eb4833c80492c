package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// trainFused trains a linear model and a model with layers in folders of --out, and fits the weights by which their
// logits are summed. With --resume it goes on with the second.
func trainFused(c *cli.Context, m *seq.Manifest, task *lra.Task) error {
	out := filepath.Clean(c.String("out"))
	switch {
	case c.IsSet("seeds"):
		return usage(c, "--seeds and --members %s exclude each other", fusedMembers)
	case c.String("out") == "":
		return usage(c, "--out is empty, a directory was expected")
	case isRun(out) && !c.Bool("resume"):
		return fmt.Errorf("%s holds a model or a run, and --members %s trains each in a folder in --out: expected another --out", shellQuote(out), fusedMembers)
	case ranksOf(c) != nil:
		return usage(c, "--members %s: expected one process, without --ranks", fusedMembers)
	case m.Task != "" && m.Task != seq.Classification && m.Task != seq.Retrieval:
		return usage(c, "--members %s: expected one class for each row, found the task %s: --members %s or %s",
			fusedMembers, m.Task, sftMember, linearMember)
	}
	linearDir, layersDir := filepath.Join(out, linearMember), filepath.Join(out, sftMember)
	if !isRun(linearDir) {
		if c.String("data") == "" {
			return usage(c, "--data is missing, a data set directory was expected (sftseq data convert makes one)")
		}
		set, err := seq.OpenDataset(c.String("data"))
		if err != nil {
			return err
		}
		if set.Manifest.Splits["val"].Rows == 0 {
			return fmt.Errorf("%s: expected a validation split, on which the weights of the members are fitted (data convert --val-part)", set.Dir)
		}
		report, err := saveLinear(c, set, linearDir)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.App.Writer, "%s: %s, model in %s\n", linearMember,
			describeLinear(report), linearDir); err != nil {
			return err
		}
	}
	r, err := newTrainRun(c, task, layersDir, c.Uint64("seed"), nil)
	if err != nil {
		return err
	}
	r.resume = strings.Replace(resumption(c, task, "", out), " --out ", " --members "+fusedMembers+" --out ", 1)
	if err := r.run(c); err != nil || !r.trainer.Finished() {
		return err
	}
	return fuse(c, r.set.Dir, out)
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
