//go:build !unix

package serve

// alive reports whether a process may be there, which is not known here.
func alive(process int) bool { return true }
