// Package atomicfile replaces a file by a complete one or not at all: a
// reader, also one after a crash, sees the old content or the new one, never
// a part of it.
//
// The content goes to a temporary file in the same directory (only within one
// file system is a rename atomic), named .NAME.*.tmp so that a leftover of a
// killed process can be recognised, and is renamed over NAME once it is on
// the disk.
//
// Reading: [OpenRegular] and [ReadRegular] refuse what is not a regular file.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// A File is a file on its way: an io.Writer that becomes the file named in
// Create by Commit, or nothing by Abort. It is not safe for concurrent use.
type File struct {
	path    string // the final name
	temp    *os.File
	buffer  *bufio.Writer
	behind  int        // bytes that the disk has not been asked to write
	syncing chan error // of a Sync under way; nil if there is none
	err     error      // of an earlier one, which is told of once only
	done    bool
}

// ErrUnsynced is in the error of a Commit or Link that replaced the file but could not make
// the rename durable: a crash of the machine may bring the old file back.
var ErrUnsynced = errors.New("written, but its directory could not be synchronised")

// bufferBytes are written at once, if they come in pieces.
const bufferBytes = 64 << 10

// syncBytes is how much is written before the disk is asked to begin with it, so that
// it works while the rest is made.
const syncBytes = 8 << 20

// Create begins a replacement of path, which need not exist. A symbolic link
// is followed, so that the link survives. What is there and not a regular
// file, such as a device, is an error: a rename would destroy it. What killed programs
// left of an earlier replacement is removed.
func Create(path string) (*File, error) { return create(path, true) }

// CreateKeeping is Create that removes no temporary file of path: a manifest may name one, or a
// program on another machine may be writing to it.
func CreateKeeping(path string) (*File, error) { return create(path, false) }

func create(path string, clean bool) (*File, error) {
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: cannot be replaced: expected a regular file or none, found %v", path, info.Mode())
	}
	if clean {
		cleanDead(target)
	}
	temp, err := createTemp(filepath.Dir(target), filepath.Base(target))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, nameless(err))
	}
	return &File{path: target, temp: temp, buffer: bufio.NewWriterSize(temp, bufferBytes)}, nil
}

// createTemp creates a temporary file and locks it, so that cleanDead of another process leaves it
// alone. It differs from os.CreateTemp in the permissions: those that the user's
// umask gives to any new file, since the file is going to be an ordinary one.
func createTemp(dir, base string) (*os.File, error) {
	for try := 0; ; try++ {
		name := "." + base + "." + strconv.FormatUint(rand.Uint64(), 36) + ".tmp"
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if lock(file) == nil && !isAt(file, file.Name()) && try < 100 {
			file.Close() // cleanDead had it first
			continue
		}
		return file, nil
	}
}

// isAt reports whether a file still has its name.
func isAt(file *os.File, path string) bool {
	mine, err := file.Stat()
	now, errNow := os.Lstat(path)
	return err == nil && errNow == nil && os.SameFile(mine, now)
}

// fail is an error of the temporary file as one of the file that it is to become.
func (f *File) fail(err error) error { return fmt.Errorf("%s: %w", f.path, nameless(err)) }

// nameless is an error without the name of the temporary file, which nobody knows.
func nameless(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	case errors.As(err, &link):
		return fmt.Errorf("%s: %w", link.Op, link.Err)
	}
	return err
}

// Write appends to the file. An error stays: every later Write and Commit
// returns it too.
func (f *File) Write(p []byte) (int, error) {
	if f.done {
		return 0, fmt.Errorf("%s: write: %w", f.path, fs.ErrClosed)
	}
	if f.err != nil {
		return 0, f.fail(f.err)
	}
	if len(p) >= bufferBytes { // it goes to the file from where it is
		f.buffer.Flush() // an error stays, and is that of Write
	}
	n, err := f.buffer.Write(p)
	if err != nil {
		err = f.fail(err)
	}
	if f.behind += n; f.behind >= syncBytes {
		f.behind = 0
		f.writeBehind()
	}
	return n, err
}

// writeBehind begins a Sync unless one is under way.
func (f *File) writeBehind() {
	select {
	case err := <-f.syncing:
		f.synced(err)
	default:
		if f.syncing != nil {
			return
		}
	}
	done := make(chan error, 1)
	f.syncing = done
	go func() { done <- sync(f.temp) }()
}

func (f *File) synced(err error) {
	f.syncing = nil
	if f.err == nil {
		f.err = err
	}
}

// settle waits for a Sync that is under way.
func (f *File) settle() error {
	if f.syncing != nil {
		f.synced(<-f.syncing)
	}
	return f.err
}

// Reopen opens what was written so far for reading.
func (f *File) Reopen() (*os.File, error) {
	if err := f.buffer.Flush(); err != nil {
		return nil, f.fail(err)
	}
	file, err := os.Open(f.temp.Name())
	if err != nil {
		return nil, f.fail(err)
	}
	return file, nil
}

// Sync writes everything to the disk.
func (f *File) Sync() error {
	err := f.buffer.Flush()
	if err == nil {
		err = f.settle()
	}
	if err == nil {
		err = sync(f.temp)
	}
	if err != nil {
		return f.fail(err)
	}
	return nil
}

// Temporary is the name of the file until it is committed.
func (f *File) Temporary() string { return f.temp.Name() }

// Link gives the file its name in addition to the temporary name, which stays until Abort.
// The rename replaces an existing file atomically. Where the file system has no hard links,
// the final name gets a copy.
func (f *File) Link() error {
	if err := f.Sync(); err != nil {
		return err
	}
	second := f.temp.Name() + ".tmp"
	err := link(f.temp.Name(), second)
	if err != nil {
		err = copyFile(f.temp.Name(), second)
	}
	if err == nil {
		err = rename(second, f.path)
	}
	if err != nil {
		os.Remove(second)
		return f.fail(err)
	}
	return f.syncName()
}

// copyFile writes a copy of from to a new file, and to the disk.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = sync(out)
	}
	return errors.Join(err, out.Close())
}

// syncName makes the name of a renamed file durable.
func (f *File) syncName() error {
	if err := syncDirectory(filepath.Dir(f.path)); err != nil {
		return fmt.Errorf("%s: %w: %w", f.path, ErrUnsynced, err)
	}
	return nil
}

// Commit writes everything to the disk and gives the file its name. On an
// error the temporary file is removed; the old file is untouched unless only
// the last step, making the rename itself durable, failed: that error is ErrUnsynced.
func (f *File) Commit() error { return f.commit(rename) }

// CommitNew is Commit where nothing has the name yet. Otherwise the error is
// fs.ErrExist, and what is there stays.
func (f *File) CommitNew() error { return f.commit(renameNew) }

// renameNew is os.Rename that does not replace. A hard link is made by one of several
// programs; where the file system has none, all that is possible is to look before.
func renameNew(from, to string) error {
	err := link(from, to)
	if err == nil {
		os.Remove(from)
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return rename(from, to)
}

func (f *File) commit(rename func(from, to string) error) error {
	if f.done {
		return fmt.Errorf("%s: commit: %w", f.path, fs.ErrClosed)
	}
	err := f.Sync()
	if err != nil {
		f.Abort()
		return err
	}
	f.done = true
	if err = f.temp.Close(); err == nil {
		err = rename(f.temp.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.temp.Name())
		return f.fail(err)
	}
	return f.syncName()
}

// Abort drops what was written. After a Commit or an Abort it does nothing,
// so it can be deferred.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	f.settle() // which must not close the file that is closed here
	f.temp.Close()
	os.Remove(f.temp.Name())
}

// Write replaces path by what write writes. Where write or the disk fails,
// the old file stays as it was and nothing else is left behind.
func Write(path string, write func(io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := write(f); err != nil {
		// An error of f.Write already names the path; one of the caller's may not.
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return f.Commit()
}

// WriteBytes is Write of a content that is there already.
func WriteBytes(path string, content []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// syncDirectory makes a rename durable. Some file systems have no such
// operation on directories and say so; there is nothing to be done then.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := sync(d); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
