package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// startTCP serves JSON-RPC over TCP until the test ends and returns the address.
func startTCP(t *testing.T, s *Server) net.Addr {
	t.Helper()
	l := must.Get(transport.Listen(transport.Address{Network: "tcp", Name: "127.0.0.1:0"}))(t)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- s.ServeListener(ctx, l) }()
	t.Cleanup(func() { cancel(); <-ended })
	return l.Addr()
}

// openWithoutReading connects over TCP and returns once the server has computed n responses. The client has not
// read any of them.
func openWithoutReading(t *testing.T, s *Server, n int) net.Conn {
	t.Helper()
	conn := must.Get(net.Dial("tcp", startTCP(t, s).String()))(t)
	t.Cleanup(func() { conn.Close() })
	conn.(*net.TCPConn).SetReadBuffer(1 << 15)
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":"i","method":"initialize"}`)
	for i := range n {
		fmt.Fprintf(conn, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sequence/embed\",\"params\":{\"tokens\":[1]}}\n",
			i)
	}
	eventually(t, "some requests are not computed", func() bool { return s.stats().Sequences == int64(n) })
	return conn
}

// sendFlood writes requests until the connection ends.
func sendFlood(conn net.Conn) {
	late := strings.Repeat("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"model/info\"}\n", 100)
	for {
		if _, err := io.WriteString(conn, late); err != nil {
			return
		}
	}
}

// TestDrainLosesNothing checks that Drain delivers all computed responses over TCP to a client that
// reads late and keeps writing.
func TestDrainLosesNothing(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	s.grace = 200 * time.Millisecond
	const n = 500
	conn := openWithoutReading(t, s, n)
	go sendFlood(conn)
	drained := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		drained <- s.Drain(ctx)
	}()
	time.Sleep(2 * s.grace)
	embedded := 0
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"embedding"`) {
			embedded++
		}
	}
	conn.Close()
	if embedded != n || lines.Err() != nil {
		t.Errorf("got %d responses, error %v; want %d responses", embedded, lines.Err(), n)
	}
	must.Check(t, <-drained)
}

// TestDrainWaitsForNobody checks that Drain ends in time although clients do not close their
// connections or do not read.
func TestDrainWaitsForNobody(t *testing.T) {
	for _, c := range []struct {
		name     string
		deadline time.Duration
		leave    func(net.Conn)
	}{
		{"reads and is silent", waitLimit, func(conn net.Conn) { io.Copy(io.Discard, conn) }},
		{"never reads", time.Second / 2, func(net.Conn) {}},
		{"only writes", time.Second / 2, sendFlood},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startServer(t, testOptions(t, "pre"))
			s.grace = 100 * time.Millisecond
			go c.leave(openWithoutReading(t, s, 500))
			ctx, cancel := context.WithTimeout(context.Background(), c.deadline)
			defer cancel()
			began := time.Now()
			must.Check(t, s.Drain(ctx))
			if took := time.Since(began); took > c.deadline+5*time.Second ||
				c.deadline == waitLimit && ctx.Err() != nil {
				t.Errorf("deadline %v: took %v, context error %v; want at most %v, and no error if the deadline is %v",
					c.deadline, took, ctx.Err(), c.deadline+5*time.Second, waitLimit)
			}
		})
	}
}

// TestBadHeaderLosesNothing checks that a client that reads late gets the responses to the requests
// before a malformed header, and the error for this header.
func TestBadHeaderLosesNothing(t *testing.T) {
	o := testOptions(t, "pre")
	o.Framing = transport.LSP
	s := startServer(t, o)
	s.grace = 200 * time.Millisecond
	conn := must.Get(net.Dial("tcp", startTCP(t, s).String()))(t)
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(1 << 15)
	send := func(m string) { fmt.Fprintf(conn, "Content-Length: %d\r\n\r\n%s", len(m), m) }
	send(`{"jsonrpc":"2.0","id":"i","method":"initialize"}`)
	const n = 500
	for i := range n {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sequence/embed","params":{"tokens":[1]}}`, i))
	}
	eventually(t, "some requests are not computed", func() bool { return s.stats().Sequences == int64(n) })
	io.WriteString(conn, "Content-Lenght: 10\r\n\r\n"+strings.Repeat("y", 200000))
	time.Sleep(300 * time.Millisecond)
	all, err := io.ReadAll(conn)
	if got := strings.Count(string(all), `"embedding"`); err != nil || got != n ||
		!strings.Contains(string(all), "-32700") {
		t.Errorf("got %d of %d responses, %v, want all and an error -32700", got, n, err)
	}
}
