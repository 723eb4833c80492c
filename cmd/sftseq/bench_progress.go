package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// benchProgress shows which of several measurements is running: with a bar on a terminal, otherwise
// with a line for each measurement that takes longer than benchLineDelay.
type benchProgress struct {
	out   io.Writer
	bar   *progressbar.ProgressBar // nil if plain lines are written
	total int
	done  int
}

// benchLineDelay is the time that a measurement runs before its name is printed.
const benchLineDelay = 2 * time.Second

func newBenchProgress(out io.Writer, total int) *benchProgress {
	p := &benchProgress{out: out, total: total}
	if isTerminal(out) {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(unwrapWriter(out)),
			progressbar.OptionSetWidth(20),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionUseANSICodes(true))
	}
	return p
}

// measure runs f and shows name while f runs.
func (p *benchProgress) measure(name string, f func() error) error {
	p.done++
	if p.bar != nil {
		p.bar.Describe(name)
		err := f()
		_ = p.bar.Add(1) // a drawing error must not stop the measurement
		_ = p.bar.Clear()
		return err
	}
	var written sync.WaitGroup
	written.Add(1)
	line := time.AfterFunc(benchLineDelay, func() {
		defer written.Done()
		fmt.Fprintf(p.out, "measuring %s (%d of %d)\n", name, p.done, p.total)
	})
	err := f()
	if !line.Stop() {
		written.Wait() // the caller's next output must not mix with the line
	}
	return err
}
