//go:build !linux

package transport

import "net"

// Only Linux can detect unreceived data and closed sockets.

func unreceived(net.Conn) bool { return false }

func Closed(any) bool { return false }
