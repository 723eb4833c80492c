package fair

import "time"

// Meter decides whether a session has received more than its fair share of a service. Its clock is the service that a
// continuously active session would have received (virtual time): it advances by any session's service divided by the
// number of active sessions.
type Meter struct {
	clock  time.Duration
	period int64  // period over which active sessions are counted
	counts [2]int // in this period and in the one before
}

// Usage is the service of one session, relative to the clock. An idle session accrues a bounded credit. Service beyond
// the share is bounded as well, or a session that had the server alone would wait for all later ones.
type Usage struct {
	begun  bool // see Join
	had    time.Duration
	period int64 // in which the session took part last
}

const (
	periodLength = 100 * time.Millisecond
	maxCredit    = 50 * time.Millisecond
	maxDebt      = 10 * time.Millisecond
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
func (m *Meter) of(u *Usage) time.Duration { return max(u.had, m.clock-maxCredit) }

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
	u.had = min(had+d, m.clock+maxDebt)
	m.clock += d / time.Duration(max(m.counts[0], m.counts[1]))
}
