package transport

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasUnreceivedData reports whether the client's machine has not yet acknowledged all written data.
// For a Unix socket it returns false, because written data is received immediately.
func hasUnreceivedData(conn net.Conn) bool {
	waiting := 0
	if tcp, ok := conn.(*net.TCPConn); ok {
		control(tcp, func(fd int) { waiting, _ = unix.IoctlGetInt(fd, unix.SIOCOUTQ) })
	}
	return waiting > 0
}

// Closed reports whether the client has closed its Unix socket completely, not only its sending
// half. For TCP it returns false, because only a write can distinguish the two.
func Closed(conn any) bool {
	polled := []unix.PollFd{{}}
	if socket, ok := conn.(*net.UnixConn); ok {
		control(socket, func(fd int) {
			polled[0].Fd = int32(fd)
			unix.Poll(polled, 0)
		})
	}
	return polled[0].Revents&unix.POLLHUP != 0
}

// control calls do with the connection's file descriptor, unless the connection is closed.
func control(conn syscall.Conn, do func(fd int)) {
	if raw, err := conn.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { do(int(fd)) })
	}
}
