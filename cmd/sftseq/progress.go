package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sftseq/sftseq/internal/bench"
)

// unitBytes is the unit of byte counts, which are shown in units such as MiB.
const unitBytes = "bytes"

// describeEvery is the interval at which the rate beside a bar is updated.
const describeEvery = 500 * time.Millisecond

// progressEvery is the interval of progress lines without a terminal.
const progressEvery = 5 * time.Second

// progress shows the progress of a long task on standard error: on a terminal a bar with the
// remaining time, otherwise a line every few seconds, so that logs stay readable. It is safe for
// concurrent use.
type progress struct {
	mu          sync.Mutex
	bar         *progressbar.ProgressBar // nil if plain lines are written
	out         io.Writer
	description string
	unit        string
	done        int64
	total       int64 // below 1 if unknown
	start       time.Time
	last        time.Time
	silent      bool // Finish writes no line: no progress line precedes it, or Finish was called before
}

// progressTo is the writer on which progress is shown.
var progressTo io.Writer = os.Stderr

// newProgress starts the display of a task. description is, for example, "generating listops", and
// total is the number of units, such as rows, or 0 if unknown.
func newProgress(total int64, description, unit string) *progress {
	description = escapeControls([]byte(description)) // the text may include a file name
	p := &progress{out: progressTo, description: description, unit: unit, total: total, start: time.Now(), silent: true}
	p.last = p.start
	if isTerminal(p.out) {
		limit := total
		if limit < 1 {
			limit = -1 // a spinner
		}
		p.bar = progressbar.NewOptions64(limit,
			progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(description),
			progressbar.OptionShowCount(), progressbar.OptionShowBytes(unit == unitBytes),
			progressbar.OptionUseIECUnits(true),
			progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetWidth(24), progressbar.OptionClearOnFinish())
	}
	return p
}

// Add adds n completed units.
func (p *progress) Add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if p.bar != nil {
		_ = p.bar.Add64(n) // a drawing error must not stop the task

		// The bar shows the rate of bytes itself.
		if now := time.Now(); p.unit != unitBytes && now.Sub(p.last) >= describeEvery {
			p.last = now
			p.bar.Describe(p.description + " " + p.rate(now))
		}
		return
	}
	if now := time.Now(); now.Sub(p.last) >= progressEvery {
		p.last, p.silent = now, false
		fmt.Fprintln(p.out, p.line(now))
	}
}

// Finish ends the bar. If progress lines were written, Finish writes a line with the total.
func (p *progress) Finish() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
		return
	}
	if !p.silent {
		p.silent = true // later calls write nothing
		fmt.Fprintf(p.out, "%s: %s in %s\n", p.description, p.amount(), roundTime(time.Since(p.start)))
	}
}

// phases shows the progress of consecutive tasks. The zero value is ready to use.
type phases struct {
	mu      sync.Mutex
	current *progress
	ended   bool
}

// phase returns the progress of a task. The first call for a task starts it and finishes the
// previous one.
func (p *phases) phase(total int64, description, unit string) *progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended { // an abandoned reader may still report progress
		return &progress{out: io.Discard, total: total, description: description, unit: unit}
	}
	if p.current == nil || p.current.description != description {
		if p.current != nil {
			p.current.Finish()
		}
		p.current = newProgress(total, description, unit)
	}
	return p.current
}

// Finish ends the last task. Later tasks show nothing.
func (p *phases) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.current != nil {
		p.current.Finish()
	}
}

// line formats the state: "generating listops: 4000 of 96000 rows (4%), 2.1k rows/s, 44s left".
func (p *progress) line(now time.Time) string {
	if p.total < 1 || p.done < 1 {
		return fmt.Sprintf("%s: %s, %s", p.description, p.amount(), p.rate(now))
	}
	done := min(p.done, p.total) // an input may grow while it is read
	remaining := time.Duration(float64(now.Sub(p.start)) * float64(p.total-done) / float64(done))
	amount := fmt.Sprintf("%d of %d %s", p.done, p.total, p.unit)
	if p.unit == unitBytes {
		amount = fmt.Sprintf("%s of %s", bench.FormatBytes(p.done), bench.FormatBytes(p.total))
	}
	return fmt.Sprintf("%s: %s (%d%%), %s, %s left", p.description, amount, 100*done/p.total, p.rate(now),
		roundTime(remaining))
}

// amount formats the completed amount: "4000 rows" or "1.5 MiB".
func (p *progress) amount() string {
	if p.unit == unitBytes {
		return bench.FormatBytes(p.done)
	}
	return fmt.Sprintf("%d %s", p.done, p.unit)
}

// rate formats the mean rate since the start: "2.1k rows/s" or "1.5 MiB/s".
func (p *progress) rate(now time.Time) string {
	rate := float64(p.done) / now.Sub(p.start).Seconds()
	switch {
	case p.unit == unitBytes:
		return bench.FormatBytes(int64(rate)) + "/s"
	case rate >= 1e6:
		return fmt.Sprintf("%.1fM %s/s", rate/1e6, p.unit)
	case rate >= 1e3:
		return fmt.Sprintf("%.1fk %s/s", rate/1e3, p.unit)
	case rate < 10:
		return fmt.Sprintf("%.2g %s/s", rate, p.unit)
	}
	return fmt.Sprintf("%.0f %s/s", rate, p.unit)
}

// roundTime formats a duration, rounded to seconds below an hour, to minutes below two days, and to days
// above.
func roundTime(d time.Duration) string {
	switch {
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}
