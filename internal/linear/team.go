package linear

import "sync"

// minShared is the minimum number of weights of a row whose columns are distributed to workers. For
// fewer weights, waking the workers takes longer than the work.
const minShared = 1 << 13

// team distributes the columns of rows to workers. The order of the terms in a column's sums does not
// depend on the number of workers.
type team struct {
	columns, workers int
	work             []chan func(from, to int) // one channel per worker except the caller
	group            sync.WaitGroup
}

// newTeam starts the workers for rows with this number of columns. The method stop ends them.
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

// firstColumn returns the first column of a worker.
func (t *team) firstColumn(worker int) int { return t.columns * worker / t.workers }

// run calls f for all columns of a row with this number of features. If the row has fewer than
// minWeights weights, the calling goroutine computes all columns. Otherwise each worker computes its own.
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
