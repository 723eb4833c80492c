//go:build unix

package serve

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestListenTakesNoSocket: a dead server's socket is replaced, and that of one too
// busy to accept is not.
func TestListenTakesNoSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	busy, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(busy, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(busy, 0); err != nil {
		t.Fatal(err)
	}
	for { // fill its backlog
		c, err := net.Dial("unix", path)
		if err != nil {
			break
		}
		defer c.Close()
	}
	if _, err := Listen("unix:" + path); err == nil || !strings.Contains(err.Error(), "may listen") {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket is gone: %v", err)
	}
	syscall.Close(busy)
	l, err := Listen("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
