package evaluation

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/sft"
)

// CanRank reports whether a model compares pairs of sequences, has two classes and is not linear.
func CanRank(c *sft.Config) bool { return c.Sequences() == 2 && c.NumLabels == 2 && !c.IsLinear() }

// Rank ranks all other documents for each query. It sorts them by the log odds of class 1 of the
// pair (query, document). The command serve sorts by the probability, which has the same order up to
// rounding. The queries are the first documents of pairs of class 1, and limit is their maximum number.
// Without queries the result is nil. Otherwise Rank calls start with the number of queries. It calls
// the returned function done after each query, from several goroutines.
func (d *Documents) Rank(ctx context.Context, limit int,
	start func(queries int) (done func())) (*metrics.Ranking, error) {
	queries, total := d.queries(limit)
	if len(queries) == 0 {
		return nil, nil
	}
	done := start(len(queries))
	ranked, chance := make([]metrics.Ranked, len(queries)), make([]metrics.Ranked, len(queries))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range d.scorer.Slots() {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(queries) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				q := queries[i]
				scores, err := d.scores(ctx, q)
				if err != nil {
					cancel(err)
					return
				}
				related := d.relatedTo(q)
				ranked[i], chance[i] = metrics.Rank(scores, related), metrics.Chance(len(scores), len(related))
				done()
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	r := metrics.NewRanking(ranked, chance)
	r.AllQueries, r.Documents = total, len(d.all)
	return r, nil
}

// queries returns the queries with the smallest fingerprints, and the total number of queries. limit is
// the maximum number of returned queries. The selection depends neither on the model nor on the row
// order.
func (d *Documents) queries(limit int) (drawn []int, total int) {
	for n, x := range d.all {
		if len(x.related) > 0 {
			drawn = append(drawn, n)
		}
	}
	slices.SortFunc(drawn, func(a, b int) int {
		return bytes.Compare(d.all[a].fingerprint[:], d.all[b].fingerprint[:])
	})
	return drawn[:min(limit, len(drawn))], len(drawn)
}

// scores returns the score of every document except the query.
func (d *Documents) scores(ctx context.Context, query int) ([]float64, error) {
	var candidates [][]float32
	for n, x := range d.all {
		if n != query {
			candidates = append(candidates, x.vector)
		}
	}
	first := slices.Repeat([][]float32{d.all[query].vector}, len(candidates))
	logits, err := d.scorer.Compare(ctx, first, candidates)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, len(candidates))
	for i := range scores {
		scores[i] = float64(logits[2*i+1]) - float64(logits[2*i])
		if scores[i]-scores[i] != 0 {
			candidate := i
			if i >= query {
				candidate++
			}
			return nil, fmt.Errorf("documents of rows %d and %d: logits %v, expected finite numbers",
				d.all[query].row, d.all[candidate].row, logits[2*i:2*i+2])
		}
	}
	return scores, nil
}

// relatedTo returns the positions of a query's related documents in the result of scores.
func (d *Documents) relatedTo(query int) []int {
	related := slices.Clone(d.all[query].related)
	slices.Sort(related)
	related = slices.Compact(related) // a pair may occur twice
	for i, n := range related {
		if n > query {
			related[i]--
		}
	}
	return related
}
