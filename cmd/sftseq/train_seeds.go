package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// trainSeeds trains a run for each seed, and reports the mean and standard deviation of their
// scores. With --resume, it continues started seeds, and starts the others.
func trainSeeds(c *cli.Context, task *lra.Task) error {
	if c.IsSet("seed") {
		return usage(c, "--seed and --seeds exclude each other")
	}
	if c.IsSet("stop-at") {
		return usage(c, "--stop-at and --seeds exclude each other: a mean needs whole runs")
	}
	seeds, err := seedsOf(c)
	if err != nil {
		return err
	}
	if isRun(c.String("out")) {
		return fmt.Errorf("%s contains a model or a run, but --seeds needs a folder for each seed in --out: choose "+
			"another --out", shellQuote(c.String("out")))
	}
	dirOf := func(seed uint64) string { return filepath.Join(c.String("out"), fmt.Sprintf("seed-%d", seed)) }
	if !c.Bool("resume") { // find a directory in use before hours are spent on other seeds
		for _, seed := range seeds {
			if _, err := checkpointOf(c, dirOf(seed)); err != nil {
				return err
			}
		}
	}
	started, err := firstStarted(c, seeds, dirOf)
	if err != nil {
		return err
	}
	hasFolder := func(seed uint64) bool {
		_, err := os.Stat(dirOf(seed))
		return err == nil
	}
	if c.Bool("resume") && !slices.ContainsFunc(seeds, hasFolder) {
		return provenance.NothingToResume(c.String("out"),
			"a folder of a seed, such as "+filepath.Base(dirOf(seeds[0])),
			func(dir string) bool { return provenance.HasRuns(dir, "seed-") })
	}
	var scores []float64
	var metric string
	for _, seed := range seeds {
		fmt.Fprintf(c.App.ErrWriter, "seed %d\n", seed)
		r, err := newTrainRun(c, task, dirOf(seed), seed, started, nil)
		if err != nil {
			return err
		}
		r.resume = resumeCommand(c, task, c.String("seeds"), c.String("out"))
		if err := r.run(c); err != nil {
			return err
		}
		name, value := r.compared()
		metric, scores = name, append(scores, value)
	}
	var mean, deviation float64
	for _, v := range scores {
		mean += v / float64(len(scores))
	}
	for _, v := range scores {
		deviation += (v - mean) * (v - mean)
	}
	deviation = math.Sqrt(deviation / max(1, float64(len(scores)-1)))
	summary := fmt.Sprintf("mean %.4f, standard deviation %.4f", mean, deviation)
	if metric == "accuracy" {
		summary = fmt.Sprintf("mean %.2f%%, standard deviation %.2f%%", 100*mean, 100*deviation)
	}
	fmt.Fprintf(c.App.Writer, "validation %s over %s: %s\n", metric, countOf(len(scores), "seed"), summary)
	if len(seeds) > 1 {
		fmt.Fprintf(c.App.Writer, "the ensemble of all seeds is usually more accurate: use it with --model %s\n",
			shellQuote(c.String("out")))
	}
	return nil
}

// firstStarted returns the checkpoint of the first started seed that --resume continues, or nil.
func firstStarted(c *cli.Context, seeds []uint64, dirOf func(uint64) string) (*train.Checkpoint, error) {
	if !c.Bool("resume") {
		return nil, nil
	}
	for _, seed := range seeds {
		from, err := loadCheckpoint(c, dirOf(seed))
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return from, err
		}
	}
	return nil, nil
}

// loadCheckpoint reads a checkpoint, on one rank for all ranks.
func loadCheckpoint(c *cli.Context, dir string) (*train.Checkpoint, error) {
	if ranks := communicator(c); ranks != nil {
		return train.LoadSharedCheckpoint(ranks, dir)
	}
	return train.LoadCheckpoint(dir)
}

// checkSameFlags returns an error if the settings of a new seed's run differ from the settings of a
// seed's run that has already started, because a mean over different settings is meaningless.
func checkSameFlags(c *cli.Context, started *train.Checkpoint, config *sft.Config, settings *train.Settings,
	data string) error {
	if started == nil {
		return nil
	}
	want := *settings
	if err := resumeSettings(c, &want, started); err != nil { // the stored settings, with a new end if flags set one
		return err
	}
	differences := provenance.Differences(started, want, *settings, *config, data, c.String("init-from"))
	if len(differences) == 0 {
		return nil
	}
	was, _ := provenance.Of(started.Config) // an unreadable provenance has no command
	return fmt.Errorf("seed %d has not started, and these flags differ from those of seed %d, which was started "+
		"by\n  %s\nand has %s: pass the same flags with "+
		"--resume", settings.Seed, want.Seed, was.Command, strings.Join(differences, "; "))
}

// seedsOf returns the seeds of --seeds, or the seed of --seed.
func seedsOf(c *cli.Context) ([]uint64, error) {
	if c.String("seeds") == "" {
		return []uint64{c.Uint64("seed")}, nil
	}
	var seeds []uint64
	for _, word := range strings.Split(c.String("seeds"), ",") {
		seed, err := strconv.ParseUint(strings.TrimSpace(word), 10, 64)
		if err != nil {
			return nil, badFlag(c, "seeds", "numbers separated by commas, found %q", word)
		}
		if slices.Contains(seeds, seed) {
			return nil, badFlag(c, "seeds", "different numbers, found %d twice", seed)
		}
		seeds = append(seeds, seed)
	}
	return seeds, nil
}
