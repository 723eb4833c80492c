package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/tensor"
)

// usageError is an error in the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// flags are the flags of a study.
type flags struct {
	*flag.FlagSet
	out   string
	force bool
}

func newFlags(name string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(io.Discard) // run prints the errors
	f.StringVar(&f.out, "out", filepath.Join("studies", name), "write points.jsonl and the chart to this `directory`")
	f.BoolVar(&f.force, "force", false, "replace the files of an earlier run in --out")
	return f
}

// drawFlags defines the flags of studies that draw random numbers and need no device.
func (f *flags) drawFlags(seed *uint64, threads *int) {
	f.Uint64Var(seed, "seed", 1, "seed of all random numbers")
	f.threadsFlag(threads, runtime.GOMAXPROCS(0))
}

func (f *flags) threadsFlag(p *int, value int) {
	f.intFlag(p, "threads", value, 1, device.MaxThreads, "CPU threads")
}

// runDevice is the device on which a study runs a model.
type runDevice struct {
	name    string
	threads int
}

func (f *flags) deviceFlags(d *runDevice, threads int) {
	f.StringVar(&d.name, "device", "auto", "device: "+strings.Join(device.Names(), ", "))
	f.threadsFlag(&d.threads, threads)
}

// open opens the device in float32.
func (d *runDevice) open(r *report) (tensor.Device, error) {
	o := device.Options{Name: d.name, Threads: d.threads, Precision: device.FP32,
		Notice: func(text string) { fmt.Fprintln(r.log, text) }}
	if err := o.Validate(); err != nil {
		return nil, usagef("--device: %w", err)
	}
	opened, err := device.Open(o)
	if err != nil {
		return nil, err
	}
	return opened.(tensor.Device), nil
}

// intFlag defines a flag for a whole number from low to high.
func (f *flags) intFlag(p *int, name string, value, low, high int, usage string) {
	*p = value
	f.Func(name, fmt.Sprintf("%s (default %d)", usage, value), func(word string) error {
		n, err := strconv.Atoi(word)
		if err != nil || n < low || n > high {
			return fmt.Errorf("expected a whole number from %d to %d", low, high)
		}
		*p = n
		return nil
	})
}

// intListFlag defines a flag for distinct whole numbers from low to high, separated by commas.
func (f *flags) intListFlag(p *[]int, name string, value []int, low, high int, usage string) {
	*p = value
	words := strings.Trim(strings.ReplaceAll(fmt.Sprint(value), " ", ","), "[]")
	f.Func(name, fmt.Sprintf("%s, `N,N,…` (default %s)", usage, words), func(text string) error {
		var out []int
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil || n < low || n > high || slices.Contains(out, n) {
				return fmt.Errorf("%q: expected distinct whole numbers from %d to %d, separated by commas", word,
					low, high)
			}
			out = append(out, n)
		}
		*p = out
		return nil
	})
}

// sampledTokensFlag defines the flag --k, the numbers of sampled tokens.
func (f *flags) sampledTokensFlag(p *[]int, value ...int) {
	f.intListFlag(p, "k", value, 1, math.MaxInt32, "numbers of sampled tokens")
}
