package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/sft"
)

// TestTimeLeftIsShown: the time left is the trainer's estimate, on a bar and in plain lines.
func TestTimeLeftIsShown(t *testing.T) {
	left := func() (time.Duration, bool) { return 90*time.Second + time.Millisecond, true }
	for _, bar := range []bool{false, true} {
		var out strings.Builder
		p := newTrainProgress(&out)
		p.steps, p.left, p.last = 4, left, time.Now()
		if bar {
			p.bar = newTrainBar(&out, p.steps)
		}
		p.observe(sft.StepReport{Step: 4, Loss: 1, TokensPerS: 12345})
		if text := out.String(); !strings.Contains(text, "12.3k tokens/s  1m30s left") {
			t.Errorf("bar %v: %q", bar, text)
		}
	}
}
