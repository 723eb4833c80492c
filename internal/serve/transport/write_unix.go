//go:build unix

package transport

import (
	"io"
	"net"
	"syscall"
)

// writeNonBlocking writes as much to a connection as possible without blocking, and nothing to other
// writers. It ignores errors, because the caller's blocking write of the rest reports them.
func writeNonBlocking(w io.Writer, p []byte) (n int) {
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
