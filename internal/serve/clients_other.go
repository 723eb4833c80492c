//go:build !unix

package serve

// DefaultClients is the default limit of connections on systems without a limit of open files.
func DefaultClients() int { return MaxClients }
