package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// itemText returns the text of the item with an id.
func itemText(id int) string {
	return fmt.Sprintf("[MAX %s ]", strings.Join(strings.Split(fmt.Sprint(id), ""), " "))
}

// server is a server process that reads and writes lines.
type server struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// startServer starts a server with an index.
func startServer(t *testing.T, program, index string) *server {
	t.Helper()
	c := exec.Command(program, "serve", "--log", "error", "--model", goldenPath("pre"), "--index", index)
	in, out := pipes(t, c)
	s := &server{c, in, out}
	s.call(t, "initialize", "{}", nil)
	return s
}

// call sends a request, waits for the response and stores its result. An error fails the test.
func (s *server) call(t *testing.T, method, params string, result any) {
	t.Helper()
	fmt.Fprintf(s.in, "{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":%q,\"params\":%s}\n", method, params)
	if !s.out.Scan() || strings.Contains(s.out.Text(), `"error"`) {
		t.Fatalf("%s %s: got response %q, read error %v; want a response without \"error\"", method, params,
			s.out.Text(), s.out.Err())
	}
	response := struct{ Result any }{result}
	if err := json.Unmarshal(s.out.Bytes(), &response); err != nil {
		t.Fatalf("%s: %v", s.out.Text(), err)
	}
}

// end closes the server's input and waits for its exit.
func (s *server) end(t *testing.T) {
	t.Helper()
	s.in.Close()
	must.Check(t, s.command.Wait())
}

// TestKillsOfServing kills a server while it adds to an index or opens it. Every acknowledged item
// remains in the index, and the index has no item that was not sent.
func TestKillsOfServing(t *testing.T) {
	program, file := built(t), filepath.Join(t.TempDir(), "index.arrow")
	acknowledged := map[int]bool{}
	k := newKiller(t, 4)
	next, total := 1, 0 // the next item to send, and the number of acknowledged items
	for round := 0; k.wantsMore(t); round++ {
		if round%4 == 3 { // kill while the server opens the index
			c := exec.Command(program, "serve", "--log", "error", "--model", goldenPath("pre"), "--index", file)
			pipes(t, c)
			time.Sleep(time.Duration(k.random.Float64() * float64(60*time.Millisecond)))
			c.Process.Kill()
			c.Wait()
			k.expectKilled(t, c, "")
			continue
		}
		s := startServer(t, program, file)
		expectItems(t, s, acknowledged, next)
		sent := make(chan int)
		go func() {
			for n := next; ; n++ {
				_, err := fmt.Fprintf(s.in,
					"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"retrieval/add\",\"params\":{\"id\":\"%d\",\"text\":%q}}\n", n, n, itemText(n))
				if err != nil {
					sent <- n + 1
					return
				}
				time.Sleep(100 * time.Microsecond)
			}
		}()
		timer := time.AfterFunc(time.Duration(k.random.Float64()*float64(200*time.Millisecond)),
			func() { _ = s.command.Process.Kill() })
		for s.out.Scan() {
			var id int
			if _, err := fmt.Sscanf(s.out.Text(), `{"jsonrpc":"2.0","id":%d,"result":{"id":`, &id); err == nil {
				acknowledged[id] = true
				total++
			} else if strings.HasSuffix(s.out.Text(), "}") { // the last response may be cut off
				t.Errorf("got response %.300s, want the id of an added item", s.out.Text())
			}
		}
		s.command.Wait()
		timer.Stop()
		k.expectKilled(t, s.command, "")
		next = <-sent
		if len(acknowledged) > 5000 { // limits the duration of the checks
			s := startServer(t, program, file)
			expectItems(t, s, acknowledged, next)
			s.end(t)
			clear(acknowledged)
			must.Succeed(t, os.Remove(file))
		}
	}
	s := startServer(t, program, file)
	expectItems(t, s, acknowledged, next)
	s.end(t)
	t.Logf("%d items were acknowledged", total)
}

// expectItems checks that the index has each acknowledged item and only sent items. It also searches for
// the texts of at most five acknowledged items, and expects an item with a cosine of 1. The last sent item
// has the id next − 1.
func expectItems(t *testing.T, s *server, acknowledged map[int]bool, next int) {
	t.Helper()
	var found struct {
		Items []struct {
			ID     int `json:",string"`
			Cosine float64
		}
	}
	s.call(t, "retrieval/search", `{"text":"[MAX 1 ]","k":10000}`, &found)
	existing := map[int]bool{}
	for _, i := range found.Items {
		if existing[i.ID] || i.ID < 1 || i.ID >= next {
			t.Errorf("item %d occurs twice or was not sent: the last sent item is %d", i.ID, next-1)
		}
		existing[i.ID] = true
	}
	for id := range acknowledged {
		if !existing[id] {
			t.Errorf("the acknowledged item %d is not among %d items", id, len(existing))
		}
	}
	searches := 0
	for id := range acknowledged { // at most five items, in random order
		if searches++; searches > 5 {
			break
		}
		s.call(t, "retrieval/search", fmt.Sprintf(`{"text":%q,"k":1}`, itemText(id)), &found)
		if len(found.Items) != 1 || found.Items[0].Cosine < 1-1e-6 {
			t.Errorf("search for item %d: got %+v, want one item with a cosine of at least 1-1e-6", id, found.Items)
		}
	}
}
