// Package fair shares what is short out among sessions: the processor's time, in turns, and
// by a meter whatever else is taken in pieces. The next piece is for the session that has had
// least, and one that has had less than its share does not wait.
package fair
