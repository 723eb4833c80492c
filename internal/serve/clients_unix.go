//go:build unix

package serve

import "syscall"

// DefaultClients is how many connections the open files of the process allow beside those
// that the server itself has: a model that is read again, a device, an index, metrics.
func DefaultClients() int {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return MostClients
	}
	limit := MostClients // the limit may be none, or beyond what an int has
	if n := uint64(files.Cur); n < MostClients {
		limit = int(n)
	}
	return max(1, limit-min(ownFiles, limit/2))
}

// ownFiles is how many files there may be beside connections, with a wide margin.
const ownFiles = 128
