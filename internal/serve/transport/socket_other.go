//go:build !linux

package transport

import "net"

// hasUnreceivedData returns false. Unacknowledged data is detected only on Linux.
func hasUnreceivedData(net.Conn) bool { return false }

// Closed returns false. A closed Unix socket is detected only on Linux.
func Closed(any) bool { return false }
