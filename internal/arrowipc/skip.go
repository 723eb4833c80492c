package arrowipc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
)

// Skip skips whole record batches with at most the given number of rows in total, and returns the
// number of skipped rows. It does not read the bodies of the skipped batches. The source must be
// seekable.
func (s *Stream) Skip(rows int64) (skipped int64, err error) {
	if s.whole == nil {
		return 0, errors.New("expected a seekable file, found a pipe or a compressed file")
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
			err = fmt.Errorf("invalid row count %d of a record batch after %d rows", n, skipped)
		}
		if err != nil || n > rows-skipped {
			return skipped, err
		}
		if err := s.skipBody(m); err != nil {
			return skipped, err
		}
		skipped += n
	}
}

// skipBody skips the body of the pending batch.
func (s *Stream) skipBody(m *message) error {
	s.pending = nil
	s.frames.offset += m.size
	left := s.whole.Size() - s.frames.offset
	if left < 0 {
		return truncated(io.ErrUnexpectedEOF, fmt.Sprintf("a message's body of %d bytes", m.size))
	}
	s.frames.r = bufio.NewReaderSize(io.NewSectionReader(s.whole, s.frames.offset, left), skipBytes)
	return nil
}

// skipBytes is the number of bytes read after a skipped body. They usually contain the metadata of
// the next message.
const skipBytes = 4 << 10
