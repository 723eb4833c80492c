//go:build !unix

package serve

// DefaultClients is how many connections there may be where the system sets no limit.
func DefaultClients() int { return MostClients }
