package bench

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// What is measured of a model.
const (
	Forward = "forward" // what predict does
	Train   = "train"   // a whole step of training
)

// DefaultLength is the number of tokens of a row of the paper's model of ListOps.
const DefaultLength = 2048

// Workload is a model with fresh weights and a batch of random tokens, points or graphs.
type Workload struct {
	Config       *sft.Config
	Settings     train.Settings // of a training step; Batch is the number of examples
	Length       int            // tokens of an example, of both sequences of a pair together
	EdgesPerNode int            // of a graph on average: how many lead into a node
	Device       tensor.Device
	Memory       int64 // limit in bytes that a training run keeps to
}

// seed of weights and examples.
const seed = 1

// Tokens is the number of tokens of a batch.
func (w *Workload) Tokens() int { return w.Settings.Batch * w.Length }

// Prepare readies forward or train: each run of the result does it once.
func (w *Workload) Prepare(what string) (Run, error) {
	if err := w.fits(what); err != nil {
		return nil, err
	}
	loaded, examples := sft.NewModel(w.Config, seed), w.Examples()
	switch what {
	case Forward:
		s, err := sft.NewScorer(loaded, w.Device)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			_, err := s.Examples(ctx, examples)
			return err
		}, nil
	case Train:
		s, err := train.NewStepper(loaded, w.Settings, w.Device, sft.PlannedTokens(w.Length, w.edges()), w.Memory)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			_, err := s.Step(ctx, examples)
			return err
		}, nil
	}
	return nil, fmt.Errorf("%q, expected %s or %s", what, Forward, Train)
}

// fits compares a measurement with the memory limit, before any is taken. (A
// stepper then plans more exactly.)
func (w *Workload) fits(what string) error {
	slots := w.Device.Slots()
	if what == Train {
		slots = 1 // a stepper makes do with fewer
	}
	need, err := w.planned(what, slots)
	need += 4 * int64(w.Settings.Batch) * w.exampleWords()
	if err == nil && w.Memory > 0 && need > w.Memory {
		return &config.MemoryError{Limit: w.Memory, Need: need, Longest: w.Length}
	}
	return err
}

// exampleWords are the words of 4 bytes that the tokens, features and edges of an example take.
func (w *Workload) exampleWords() int64 {
	if !w.Config.Featured() {
		return int64(w.Length)
	}
	const slice = 6 // words of a slice, which a token or an edge has
	n := int64(w.Length) * int64(slice+len(w.Config.FeatureNames))
	return n + int64(w.edges())*int64(slice+2+len(w.Config.EdgeFeatureNames))
}

// planned is the device memory of a measurement.
func (w *Workload) planned(what string, slots int) (int64, error) {
	return sft.PlannedBytes(w.Config, what == Train, w.Settings.Batch, sft.PlannedTokens(w.Length, w.edges()), slots)
}

// Measurement is what one workload took.
type Measurement struct {
	Seconds float64 // the median of the repetitions
	// Peak is the most memory that was taken meanwhile: of a device that has its
	// own what was taken there, otherwise what of the process was resident, and
	// where the system does not say, what the programs were planned to take.
	Peak int64
	// Kernels are the times within one more run, the longest first, if they were
	// asked for. Each kernel of a GPU waits for the one before then.
	Kernels []tensor.KernelTime
}

// Measure prepares, warms up with one run and measures reps. With a profile, one
// more run follows, on a [tensor.Profiler].
func (w *Workload) Measure(ctx context.Context, what string, reps int, profile bool) (Measurement, error) {
	if _, ok := tensor.Capability[tensor.Profiler](w.Device); profile && !ok {
		return Measurement{}, noProfiler(w.Device)
	}
	debug.FreeOSMemory() // what an earlier measurement left is not this one's
	peak := w.watchMemory(what)
	f, err := w.Prepare(what)
	if err == nil {
		err = f(ctx)
	}
	if err != nil {
		return Measurement{}, err
	}
	var m Measurement
	if m.Seconds, err = Seconds(ctx, f, reps, 0); err != nil {
		return Measurement{}, err
	}
	if m.Peak, err = peak(); err != nil {
		return Measurement{}, err
	}
	if profile {
		m.Kernels, err = kernelTimes(w.Device, func() error { return f(ctx) })
	}
	return m, err
}

// watchMemory begins to watch memory; the result is a measurement's peak.
func (w *Workload) watchMemory(what string) (peak func() (int64, error)) {
	planned := func() (int64, error) { return w.planned(what, w.Device.Slots()) }
	if own, ok := tensor.Capability[tensor.OwnMemory](w.Device); ok {
		before := own.Budget()
		return func() (int64, error) {
			// Nothing has been given back yet. It is taken in large blocks, of which
			// one was there before.
			taken := before - own.Budget()
			n, err := planned()
			return max(n, taken), err
		}
	}
	known := resetPeak()
	return func() (int64, error) {
		if known {
			if n, ok := peakResident(); ok {
				return n, nil
			}
		}
		return planned()
	}
}
