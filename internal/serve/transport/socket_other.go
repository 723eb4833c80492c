//go:build !linux

package transport

import "net"

// Only Linux can detect data that was not received, and closed sockets.

func hasUnreceivedData(net.Conn) bool { return false }

func Closed(any) bool { return false }
