package transport

import (
	"errors"
	"io"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// ReadBody reads what follows the headers of a request of HTTP to its end, at most limit
// bytes. Length is what its header states, -1 if nothing: the buffer has no more than that. A
// long body takes from the lender what its buffer has as its bytes come, as a length may be a
// lie. A message with an error has been read to its end, unless it has more than limit bytes
// and most: then the stream cannot go on behind it.
func ReadBody(r io.Reader, length int64, limit, most int, from Lender) (m Message, whole bool, err error) {
	l := loan{from: from}
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
				if !l.more(need) {
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
			l.back()
			return m, false, err
		}
	}
	l.back()
	body = nil
	_, err = io.CopyN(io.Discard, r, int64(most))
	if errors.Is(err, io.EOF) {
		return m, true, nil
	}
	return m, false, err
}
