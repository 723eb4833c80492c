package transport

// Lender lends memory to messages while they are read.
type Lender interface {
	// Lend takes bytes for a message, or says that there are none.
	Lend(bytes int64) bool
	// TakeBack has what was lent for a message that is not kept.
	TakeBack(bytes int64)
}

// loan is what the message that is being read has taken so far.
type loan struct {
	from  Lender // nil if nobody counts
	bytes int64
}

func (l *loan) more(bytes int) bool {
	if l.from == nil {
		return true
	}
	if !l.from.Lend(int64(bytes)) {
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
		l.from.TakeBack(l.handOver())
	}
}
