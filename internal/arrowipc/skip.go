package arrowipc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
)

// Skip passes over the record batches that have nothing but the next rows, at most so many,
// and returns how many it has passed over. Of each it reads the metadata alone. The source
// must be one that can be read here and there.
func (s *Stream) Skip(rows int64) (skipped int64, err error) {
	if s.whole == nil {
		return 0, errors.New("expected a file that can be read here and there, found a pipe or a compressed one")
	}
	for {
		m, err := s.batch()
		if err == io.EOF {
			s.ended = true
			return skipped, nil
		}
		if err != nil {
			return skipped, err
		}
		n, err := m.header.int(0, 8)
		if err == nil && (n < 0 || n > math.MaxInt64-skipped) {
			err = fmt.Errorf("a record batch of %d rows, behind %d others", n, skipped)
		}
		if err != nil || n > rows-skipped {
			return skipped, err
		}
		if err := s.pass(m); err != nil {
			return skipped, err
		}
		skipped += n
	}
}

// pass leaves the body of the batch ahead behind.
func (s *Stream) pass(m *message) error {
	s.ahead = nil
	s.frames.offset += m.size
	left := s.whole.Size() - s.frames.offset
	if left < 0 {
		return truncated(io.ErrUnexpectedEOF, fmt.Sprintf("a message's body of %d bytes", m.size))
	}
	s.frames.r = bufio.NewReaderSize(io.NewSectionReader(s.whole, s.frames.offset, left), passBytes)
	return nil
}

// passBytes are read behind a body that was passed over: the metadata of the next message,
// most often.
const passBytes = 4 << 10
