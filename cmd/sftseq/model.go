package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
)

func modelFlag() cli.Flag {
	return &cli.StringFlag{Name: "model", Category: modelGroup,
		Usage:     "read the model in `DIR`, or builtin:NAME; also the first argument (required)",
		TakesFile: true, Action: setBuiltinModel}
}

// modelsFlag returns the --model flag of commands that also accept an ensemble.
func modelsFlag() cli.Flag {
	return &cli.StringFlag{Name: "model", Category: modelGroup,
		Usage: "read the model in `DIR`, the ensemble of a folder of models, or builtin:NAME; also the first " +
			"argument (required)",
		TakesFile: true, Action: setBuiltinModel}
}

// runFlag returns the flag that names runs, in addition to arguments, for commands that read
// several runs.
func runFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "model", Category: modelGroup,
		Usage: "read the run in `DIR`, the same as an argument; repeatable", TakesFile: true}
}

// runsOf returns the run directories in --model and the arguments.
func runsOf(c *cli.Context) ([]string, error) {
	dirs := append(c.StringSlice("model"), c.Args().Slice()...)
	if len(dirs) == 0 {
		return nil, usage(c, "no run directory given: expected one or several directories of sftseq train")
	}
	return dirs, nil
}

// modelFlags returns a list of the given flag, which names the model, and the device flags.
func modelFlags(model cli.Flag) []cli.Flag {
	return append([]cli.Flag{model}, deviceFlags(device.FP32)...)
}

// loadModel reads the model of --model.
func loadModel(c *cli.Context) (*sft.Model, error) {
	dir := c.String("model")
	if dir == "" {
		return nil, usage(c, "--model is missing: expected a model directory")
	}
	return readModel(c.Context, dir, "--model ")
}

// withoutLayers returns the error for a linear model in dir, for commands that need a model with layers.
func withoutLayers(dir string) error {
	return fmt.Errorf("%s: expected a model with layers, found a linear model of n-grams: sftseq train custom "+
		"--members sft trains a model with layers", dir)
}

// readModel reads the model in dir, or in the only model directory in dir. If a fusion has a single member of
// nonzero weight, that member gets the temperature and thresholds of the fusion. For a folder of several
// models, the error lists them and shows an example argument. flag is the text before the path in the
// example, such as "--model ".
func readModel(ctx context.Context, dir, flag string) (*sft.Model, error) {
	fusion, err := sft.ReadFusion(dir)
	if err != nil {
		return nil, err
	}
	if members := membersOf(dir); len(members) == 1 {
		dir = members[0]
	}
	m, err := loadWithContext(ctx, dir)
	if err != nil {
		if runs := describeRuns(dir, flag); runs != "" {
			err = errors.New(runs)
		}
	}
	if err == nil && fusion != nil {
		fusion.Kept().Apply(m)
	}
	return m, err
}

// loadWithContext calls sft.Load and returns early if ctx ends.
func loadWithContext(ctx context.Context, dir string) (*sft.Model, error) {
	return callWithContext(ctx, func() (*sft.Model, error) { return sft.Load(dir) })
}

// callWithContext returns the result of f, or ctx's error if f is still running a second after ctx
// has ended. A long step, such as initialising a large model, must not keep the program from
// ending.
func callWithContext[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	select { // most models are ready within a second, and their run can then store a checkpoint
	case r := <-done:
		return r.value, r.err
	case <-time.After(time.Second):
		var zero T
		return zero, context.Cause(ctx)
	}
}

// openScorer loads models onto --device. release closes the device.
func openScorer(c *cli.Context, m models) (s *sft.Scorer, release func(), err error) {
	d, err := openModelDevice(c, m)
	if err != nil {
		return nil, nil, err
	}
	release = func() { closeDevice(c, d) }
	if s, err = m.scorer(d); err != nil {
		release()
		return nil, nil, err
	}
	return s, release, nil
}

// openModelDevice opens --device for models. For linear models, it opens the CPU and refuses other devices.
func openModelDevice(c *cli.Context, m models) (tensor.Device, error) {
	if !m.isLinear() {
		return openDevice(c)
	}
	if err := linearDevice(c); err != nil {
		return nil, err
	}
	if err := c.Set("device", "cpu"); err != nil {
		return nil, err
	}
	return openDevice(c)
}

// openInput opens the FILE argument. Without an argument, or for "-", it returns standard input.
func openInput(c *cli.Context) (in io.ReadCloser, name string, err error) {
	if c.NArg() > 1 {
		return nil, "", usage(c, "expected at most one FILE, found %q after %q", c.Args().Get(1), c.Args().First())
	}
	return openFile(c, c.Args().First())
}

// openFile opens a file. For "" and "-", it returns standard input.
func openFile(c *cli.Context, path string) (in io.ReadCloser, name string, err error) {
	if path == "" || path == "-" {
		return io.NopCloser(c.App.Reader), "standard input", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, path, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, path, fmt.Errorf("%s: expected a file, found a directory", path)
	}
	return f, path, nil
}

func maxLineFlag() cli.Flag {
	return &cli.IntFlag{Name: "max-line", Value: jsonlines.MaxLine, Usage: "refuse lines of more than `BYTES`"}
}

func checkMaxLine(c *cli.Context) error {
	if n := c.Int("max-line"); n < 1 || n > 1<<30 {
		return badFlag(c, "max-line", "1 to %d", 1<<30)
	}
	return nil
}
