package serve

import (
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// TestClosedIsGone checks that the server drops the requests of a client that closed its Unix
// socket. If the client closed only its sending half, the server completes the requests.
func TestClosedIsGone(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	release := blockBatches(s)
	gone, half := dial(t, s).initialize(struct{}{}), dial(t, s).initialize(struct{}{})
	for _, c := range []*client{gone, half} {
		c.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	}
	half.closeWrite()
	eventually(t, "the two requests are not pending", func() bool { return s.inflight() == 2 })
	gone.conn.Close()
	select {
	case err := <-gone.ended:
		must.Fail(t, "", "the session ended without an error")(err)
	case <-time.After(waitLimit):
		t.Fatal("the session of the closed socket did not end")
	}
	time.Sleep(200 * time.Millisecond) // longer than the server's interval between checks for closed sockets
	close(release)
	if rest, err := half.end(); len(rest) != 1 || err != nil {
		t.Errorf("got messages %q, error %v, want one response", rest, err)
	}
}
