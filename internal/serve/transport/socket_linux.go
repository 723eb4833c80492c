package transport

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unreceived reports whether something that was written has not come to the client's
// machine. Of a unix socket nothing is lost: what was written is there.
func unreceived(conn net.Conn) bool {
	waiting := 0
	if tcp, ok := conn.(*net.TCPConn); ok {
		control(tcp, func(fd int) { waiting, _ = unix.IoctlGetInt(fd, unix.SIOCOUTQ) })
	}
	return waiting > 0
}

// Closed reports whether the client has closed its Unix socket altogether, and not only its sending half. TCP cannot
// distinguish the two before a write.
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

// control does something with the descriptor of a connection, unless it is Closed.
func control(conn syscall.Conn, do func(fd int)) {
	if raw, err := conn.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { do(int(fd)) })
	}
}
