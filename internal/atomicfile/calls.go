package atomicfile

import (
	"os"
	"sync/atomic"
)

// interceptor is the function of Intercept, or nil.
var interceptor atomic.Pointer[func(call, path string) error]

// Intercept lets tests make system calls fail: before is called with each fsync, link and rename of
// this package, and its error becomes the call's. It must be safe for concurrent use. The returned
// function ends the interception.
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

// sync is f.Sync.
func sync(f *os.File) error {
	if err := intercepted("fsync", f.Name()); err != nil {
		return err
	}
	return f.Sync()
}

// rename is os.Rename.
func rename(from, to string) error {
	if err := intercepted("rename", to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// link is os.Link.
func link(from, to string) error {
	if err := intercepted("link", to); err != nil {
		return err
	}
	return os.Link(from, to)
}
