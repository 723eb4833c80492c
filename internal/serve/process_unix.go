//go:build unix

package serve

import (
	"errors"
	"syscall"
)

// alive reports whether a process exists or may exist.
func alive(process int) bool { return !errors.Is(syscall.Kill(process, 0), syscall.ESRCH) }
