//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package atomicfile

import "os"

// lock does nothing. Without locks, leftovers of killed programs stay.
func lock(*os.File) error { return nil }

// tryLock returns false, because the file may be in use.
func tryLock(*os.File) bool { return false }
