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
)

// Address is where a server can be reached, as the package net has it.
type Address struct{ Network, Name string }

// ParseAddress reads unix:PATH or tcp:HOST:PORT.
func ParseAddress(text string) (Address, error) {
	network, rest, _ := strings.Cut(text, ":")
	switch {
	case network == "unix" && rest != "":
		return Address{"unix", rest}, nil
	case network == "tcp":
		return ParseTCP(rest)
	}
	return Address{}, errors.New("expected unix:PATH or tcp:HOST:PORT")
}

// ParseTCP reads HOST:PORT. The host is this machine alone unless it is named: nobody
// else is meant to be served by accident.
func ParseTCP(text string) (Address, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Address{}, fmt.Errorf("expected HOST:PORT: %w", err)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return Address{}, fmt.Errorf("expected a port of 0 to 65535: %w", err)
	}
	return Address{"tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)}, nil
}

// ParseHTTP reads the address of a server of HTTP: HOST:PORT as [ParseTCP] does, or unix:PATH.
func ParseHTTP(text string) (Address, error) {
	path, ok := strings.CutPrefix(text, "unix:")
	switch {
	case ok && path != "":
		return Address{"unix", path}, nil
	case ok:
		return Address{}, errors.New("expected HOST:PORT or unix:PATH")
	}
	return ParseTCP(text)
}

// URL returns the address of a server of HTTP as curl and browsers write it; a socket is unix:PATH.
func URL(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix:" + a.String()
	}
	return "http://" + a.String()
}

// Listen opens an address. The socket of a server that was killed is replaced.
func Listen(a Address) (net.Listener, error) {
	if a.Network == "unix" {
		if len(a.Name) > maxPath {
			return nil, fmt.Errorf("expected a path of at most %d bytes, found one of %d", maxPath, len(a.Name))
		}
		if err := removeDead(a.Name); err != nil {
			return nil, err
		}
	}
	// An IPv4 address means IPv4 alone: for 0.0.0.0 with tcp, package net would also listen on IPv6.
	network := a.Network
	if p, err := netip.ParseAddrPort(a.Name); err == nil && p.Addr().Is4() {
		network = "tcp4"
	}
	return net.Listen(network, a.Name)
}

// maxPath is the longest path that the system takes for a socket.
const maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// Public reports whether other machines may reach an address.
func Public(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}

// removeDead removes a socket that nobody listens on.
func removeDead(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("expected a socket or nothing, found %v", info.Mode())
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
		return fmt.Errorf("%s: another server listens there", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) { // such as a server with a full backlog
		return fmt.Errorf("another server may listen there: %w", err)
	}
	return os.Remove(path)
}
