//go:build !linux

package transport

import "net"

// Other systems do not tell what Linux does.

func unreceived(net.Conn) bool { return false }

func Closed(any) bool { return false }
