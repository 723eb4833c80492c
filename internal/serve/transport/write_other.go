//go:build !unix

package transport

import "io"

// writeNow writes nothing, because non-blocking writes are not supported here.
func writeNow(io.Writer, []byte) int { return 0 }
