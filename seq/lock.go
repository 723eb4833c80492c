package seq

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// ErrBusy is wrapped by the error for a directory in which another program writes a data set.
var ErrBusy = errors.New("another program is writing a data set in this directory")

// lockName is the name of the lock file in a data set directory. A program creates the file before
// it writes to the directory, and removes the file afterwards.
const lockName = ".dataset.lock"

// datasetLock is an exclusive lock for writing a data set in a directory.
type datasetLock struct {
	dir        string
	createdDir bool // true if lockDataset created the directory
	file       *flock.Flock
}

// lockDataset creates the directory if needed and locks it.
func lockDataset(dir string) (*datasetLock, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: expected a directory of a data set, or a new one, found a file", dir)
	}
	l := &datasetLock{dir: dir, createdDir: errors.Is(err, fs.ErrNotExist)}
	for {
		if err := atomicfile.MakeFolder(dir); err != nil {
			return nil, err
		}
		path := filepath.Join(dir, lockName)
		l.file = flock.New(path)
		ok, err := l.file.TryLock()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another program has just removed the empty directory
		}
		if err != nil {
			return nil, fmt.Errorf("%s: locking the directory: %w", dir, atomicfile.Cause(err))
		}
		if !ok {
			return nil, fmt.Errorf("%s: %w", dir, ErrBusy)
		}
		// Another program may have removed the file between its opening and its locking.
		current, err := os.Stat(path)
		locked, errLocked := l.file.Stat()
		if err == nil && errLocked == nil && os.SameFile(current, locked) {
			return l, nil
		}
		l.file.Unlock()
	}
}

// release unlocks the directory. If lockDataset created the directory and it is still empty, release
// removes it. A second call does nothing.
func (l *datasetLock) release() {
	if l.file == nil {
		return
	}
	os.Remove(l.file.Path()) // before the lock is released
	l.file.Unlock()
	l.file = nil
	if l.createdDir {
		os.Remove(l.dir) // fails if the directory has files
	}
}
