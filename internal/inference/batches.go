package inference

import (
	"context"

	"github.com/sftseq/sftseq/internal/requests"
)

// gather calls the function read in a goroutine and returns a channel with batches of the values that
// this function sends. A batch has the values sent since the previous batch was received. It is complete
// when it has [requests.BatchRows] values or at least [requests.BatchTokens] tokens.
func gather[R interface{ Tokens() int }](ctx context.Context, read func(to chan<- R)) <-chan []R {
	rows, batches := make(chan R), make(chan []R)
	go func() {
		defer close(rows)
		read(rows)
	}()
	go collect(ctx, rows, batches)
	return batches
}

func collect[R interface{ Tokens() int }](ctx context.Context, rows <-chan R, batches chan<- []R) {
	defer close(batches)
	var waiting []R
	tokens := 0
	for rows != nil || len(waiting) > 0 {
		from, to := rows, batches
		if len(waiting) == 0 {
			to = nil
		}
		if len(waiting) >= requests.BatchRows || tokens >= requests.BatchTokens {
			from = nil
		}
		select {
		case r, ok := <-from:
			if !ok {
				rows = nil
				continue
			}
			waiting = append(waiting, r)
			tokens += r.Tokens()
		case to <- waiting:
			waiting, tokens = nil, 0
		case <-ctx.Done():
			return
		}
	}
}
