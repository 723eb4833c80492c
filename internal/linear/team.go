package linear

import "sync"

// minShared is the minimum number of weights of a row whose columns are distributed to threads. For
// fewer weights, waking the threads takes longer than the work.
const minShared = 1 << 13

// team distributes the columns of rows to threads. The order of the terms in a column's sums does not
// depend on the number of threads.
type team struct {
	columns, workers int
	work             []chan func(from, to int) // one channel per thread except the caller's
	group            sync.WaitGroup
}

// newTeam starts the threads for rows with this number of columns. The method stop ends the threads.
func newTeam(columns, workers int) *team {
	t := &team{columns: columns, workers: max(1, min(workers, columns))}
	for w := 1; w < t.workers; w++ {
		work := make(chan func(from, to int))
		t.work = append(t.work, work)
		go func() {
			for f := range work {
				f(t.firstColumn(w), t.firstColumn(w+1))
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

// firstColumn returns the first column of a thread.
func (t *team) firstColumn(worker int) int { return t.columns * worker / t.workers }

// run calls f for all columns of a row with this number of features. If the row has fewer than
// minWeights weights, the caller's thread computes all columns. Otherwise each thread computes its own.
func (t *team) run(features, minWeights int, f func(from, to int)) {
	if t.workers == 1 || features*t.columns < minWeights {
		f(0, t.columns)
		return
	}
	t.group.Add(len(t.work))
	for _, work := range t.work {
		work <- f
	}
	f(0, t.firstColumn(1))
	t.group.Wait()
}
