package atomicfile

import (
	"os"
	"sync/atomic"
)

// interceptor is the function passed to Intercept; nil without interception.
var interceptor atomic.Pointer[func(call, path string) error]

// Intercept lets tests make system calls fail. Each fsync, link and rename of this package first calls
// the parameter before. If before returns an error, the system call fails with this error. The argument
// path is the synced file, or the new name of a link or a rename. before must be safe for concurrent use.
// restore ends the interception.
func Intercept(before func(call, path string) error) (restore func()) {
	interceptor.Store(&before)
	return func() { interceptor.Store(nil) }
}

// intercepted returns the error that a test injects into a call.
func intercepted(call, path string) error {
	if before := interceptor.Load(); before != nil {
		return (*before)(call, path)
	}
	return nil
}

// sync calls f.Sync unless a test makes it fail.
func sync(f *os.File) error {
	if err := intercepted("fsync", f.Name()); err != nil {
		return err
	}
	return f.Sync()
}

// rename calls os.Rename unless a test makes it fail.
func rename(from, to string) error {
	if err := intercepted("rename", to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// link calls os.Link unless a test makes it fail.
func link(from, to string) error {
	if err := intercepted("link", to); err != nil {
		return err
	}
	return os.Link(from, to)
}
