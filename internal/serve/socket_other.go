//go:build !linux

package serve

import "net"

// Other systems do not tell what Linux does.

func unreceived(net.Conn) bool { return false }

func closed(any) bool { return false }
