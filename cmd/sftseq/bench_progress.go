package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// benchProgress shows which of several measurements is running: a bar on a terminal, otherwise a line for each that
// takes longer than benchMoment.
type benchProgress struct {
	out   io.Writer
	bar   *progressbar.ProgressBar // nil where plain lines are written
	total int
	done  int
}

// benchMoment is how long a measurement may take before a line names it.
const benchMoment = 2 * time.Second

func newBenchProgress(out io.Writer, total int) *benchProgress {
	p := &benchProgress{out: out, total: total}
	if isTerminal(out) {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(unwrapWriter(out)),
			progressbar.OptionSetWidth(20),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionUseANSICodes(true))
	}
	return p
}

// measure runs f under a name.
func (p *benchProgress) measure(name string, f func() error) error {
	p.done++
	if p.bar != nil {
		p.bar.Describe(name)
		err := f()
		_ = p.bar.Add(1) // a bar that cannot be drawn is no reason to stop
		_ = p.bar.Clear()
		return err
	}
	var wait sync.WaitGroup
	wait.Add(1)
	line := time.AfterFunc(benchMoment, func() {
		defer wait.Done()
		fmt.Fprintf(p.out, "measuring %s (%d of %d)\n", name, p.done, p.total)
	})
	err := f()
	if !line.Stop() {
		wait.Wait() // whoever writes next must not write into the line
	}
	return err
}
