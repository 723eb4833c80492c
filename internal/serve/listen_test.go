//go:build unix

package serve

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// TestDrainingAcceptsNobody checks that a draining server closes new connections immediately.
func TestDrainingAcceptsNobody(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	must.Succeed(t, s.Drain(t.Context()))
	l := must.Get(transport.Listen(transport.Address{Network: "unix", Name: filepath.Join(t.TempDir(), "s")}))(t)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- s.ServeListener(ctx, l) }()
	defer func() { cancel(); <-ended }()
	conn := must.Get(net.Dial("unix", l.Addr().String()))(t)
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(waitLimit))
	if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got error %v, want EOF", err)
	}
}
