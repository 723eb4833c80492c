package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
	"github.com/sftseq/sftseq/tokenizers"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "write an HTML page about training runs",
		ArgsUsage: "RUN…",
		UsageText: `sftseq report [flags] RUN…

Example: sftseq report --out report.html runs/listops/seed-1 runs/listops/seed-2`,
		Description: `Writes one self-contained page: curves and settings of each run side by side; members and weights
of ensembles; metrics, curves and confusion matrix of the best model on the test
split; rows with the tokens that each layer sampled, as text or images. A run may still be
training. More: docs/reports.md`,
		Flags: slices.Concat(
			group(dataGroup,
				&cli.StringFlag{Name: "data", Usage: "evaluate on `FILE|DIR`",
					DefaultText: "data set of the run", TakesFile: true},
				&cli.StringFlag{Name: "split", Value: "test", Usage: "evaluate on split `NAME` of a data set"}),
			group(outputGroup,
				&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Value: "report.html",
					Usage: "write the page to `FILE`", TakesFile: true},
				&cli.IntFlag{Name: "examples", Value: 6, Usage: "show `N` rows of each run"},
				&cli.IntFlag{Name: "evidence", Value: 100,
					Usage: "measure on `N` rows whether classes depend on the tokens with the largest weights"}),
			[]cli.Flag{runFlag()}, deviceFlags(device.FP32)),
		Action: reportRuns,
	}
}

// maxExamples is the maximum of --examples. It limits the page to a size that browsers can show.
const maxExamples = 1000

func reportRuns(c *cli.Context) error {
	dirs, err := runsOf(c)
	if err != nil {
		return err
	}
	if n := c.Int("examples"); n < 0 || n > maxExamples {
		return badFlag(c, "examples", "0 to %d", maxExamples)
	}
	if c.Int("evidence") < 0 {
		return badFlag(c, "evidence", "a number of rows, or 0 for none")
	}
	if c.String("data") == "-" {
		return usage(c, "--data -: expected a file or a data set directory, because the rows are read twice")
	}
	members, err := expandFusions(dirs)
	if err != nil {
		return err
	}
	runs := make([]report.Run, len(members))
	var names []string
	for i, member := range members {
		names = append(names, member.name)
		if runs[i], err = openReportRun(c, member); err != nil {
			return err
		}
	}
	// Files are checked first, because scoring the rows takes a long time.
	page, err := createFile(c.String("out"))
	if err != nil {
		return err
	}
	defer page.Abort()
	for i := range runs {
		if err := addResults(c, &runs[i], members[i].dir); err != nil {
			return err
		}
		if fusion := members[i].fusion; fusion != "" {
			if err := addMembers(c, &runs[i], fusion); err != nil {
				return err
			}
		}
	}
	if err := report.Write(page, runs, report.Rule{Rows: evaluation.Rule, Tags: evaluation.TagRule,
		NodeTags: evaluation.NodeTagRule}); err != nil {
		return page.Wrap(err)
	}
	if err := page.Commit(); err != nil {
		return err
	}
	for _, r := range runs {
		if r.Missing != "" {
			fmt.Fprintf(c.App.ErrWriter,
				"warning: %s: the report omits the results on rows, such as accuracy by length and examples: "+
					"%s\n", r.Name, r.Missing)
		}
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: report of %s\n", c.String("out"), shortList(names, 20))
	return nil
}

// openReportRun reads the files of a run, and checks that the page does not replace any of them.
func openReportRun(c *cli.Context, member reportRun) (run report.Run, err error) {
	run, dir := report.Run{Name: member.name}, member.dir
	if run.Config, err = config.Read(filepath.Join(dir, "config.json")); err != nil {
		cause := atomicfile.Cause(err)
		if cause == err { // the error is about the content and names config.json
			return run, err
		}
		return run, fmt.Errorf("%s: expected a run directory of sftseq train, with config.json: %w", dir, cause)
	}
	run.Outputs = task.CountOutputs(run.Config)
	if run.Config.IsLinear() { // its training has no curve
		run.Metrics = &train.Metrics{}
	} else if run.Metrics, err = train.ReadMetrics(dir); err != nil {
		return run, err
	}
	run.Began = describeInitialModel(run.Config)
	if run.Starts, err = provenance.ReadStarts(dir); err != nil {
		return run, err
	}
	if run.Config.Tokenizer != nil && !run.Config.HasFeatures() {
		if run.Tokenizer, err = tokenizers.Open(run.Config.Tokenizer, dir); err != nil {
			return run, err
		}
	}
	for _, file := range []string{"config.json", "model.safetensors", "metrics.jsonl", provenance.StartsFile,
		tokenizers.FileName} {
		if sameFile(c.String("out"), filepath.Join(dir, file)) {
			return run, usage(c, "--out %s: this would overwrite a file of the run: choose another path",
				c.String("out"))
		}
	}
	return run, nil
}

// runNames returns the last element of each directory, or dirs unchanged if two last elements are equal.
func runNames(dirs []string) []string {
	var names []string
	seen := map[string]bool{}
	for _, dir := range dirs {
		full, err := filepath.Abs(dir)
		if err != nil {
			full = dir
		}
		names = append(names, filepath.Base(full))
		seen[filepath.Base(full)] = true
	}
	if len(seen) < len(dirs) {
		return dirs
	}
	return names
}
