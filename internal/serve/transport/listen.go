package transport

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// Address is a server's address, with the network names of package net.
type Address struct{ Network, Name string }

// ParseAddress parses unix:PATH or tcp:HOST:PORT.
func ParseAddress(text string) (Address, error) {
	network, rest, _ := strings.Cut(text, ":")
	switch {
	case network == "unix" && rest != "":
		return Address{"unix", rest}, nil
	case network == "tcp":
		if _, _, err := net.SplitHostPort(rest); err == nil {
			return ParseTCP(rest)
		}
	}
	return Address{}, errors.New("expected unix:PATH or tcp:HOST:PORT, such as tcp:127.0.0.1:8080")
}

// ParseTCP parses HOST:PORT. An empty host means 127.0.0.1, so that a server is not public by
// accident.
func ParseTCP(text string) (Address, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil && strings.HasPrefix(text, "tcp:") {
		return Address{}, errors.New("expected HOST:PORT without tcp:, such as 127.0.0.1:8080")
	}
	if err != nil {
		return Address{}, errors.New("expected HOST:PORT, such as 127.0.0.1:8080")
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return Address{}, fmt.Errorf("expected a port from 0 to 65535, found %q", port)
	}
	return Address{"tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)}, nil
}

// ParseHTTP parses the address of an HTTP server: HOST:PORT as in [ParseTCP], or unix:PATH.
func ParseHTTP(text string) (Address, error) {
	path, ok := strings.CutPrefix(text, "unix:")
	switch {
	case ok && path != "":
		return Address{"unix", path}, nil
	case ok:
		return Address{}, errors.New("expected HOST:PORT or unix:PATH")
	case !strings.Contains(text, ":"):
		return Address{}, errors.New("expected HOST:PORT, such as 127.0.0.1:8080, or unix:PATH")
	}
	return ParseTCP(text)
}

// URL returns the URL of an HTTP server, or unix:PATH for a socket.
func URL(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix:" + a.String()
	}
	return "http://" + a.String()
}

// String returns HOST:PORT or unix:PATH, as in the flags for HTTP.
func (a Address) String() string {
	if a.Network == "unix" {
		return "unix:" + a.Name
	}
	return a.Name
}

// Listen listens on an address. It replaces the socket of a dead server.
func Listen(a Address) (net.Listener, error) {
	if a.Network == "unix" {
		if len(a.Name) > maxPath {
			return nil, fmt.Errorf("expected a path of at most %d bytes, found %d: choose a shorter path", maxPath,
				len(a.Name))
		}
		if err := removeStaleSocket(a.Name); err != nil {
			return nil, err
		}
	}
	// An IPv4 address means IPv4 only: for 0.0.0.0 with tcp, package net would also listen on IPv6.
	network := a.Network
	if p, err := netip.ParseAddrPort(a.Name); err == nil && p.Addr().Is4() {
		network = "tcp4"
	}
	l, err := net.Listen(network, a.Name)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the address is in use: stop the program that listens on it, or choose another "+
			"address (%w)",
			syscall.EADDRINUSE)
	}
	return l, describeListen(a, err)
}

// describeListen adds the next step, if it knows one, to an error of package net about listening on an
// address. It omits the address, because callers add it.
func describeListen(a Address, err error) error {
	switch op := (*net.OpError)(nil); {
	case errors.Is(err, syscall.EACCES) && a.Network == "tcp":
		return fmt.Errorf("%w: choose port 1024 or higher, or grant the program the right to use lower ports (on "+
			"Linux the capability CAP_NET_BIND_SERVICE)", syscall.EACCES)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w: choose a socket in a folder that you can write to", syscall.EACCES)
	case errors.Is(err, syscall.ENOENT) && a.Network == "unix":
		return fmt.Errorf("%w: create the folder of the socket first, or choose another path", syscall.ENOENT)
	case errors.As(err, &op):
		return op.Err
	}
	return err
}

// maxPath is the maximum length of a socket's path in bytes.
const maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// Public reports whether other machines can reach an address.
func Public(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}

// removeStaleSocket removes a socket without a listener. Any other existing file is an error.
func removeStaleSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: choose a path below a folder, not below a file", syscall.ENOTDIR)
	}
	if err != nil {
		return fmt.Errorf("looking for an existing socket: %w", atomicfile.Cause(err))
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("expected a socket or no file, found %s: choose another path", atomicfile.Kind(info.Mode()))
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
		return errors.New("another server listens on this socket: stop it, or choose another path")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) { // for example a server with a full backlog
		return fmt.Errorf("another server may listen on this socket: %w", err)
	}
	return os.Remove(path)
}
