package linear

import "sync"

// minShared is the number of weights of a row from which on threads share its columns: below, waking them takes longer
// than the work.
const minShared = 1 << 13

// team shares out the columns of rows to threads. A column's sums have one order, whoever computes them.
type team struct {
	columns, workers int
	work             []chan func(from, to int) // one for each thread but the caller's
	group            sync.WaitGroup
}

// newTeam starts the threads of rows with these columns; stop ends them.
func newTeam(columns, workers int) *team {
	t := &team{columns: columns, workers: max(1, min(workers, columns))}
	for w := 1; w < t.workers; w++ {
		work := make(chan func(from, to int))
		t.work = append(t.work, work)
		go func() {
			for f := range work {
				f(t.first(w), t.first(w+1))
				t.group.Done()
			}
		}()
	}
	return t
}

func (t *team) stop() {
	for _, work := range t.work {
		close(work)
	}
}

// first is the first column of a thread.
func (t *team) first(worker int) int { return t.columns * worker / t.workers }

// share calls f for all columns of a row with these features: on one thread where it has few weights, otherwise each
// thread for its columns.
func (t *team) share(features, least int, f func(from, to int)) {
	if t.workers == 1 || features*t.columns < least {
		f(0, t.columns)
		return
	}
	t.group.Add(len(t.work))
	for _, work := range t.work {
		work <- f
	}
	f(0, t.first(1))
	t.group.Wait()
}
