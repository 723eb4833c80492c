// Package atomicfile replaces a file by a complete one or not at all: a
// reader, also one after a crash, sees the old content or the new one, never
// a part of it.
//
// The content goes to a temporary file in the same directory (only within one
// file system is a rename atomic), named .NAME.*.tmp so that a leftover of a
// killed process can be recognised, and is renamed over NAME once it is on
// the disk.
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

// bufferBytes are written at once, if they come in pieces.
const bufferBytes = 64 << 10

// syncBytes is how much is written before the disk is asked to begin with it, so that
// it works while the rest is made.
const syncBytes = 8 << 20

// Create begins a replacement of path, which need not exist. A symbolic link
// is followed, so that the link survives. What is there and not a regular
// file, such as a device, is an error: a rename would destroy it.
func Create(path string) (*File, error) {
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: cannot be replaced: expected a regular file or none, found %v", path, info.Mode())
	}
	temp, err := createTemp(filepath.Dir(target), filepath.Base(target))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, nameless(err))
	}
	return &File{path: target, temp: temp, buffer: bufio.NewWriterSize(temp, bufferBytes)}, nil
}

// createTemp differs from os.CreateTemp in the permissions: those the user's
// umask gives to any new file, since the file is going to be an ordinary one.
func createTemp(dir, base string) (*os.File, error) {
	for try := 0; ; try++ {
		name := "." + base + "." + strconv.FormatUint(rand.Uint64(), 36) + ".tmp"
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return file, err
		}
	}
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
	go func() { done <- f.temp.Sync() }()
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
		err = f.temp.Sync()
	}
	if err != nil {
		return f.fail(err)
	}
	return nil
}

// Temporary is the name of the file until it is committed.
func (f *File) Temporary() string { return f.temp.Name() }

// Link gives the file its name, too, and keeps the temporary one until Abort: what was
// there before is replaced at once. Not every file system can.
func (f *File) Link() error {
	if err := f.Sync(); err != nil {
		return err
	}
	second := f.temp.Name() + ".tmp"
	if err := os.Link(f.temp.Name(), second); err != nil {
		return f.fail(err)
	}
	if err := os.Rename(second, f.path); err != nil {
		os.Remove(second)
		return f.fail(err)
	}
	return syncDirectory(filepath.Dir(f.path))
}

// Commit writes everything to the disk and gives the file its name. On an
// error the temporary file is removed; the old file is untouched unless only
// the last step, making the rename itself durable, failed.
func (f *File) Commit() error { return f.commit(os.Rename) }

// CommitNew is Commit where nothing has the name yet. Otherwise the error is
// fs.ErrExist, and what is there stays.
func (f *File) CommitNew() error { return f.commit(renameNew) }

// renameNew is os.Rename that does not replace. A hard link is made by one of several
// programs; where the file system has none, all that is possible is to look before.
func renameNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		os.Remove(from)
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from, to)
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
	if err := syncDirectory(filepath.Dir(f.path)); err != nil {
		return fmt.Errorf("%s: written, but its directory could not be synchronised: %w", f.path, err)
	}
	return nil
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
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
