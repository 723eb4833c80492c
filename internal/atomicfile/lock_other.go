//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package atomicfile

import "os"

// lock does nothing: this system keeps an open file from being removed, or leftovers stay.
func lock(*os.File) error { return nil }

// tryLock reports that the file may be in use.
func tryLock(*os.File) bool { return false }
