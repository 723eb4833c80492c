//go:build unix

package transport

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestListenTakesNoSocket checks that Listen replaces the socket of a dead server, but not that of
// a server with a full backlog.
func TestListenTakesNoSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	busy := must.Get(syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))(t)
	must.Succeed(t, syscall.Bind(busy, &syscall.SockaddrUnix{Name: path}))
	must.Succeed(t, syscall.Listen(busy, 0))
	for { // fills the backlog
		c, err := net.Dial("unix", path)
		if err != nil {
			break
		}
		defer c.Close()
	}
	a := must.Get(ParseAddress("unix:" + path))(t)
	must.Fail(t, "may listen")(Listen(a))
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("Listen removed the socket of a busy server: %v", err)
	}
	syscall.Close(busy)
	l := must.Get(Listen(a))(t)
	l.Close()
}

// TestListenAsAsked checks that an IPv4 address listens on IPv4 only, and that a long path gets an
// error.
func TestListenAsAsked(t *testing.T) {
	l := must.Get(Listen(Address{"tcp", "0.0.0.0:0"}))(t)
	defer l.Close()
	if a := l.Addr().String(); !strings.HasPrefix(a, "0.0.0.0:") {
		t.Errorf("got listener %s, want 0.0.0.0", a)
	}
	dir := t.TempDir() + "/"
	long := dir + strings.Repeat("s", maxPath+1-len(dir))
	must.Fail(t, "expected a path of at most")(Listen(Address{"unix", long}))
	l = must.Get(Listen(Address{"unix", long[:maxPath]}))(t)
	l.Close()
}

// TestParseAddress checks that an empty host means 127.0.0.1, and which addresses are public.
func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"unix:/a:b":      {"unix", "/a:b"},
		"tcp::80":        {"tcp", "127.0.0.1:80"},
		"tcp:0.0.0.0:80": {"tcp", "0.0.0.0:80"},
		"tcp:[::1]:http": {"tcp", "[::1]:http"},
		"unix:":          {},
		"tcp:80":         {},
		"tcp:a:80000":    {},
		"tcp:":           {}, "tcp:nothing": {}, "udp:1": {}, "/tmp/x": {},
		"127.0.0.1:80": {},
		"":             {},
	} {
		if a, err := ParseAddress(text); a != want || (err == nil) != (want != Address{}) {
			t.Errorf("%q: got %v, error %v", text, a, err)
		}
	}
	for address, want := range map[string]bool{"127.0.0.1": false, "::1": false, "0.0.0.0": true,
		"::": true, "10.0.0.1": true} {
		if got := Public(&net.TCPAddr{IP: net.ParseIP(address)}); got != want {
			t.Errorf("%s: got public %v", address, got)
		}
	}
}
