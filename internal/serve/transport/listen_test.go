//go:build unix

package transport

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestListenTakesNoSocket checks that Listen replaces a dead server's socket, but not the socket of a
// server with a full backlog.
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

// TestListenAsAsked checks that Listen listens on IPv4 only for an IPv4 address, accepts a path of maxPath
// bytes, and refuses a longer one.
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

// TestListenErrors checks that an error about an address names the next step, but not the address,
// because callers add it. It also checks addresses of HTTP servers.
func TestListenErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o666))
	for path, want := range map[string]string{
		filepath.Join(dir, "none", "s"): "no such file or directory: create the folder of the socket first, " +
			"or choose another path",
		filepath.Join(file, "s"): "not a directory: choose a path below a folder, not below a file",
		file:                     "expected a socket or no file, found a regular file: choose another path",
	} {
		if _, err := Listen(Address{"unix", path}); err == nil || err.Error() != want {
			t.Errorf("%s: got error %v, want %s", path, err, want)
		}
	}
	denied := &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)}
	for a, want := range map[Address]string{
		{"tcp", "127.0.0.1:80"}: "permission denied: choose port 1024 or higher, or grant the program the right to " +
			"use lower ports (on Linux the capability CAP_NET_BIND_SERVICE)",
		{"unix", "/run/s"}: "permission denied: choose a socket in a folder that you can write to",
	} {
		if err := describeListen(a, denied); err == nil || err.Error() != want || !errors.Is(err, syscall.EACCES) {
			t.Errorf("%s: got error %v, want %s", a, err, want)
		}
	}
	must.Fail(t, "expected HOST:PORT without tcp:")(ParseHTTP("tcp:127.0.0.1:8080"))
	for text, want := range map[string]string{"unix:/a": "unix:/a", ":80": "127.0.0.1:80"} {
		if a := must.Get(ParseHTTP(text))(t); a.String() != want {
			t.Errorf("got address %s, want %s", a, want)
		}
	}
}

// TestParseAddress checks that an empty host means 127.0.0.1, and that invalid addresses are errors. It
// also checks the distinction between public and other addresses.
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
			t.Errorf("%q: got %v, error %v, want %v (an error if empty)", text, a, err, want)
		}
	}
	for address, want := range map[string]bool{"127.0.0.1": false, "::1": false, "0.0.0.0": true,
		"::": true, "10.0.0.1": true} {
		if got := Public(&net.TCPAddr{IP: net.ParseIP(address)}); got != want {
			t.Errorf("%s: got public %v, want %v", address, got, want)
		}
	}
}
