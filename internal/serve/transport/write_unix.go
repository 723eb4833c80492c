//go:build unix

package transport

import (
	"io"
	"net"
	"syscall"
)

// writeNow writes as much to a connection as it takes without waiting, and nothing to
// what is none. What is wrong with it is found by the write of the rest.
func writeNow(w io.Writer, p []byte) (n int) {
	if _, ok := w.(net.Conn); !ok {
		return 0
	}
	conn, ok := w.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	raw.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), p)
		return true
	})
	return max(0, n)
}
