package index

import (
	"errors"
	"fmt"
	"os"

	"github.com/gofrs/flock"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// lockIndex locks the index at path. The lock file, whose name is path and ".lock", exists while a program
// has the index open. It may remain after a crash, and on Windows.
func lockIndex(path string) (*flock.Flock, error) {
	lock := flock.New(path + ".lock")
	for {
		ok, err := lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("locking the index: %w", atomicfile.Cause(err))
		}
		if !ok {
			return nil, errors.New("another program has this index open")
		}
		// Another program may have removed the file after TryLock opened it and before TryLock locked it.
		current, err := os.Stat(lock.Path())
		locked, errLocked := lock.Stat()
		if err == nil && errLocked == nil && os.SameFile(current, locked) {
			return lock, nil
		}
		if err := lock.Unlock(); err != nil {
			return nil, fmt.Errorf("locking the index: %w", atomicfile.Cause(err))
		}
	}
}

// unlock removes the file of a lock and then unlocks it, so that a program that locks the removed file
// notices the removal. Windows does not remove an open file; a remaining file is harmless.
func unlock(lock *flock.Flock) error {
	os.Remove(lock.Path())
	return lock.Unlock()
}
