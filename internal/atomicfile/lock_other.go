//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package atomicfile

import "os"

// lock does nothing: either this system does not allow removing open files, or leftovers stay.
func lock(*os.File) error { return nil }

// tryLock returns false, as the file may be in use.
func tryLock(*os.File) bool { return false }
