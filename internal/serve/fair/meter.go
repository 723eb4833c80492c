package fair

import "time"

// Meter tells whether a session has had more of something than its fair share. Its clock
// is what a session has had that always took just that: it advances by what any has,
// divided by how many take part.
type Meter struct {
	clock  time.Duration
	period int64  // of time, by which those who take part are counted
	counts [2]int // in this period and in the one before
}

// Usage is what one session has had. It is as of the clock: who asked for nothing for
// long has a credit, but not without end, and neither is what was had beyond the share
// remembered for long, or who had the server alone would wait for all who come later.
type Usage struct {
	begun  bool // see Join
	had    time.Duration
	period int64 // in which the session took part last
}

const (
	periodLength = 100 * time.Millisecond
	mostCredit   = 50 * time.Millisecond
	mostDebt     = 10 * time.Millisecond
	// lightBelow is how far below its fair share a light session is.
	lightBelow = 5 * time.Millisecond
)

// Join has a session take part from now on: light until it has had anything, and with no
// more credit than that. While it waits the clock goes on, and so its turn comes.
func (m *Meter) Join(u *Usage) {
	if !u.begun {
		*u = Usage{begun: true, had: m.clock - lightBelow, period: -1}
	}
}

// of is what a session has had, by the clock.
func (m *Meter) of(u *Usage) time.Duration { return max(u.had, m.clock-mostCredit) }

// Light reports whether a session has had less than its fair share lately.
func (m *Meter) Light(u *Usage) bool { return m.of(u)+lightBelow <= m.clock }

// Charge notes what a session has had.
func (m *Meter) Charge(u *Usage, d time.Duration) {
	if now := time.Now().UnixNano() / int64(periodLength); now != m.period {
		before := 0
		if now == m.period+1 {
			before = m.counts[0]
		}
		m.period, m.counts = now, [2]int{0, before}
	}
	m.Join(u)
	had := m.of(u)
	if u.period != m.period {
		u.period = m.period
		m.counts[0]++
	}
	u.had = min(had+d, m.clock+mostDebt)
	m.clock += d / time.Duration(max(m.counts[0], m.counts[1]))
}
