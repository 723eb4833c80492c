// Package fair divides scarce resources among sessions: CPU time in turns, and any other service by a meter. The next
// turn goes to the session with the least service, and a session below its share does not wait.
package fair
