package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// benchProgress shows the current one of several measurements: with a bar on a terminal, otherwise
// with a line for each measurement that takes longer than benchMoment.
type benchProgress struct {
	out   io.Writer
	bar   *progressbar.ProgressBar // nil if plain lines are written
	total int
	done  int
}

// benchMoment is the duration after which a line names the current measurement.
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

// measure runs f and shows name meanwhile.
func (p *benchProgress) measure(name string, f func() error) error {
	p.done++
	if p.bar != nil {
		p.bar.Describe(name)
		err := f()
		_ = p.bar.Add(1) // a drawing error must not stop the measurement
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
		wait.Wait() // the caller must not write into the line
	}
	return err
}
