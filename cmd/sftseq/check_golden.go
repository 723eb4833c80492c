package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/golden"
	"github.com/sftseq/sftseq/internal/tensor"
)

// checkGolden compares the device's results with the expected results of the golden models in a
// directory.
func checkGolden(c *cli.Context, root string) error {
	dirs, err := golden.Folders(root, c.String("only"))
	if err != nil {
		return fmt.Errorf("--golden: %w", err)
	}
	d, err := openDevice(c)
	if err != nil {
		return err
	}
	defer closeDevice(c, d)
	name, _, _ := strings.Cut(d.Name(), " ")
	progress := newProgress(int64(len(dirs)), "checking "+name, "models")
	defer progress.Finish()
	report := newResults(c, 1, "model", "lines", "logits", "gradient", "worst tensor", "losses",
		"error/tolerance", "result")
	notes, failed := []string{describeSystem(d)}, 0
	exact := func() (tensor.Device, error) {
		return openTensorDevice(device.Options{Name: "cpu", Threads: c.Int("threads")})
	}
	for _, dir := range dirs {
		g, err := golden.Compare(c.Context, dir, d, precisionOf(d), exact)
		if c.Context.Err() != nil {
			return c.Context.Err()
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s: %v", g.Golden, err))
		}
		if g.Flips > 0 {
			notes = append(notes, fmt.Sprintf(
				"%s: sampled tokens differ from the CPU's (sequences: %d); the comparison used the CPU's tokens",
				g.Golden, g.Flips))
		}
		if g.Failed {
			failed++
		}
		if err := report.add(g, g.Row()...); err != nil {
			return err
		}
		progress.Add(1)
	}
	if err := report.finish(strings.Join(notes, "\n")); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%s: %d of %d models failed", d.Name(), failed, len(dirs))
	}
	return nil
}
