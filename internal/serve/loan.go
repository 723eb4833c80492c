package serve

// lender lends memory to messages while they are read.
type lender interface {
	// lend takes bytes for a message, or says that there are none.
	lend(bytes int64) bool
	takeBack(bytes int64)
}

// loan is what the message that is being read has taken so far.
type loan struct {
	from  lender // nil if nobody counts
	bytes int64
}

func (l *loan) more(bytes int) bool {
	if l.from == nil {
		return true
	}
	if !l.from.lend(int64(bytes)) {
		return false
	}
	l.bytes += int64(bytes)
	return true
}

// handOver leaves the loan to whoever gets the message.
func (l *loan) handOver() int64 {
	bytes := l.bytes
	l.bytes = 0
	return bytes
}

// back gives back the loan of a message that is not kept.
func (l *loan) back() {
	if l.from != nil {
		l.from.takeBack(l.handOver())
	}
}
