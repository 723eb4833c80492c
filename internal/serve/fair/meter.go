package fair

import "time"

// Meter decides whether a session has received less than its fair share of a service. Its clock is the service that a
// continuously active session would have received (virtual time). The clock advances by the service of each session,
// divided by the number of active sessions.
type Meter struct {
	clock  time.Duration
	period int64  // number of the current period, see periodLength
	counts [2]int // active sessions in the current and in the previous period
}

// Usage is the service of one session, relative to the clock. An idle session accrues a bounded
// credit. The debt for service above the share is bounded as well; otherwise a session that once
// had the server alone would wait for all later sessions.
type Usage struct {
	joined  bool // Join was called
	service time.Duration
	period  int64 // last period in which the session was charged
}

const (
	periodLength = 100 * time.Millisecond // time over which active sessions are counted
	maxCredit    = 50 * time.Millisecond
	maxDebt      = 10 * time.Millisecond
	// lightBelow is the minimum difference between the clock and the service of a light session.
	lightBelow = 5 * time.Millisecond
)

// Join starts to count a session unless it has joined before. The session begins as light, with a
// credit of lightBelow. While the session waits, the clock advances, so the session gets its turn.
func (m *Meter) Join(u *Usage) {
	if !u.joined {
		*u = Usage{joined: true, service: m.clock - lightBelow, period: -1}
	}
}

// serviceOf returns a session's service on the clock's scale, with a bounded credit.
func (m *Meter) serviceOf(u *Usage) time.Duration { return max(u.service, m.clock-maxCredit) }

// Light reports whether a session has recently received at least lightBelow less than its fair share.
func (m *Meter) Light(u *Usage) bool { return m.serviceOf(u)+lightBelow <= m.clock }

// Charge adds d to a session's service and advances the clock.
func (m *Meter) Charge(u *Usage, d time.Duration) {
	if now := time.Now().UnixNano() / int64(periodLength); now != m.period {
		before := 0
		if now == m.period+1 {
			before = m.counts[0]
		}
		m.period, m.counts = now, [2]int{0, before}
	}
	m.Join(u)
	usage := m.serviceOf(u)
	if u.period != m.period {
		u.period = m.period
		m.counts[0]++
	}
	u.service = min(usage+d, m.clock+maxDebt)
	m.clock += d / time.Duration(max(m.counts[0], m.counts[1]))
}
