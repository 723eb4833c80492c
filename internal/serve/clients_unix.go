//go:build unix

package serve

import "syscall"

// DefaultClients returns the number of connections that the process's limit of open files allows, at
// most MaxClients. It subtracts the server's own files: models during a reload, a device, an index,
// metrics.
func DefaultClients() int {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return MaxClients
	}
	limit := MaxClients // the limit may be infinite or exceed an int
	if n := uint64(files.Cur); n < MaxClients {
		limit = int(n)
	}
	return max(1, limit-min(ownFiles, limit/2))
}

// ownFiles is an upper bound for open files that are not connections.
const ownFiles = 128
