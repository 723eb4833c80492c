package serve

import (
	"math/bits"
	"slices"
	"time"
)

// queue holds the jobs that wait, by length: two lengths of a class differ by
// less than four times.
type queue struct {
	classes [][]*job // each in the order of arrival
	jobs    int
	tokens  int
}

// class is that of a number of tokens.
func class(tokens int) int { return bits.Len(uint(tokens)) / 2 }

func (q *queue) add(j *job) {
	c := class(j.tokens())
	for len(q.classes) <= c {
		q.classes = append(q.classes, nil)
	}
	q.classes[c] = append(q.classes[c], j)
	q.jobs++
	q.tokens += j.tokens()
}

// remove takes a job out, if it is there.
func (q *queue) remove(j *job) bool {
	c := class(j.tokens())
	if c >= len(q.classes) {
		return false
	}
	at := slices.Index(q.classes[c], j)
	if at < 0 {
		return false
	}
	q.classes[c] = slices.Delete(q.classes[c], at, at+1)
	q.jobs--
	q.tokens -= j.tokens()
	return true
}

// oldest is when the job arrived that waits longest.
func (q *queue) oldest() time.Time {
	var t time.Time
	for _, c := range q.classes {
		if len(c) > 0 && (t.IsZero() || c[0].arrived.Before(t)) {
			t = c[0].arrived
		}
	}
	return t
}

// take removes the jobs of the next batch, of about budget tokens. The class is
// the one whose first job is due: it is due when it arrived, and later by the
// time that it takes. So short jobs pass a long one, but not for ever. A long
// one, which fills a batch by itself, is left where long is false.
func (q *queue) take(budget int, perToken time.Duration, long bool) []*job {
	next := -1
	var due time.Time
	for i, c := range q.classes {
		if len(c) == 0 || !long && c[0].tokens() > budget {
			continue
		}
		d := c[0].arrived.Add(time.Duration(c[0].tokens()) * perToken)
		if next < 0 || d.Before(due) {
			next, due = i, d
		}
	}
	if next < 0 {
		return nil
	}
	first := q.classes[next][0]
	q.remove(first)
	batch, room := []*job{first}, budget-first.tokens()
	// Company of about the same length: a short job would wait for the others.
	for i := next; i >= max(0, next-1) && room > 0; i-- {
		kept := q.classes[i][:0]
		for _, j := range q.classes[i] {
			if j.tokens() <= room && j.work == first.work && j.model == first.model {
				batch = append(batch, j)
				room -= j.tokens()
				q.jobs--
				q.tokens -= j.tokens()
			} else {
				kept = append(kept, j)
			}
		}
		clear(q.classes[i][len(kept):])
		q.classes[i] = kept
	}
	return batch
}
