//go:build !unix

package serve

// DefaultClients returns the default limit of connections, for systems without a limit of open
// files.
func DefaultClients() int { return MaxClients }
