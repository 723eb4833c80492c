package transport

// Lender lends memory for messages while they are read.
type Lender interface {
	// Lend reserves bytes for a message, or returns false if too little memory is free.
	Lend(bytes int64) bool
	// TakeBack releases the bytes of a message that is not kept.
	TakeBack(bytes int64)
}

// loan is the memory borrowed for the current message.
type loan struct {
	lender Lender // nil if memory is not counted
	bytes  int64
}

func (l *loan) extend(bytes int) bool {
	if l.lender == nil {
		return true
	}
	if !l.lender.Lend(int64(bytes)) {
		return false
	}
	l.bytes += int64(bytes)
	return true
}

// handOver passes the loan to the receiver of the message and returns its size in bytes.
func (l *loan) handOver() int64 {
	bytes := l.bytes
	l.bytes = 0
	return bytes
}

// giveBack returns the loan to the lender, because the message is not kept.
func (l *loan) giveBack() {
	if l.lender != nil {
		l.lender.TakeBack(l.handOver())
	}
}
