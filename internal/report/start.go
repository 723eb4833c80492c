package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/sft/train"
)

// trainingTime returns the training time of a run. Each metrics line has the seconds since the start of
// the process that wrote the line. Steps that were lost when a process was killed do not count.
func trainingTime(m *train.Metrics, starts []provenance.Start) time.Duration {
	type line struct {
		step    int
		seconds float64
	}
	var lines []line
	for _, l := range m.Train {
		lines = append(lines, line{l.Step, l.Seconds})
	}
	for _, l := range m.Validation {
		lines = append(lines, line{l.Step, l.Seconds})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.step - b.step })
	sum, last := 0.0, 0.0
	starts = resumes(starts)
	for _, l := range lines {
		resumed := l.seconds < last
		for ; len(starts) > 0 && l.step > starts[0].Step; starts = starts[1:] {
			resumed = true
		}
		if resumed {
			sum, last = sum+last, 0
		}
		last = max(last, l.seconds)
	}
	return time.Duration((sum + last) * float64(time.Second))
}

// resumes returns the starts that resumed a run. It omits the first start, at step 0, which earlier
// versions did not record.
func resumes(starts []provenance.Start) []provenance.Start {
	if len(starts) > 0 && starts[0].Step == 0 {
		return starts[1:]
	}
	return starts
}

// formatDates returns when a run was started and last resumed.
func formatDates(starts []provenance.Start) string {
	const layout = "2006-01-02 15:04 MST"
	out, again := "not recorded", resumes(starts)
	if len(again) < len(starts) {
		out = starts[0].Time.Format(layout)
	}
	if n := len(again); n > 0 {
		out += fmt.Sprintf(", resumed %d×, last on %s", n, again[n-1].Time.Format(layout))
	}
	return out
}

// formatDuration returns a duration in seconds, or in two units if it is at least a minute.
func formatDuration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// joinDevices returns the distinct devices on which a run was trained, in order of their first use. The list
// begins with "not recorded" if the start at step 0 was not recorded.
func joinDevices(starts []provenance.Start) string {
	var out []string
	if len(resumes(starts)) == len(starts) {
		out = append(out, "not recorded")
	}
	for _, s := range starts {
		if !slices.Contains(out, s.Device) {
			out = append(out, s.Device)
		}
	}
	return strings.Join(out, ", then ")
}
