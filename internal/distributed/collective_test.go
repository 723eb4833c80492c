package distributed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/must"
)

// each runs f on several ranks concurrently and returns their errors.
func each(ranks int, f func(c *distributed.Local) error) []error {
	errs := make([]error, ranks)
	var wg sync.WaitGroup
	for r, c := range distributed.NewLocal(ranks) {
		wg.Go(func() { errs[r] = f(c) })
	}
	wg.Wait()
	return errs
}

// TestAgree checks that all ranks return the same error: a failure before a cancellation, and then
// the lowest rank's error. The failed rank's own error keeps its type.
func TestAgree(t *testing.T) {
	mine := errors.New("no space left")
	for name, c := range map[string]struct {
		errs []error
		rank int // rank of the returned error; -1 means no error
	}{
		"well":             {[]error{nil, nil, nil}, -1},
		"one":              {[]error{nil, mine, nil}, 1},
		"two":              {[]error{nil, mine, errors.New("another")}, 1},
		"stop":             {[]error{nil, context.Canceled, nil}, 1},
		"failure and stop": {[]error{context.Canceled, nil, fmt.Errorf("writing: %w", mine)}, 2},
		"wrapped stop":     {[]error{fmt.Errorf("step 3: %w", context.Canceled), nil, nil}, 0},
		"alone":            {[]error{mine}, 0},
	} {
		for rank, err := range each(len(c.errs), func(w *distributed.Local) error {
			words, err := distributed.Agree(w, c.errs[w.Rank()], uint64(w.Rank())<<40|7)
			if err == nil {
				for r, word := range words {
					if word != uint64(r)<<40|7 {
						return fmt.Errorf("got word %x of rank %d, want %x", word, r, uint64(r)<<40|7)
					}
				}
			}
			return err
		}) {
			var known *distributed.Error
			switch {
			case c.rank < 0:
				must.Check(t, err, name, "rank", rank)
			case !errors.As(err, &known) || known.Rank != c.rank:
				t.Errorf("%s, rank %d: got error %v, want the error of rank %d", name, rank, err, c.rank)
			case errors.Is(c.errs[c.rank], context.Canceled) != errors.Is(err, context.Canceled):
				t.Errorf("%s, rank %d: got error %v, want context.Canceled only after a cancellation", name, rank, err)
			case !errors.Is(err, context.Canceled) && !strings.HasSuffix(err.Error(), "no space left"):
				t.Errorf("%s, rank %d: got error %v, want no space left", name, rank, err)
			case rank == c.rank && errors.Is(c.errs[rank], mine) && !errors.Is(err, mine):
				t.Errorf("%s: got error %v on the failed rank, want its own error", name, err)
			}
		}
	}
}

// TestBytes checks Gather and Broadcast for byte strings of several lengths, and the error of
// Broadcast.
func TestBytes(t *testing.T) {
	texts := []string{"abc", "", strings.Repeat("x", 10007), "de"}
	for rank, err := range each(len(texts), func(c *distributed.Local) error {
		all, err := distributed.Gather(c, []byte(texts[c.Rank()]), nil)
		for r, b := range all {
			if string(b) != texts[r] {
				return fmt.Errorf("gathered %q from rank %d, want %q", b, r, texts[r])
			}
		}
		b, failed := distributed.Broadcast(c, []byte(texts[c.Rank()]), nil)
		if !slices.Equal(b, []byte(texts[0])) {
			return fmt.Errorf("broadcast %q, want %q", b, texts[0])
		}
		return errors.Join(err, failed)
	}) {
		must.Check(t, err, "rank", rank)
	}
	for rank, err := range each(3, func(c *distributed.Local) error {
		var err error
		if c.Rank() == 0 {
			err = errors.New("no such file")
		}
		_, err = distributed.Broadcast(c, nil, err)
		return err
	}) {
		if err == nil || err.Error() != "rank 0: no such file" {
			t.Errorf("rank %d: got error %v, want rank 0: no such file", rank, err)
		}
	}
}

// TestCompare checks that all ranks name the first rank with a different value, and both values. Equal
// values are not an error.
func TestCompare(t *testing.T) {
	for rank, err := range each(4, func(c *distributed.Local) error {
		has := map[string]string{"kernels": "avx2", "step": "7"}
		if c.Rank() >= 2 {
			has["step"] = fmt.Sprint(c.Rank())
		}
		return distributed.Compare(c, has, nil)
	}) {
		if err == nil || err.Error() != "rank 2 differs from rank 0 in step: it has 2, rank 0 has 7" {
			t.Errorf("rank %d: got error %v, want the steps of ranks 2 and 0", rank, err)
		}
	}
	for rank, err := range each(3, func(c *distributed.Local) error {
		return distributed.Compare(c, map[string]string{"step": "7"}, nil)
	}) {
		must.Check(t, err, "rank", rank)
	}
}
