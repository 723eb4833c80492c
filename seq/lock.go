package seq

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrBusy is in the error for a directory in which another program makes a data set.
var ErrBusy = errors.New("another program is making a data set there")

// lockName is the file by which programs keep out of each other's way. It is there only
// as long as one works.
const lockName = ".dataset.lock"

// datasetLock is the right to write in a directory.
type datasetLock struct {
	dir  string
	made bool // the directory was not there
	file *flock.Flock
}

// lockDataset makes a directory if need be, and keeps others out of it.
func lockDataset(dir string) (*datasetLock, error) {
	_, err := os.Stat(dir)
	l := &datasetLock{dir: dir, made: errors.Is(err, fs.ErrNotExist)}
	for {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
		path := filepath.Join(dir, lockName)
		l.file = flock.New(path)
		ok, err := l.file.TryLock()
		if errors.Is(err, fs.ErrNotExist) {
			continue // somebody has just removed the directory that was empty
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		if !ok {
			return nil, fmt.Errorf("%s: %w", dir, ErrBusy)
		}
		// Its last owner may have removed the file before it was locked here.
		now, err := os.Stat(path)
		mine, errMine := l.file.Stat()
		if err == nil && errMine == nil && os.SameFile(now, mine) {
			return l, nil
		}
		l.file.Unlock()
	}
}

// release lets others write, and leaves no directory behind that holds nothing. A second
// call does nothing.
func (l *datasetLock) release() {
	if l.file == nil {
		return
	}
	os.Remove(l.file.Path()) // while nobody else can have it
	l.file.Unlock()
	l.file = nil
	if l.made {
		os.Remove(l.dir) // which fails if something is there
	}
}
