// Package fair divides scarce resources among sessions: CPU time in turns, and any other service by a meter. The next
// turn goes to the session with the least service. A session below its share rarely waits for a small turn.
package fair
