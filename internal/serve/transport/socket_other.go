//go:build !linux

package transport

import "net"

// Other systems cannot detect it.

func unreceived(net.Conn) bool { return false }

func Closed(any) bool { return false }
