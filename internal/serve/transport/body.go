package transport

import (
	"errors"
	"io"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// ReadBody reads the body of an HTTP request, which may have at most limit bytes. length is the
// Content-Length, or -1 if unknown. A client may declare more than it sends, so the buffer grows with the
// received bytes, up to the smaller of length and limit + 1. ReadBody borrows memory beyond jsonlines.Free
// bytes from the lender. If the body is too long or the lender refuses, ReadBody sets m.Err and discards
// up to maxDiscard further bytes. whole reports whether the body was read to its end; only then can the
// connection be reused. err is the first error of r other than io.EOF, or nil.
func ReadBody(r io.Reader, length int64, limit, maxDiscard int, lender Lender) (m Message, whole bool, err error) {
	l := loan{lender: lender}
	longest := limit + 1
	if length >= 0 {
		longest = int(min(int64(longest), length))
	}
	body, room := []byte(nil), jsonlines.Free
	for {
		if int64(len(body)) == length {
			m.Body, m.Room = body, l.handOver()
			return m, true, nil
		}
		if len(body) == cap(body) {
			step := min(max(cap(body), 4096), longest-len(body))
			if need := len(body) + step - room; need > 0 {
				if !l.extend(need) {
					m.Err = &jsonlines.NoRoom{Bytes: int64(len(body) + step)}
					break
				}
				room += need
			}
			body = append(make([]byte, 0, len(body)+step), body...)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if len(body) > limit {
			m.Err = &jsonlines.TooLong{Bytes: int64(len(body)), Limit: limit}
			break
		}
		if err == io.EOF {
			m.Body, m.Room = body, l.handOver()
			return m, true, nil
		}
		if err != nil {
			l.giveBack()
			return m, false, err
		}
	}
	l.giveBack()
	body = nil
	_, err = io.CopyN(io.Discard, r, int64(maxDiscard))
	if errors.Is(err, io.EOF) {
		return m, true, nil
	}
	return m, false, err
}
