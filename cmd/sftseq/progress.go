package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressEvery is how often a progress line appears where there is no terminal.
const progressEvery = 5 * time.Second

// A progress shows how far a long task is, on standard error: a bar with the
// time left on a terminal, otherwise a plain line every few seconds, so that a
// log stays readable. It is safe for concurrent use.
type progress struct {
	mu    sync.Mutex
	bar   *progressbar.ProgressBar // nil where plain lines are written
	out   io.Writer
	what  string
	unit  string
	done  int64
	total int64 // or below 1 if not known
	start time.Time
	last  time.Time
	quiet bool // no line was written yet
}

// newProgress begins a task of total units (0 if not known): "generating
// listops", "rows".
func newProgress(total int64, what, unit string) *progress {
	p := &progress{out: os.Stderr, what: what, unit: unit, total: total, start: time.Now(), quiet: true}
	p.last = p.start
	if isTerminal(p.out) {
		limit := total
		if limit < 1 {
			limit = -1 // a spinner
		}
		p.bar = progressbar.NewOptions64(limit,
			progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString(unit),
			progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetWidth(24), progressbar.OptionClearOnFinish())
	}
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Add counts n more units.
func (p *progress) Add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if p.bar != nil {
		_ = p.bar.Add64(n) // a bar that cannot be drawn is no reason to stop
		return
	}
	if now := time.Now(); now.Sub(p.last) >= progressEvery {
		p.last, p.quiet = now, false
		fmt.Fprintln(p.out, p.line(now))
	}
}

// Grow makes the task n units longer.
func (p *progress) Grow(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total += n
	if p.bar != nil && p.total > 0 {
		p.bar.ChangeMax64(p.total)
	}
}

// Finish ends the bar. Plain lines end with the total if there were any.
func (p *progress) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
		return
	}
	if !p.quiet {
		p.quiet = true // and nothing more, however often it is called
		fmt.Fprintf(p.out, "%s: %d %s in %s\n", p.what, p.done, p.unit, time.Since(p.start).Round(time.Second))
	}
}

// line is "generating listops: 4000 of 96000 rows (4%), 2100 rows/s, 44s left".
func (p *progress) line(now time.Time) string {
	rate := float64(p.done) / now.Sub(p.start).Seconds()
	shown := fmt.Sprintf("%.0f", rate)
	if rate < 10 {
		shown = fmt.Sprintf("%.2g", rate)
	}
	if p.total < 1 || p.done < 1 {
		return fmt.Sprintf("%s: %d %s, %s %s/s", p.what, p.done, p.unit, shown, p.unit)
	}
	left := time.Duration(float64(max(0, p.total-p.done)) / rate * float64(time.Second))
	return fmt.Sprintf("%s: %d of %d %s (%d%%), %s %s/s, %s left", p.what, p.done, p.total, p.unit,
		100*p.done/p.total, shown, p.unit, left.Round(time.Second))
}
