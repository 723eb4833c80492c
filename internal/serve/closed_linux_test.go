package serve

import (
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// TestClosedIsGone: nothing is computed for a client that has closed its unix socket,
// and everything for one that has only ended what it sends.
func TestClosedIsGone(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	release := hold(s)
	gone, half := dial(t, s).initialize(struct{}{}), dial(t, s).initialize(struct{}{})
	for _, c := range []*client{gone, half} {
		c.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	}
	half.closeWrite()
	eventually(t, "not both wait", func() bool { return s.inflight() == 2 })
	gone.conn.Close()
	select {
	case err := <-gone.ended:
		must.Fail(t, "", "it ended well")(err)
	case <-time.After(patience):
		t.Fatal("its session goes on")
	}
	time.Sleep(200 * time.Millisecond) // longer than a look takes to come
	close(release)
	if rest, err := half.end(); len(rest) != 1 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}
