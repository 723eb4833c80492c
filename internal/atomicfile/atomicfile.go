// Package atomicfile replaces a file atomically: a reader sees the old content or the new one,
// never a part of it, even after a crash.
//
// The content goes to a temporary file in the same directory (a rename is atomic only within one
// file system), named .NAME.*.tmp so that leftovers of killed processes can be recognised. Once it
// is on the disk, it is renamed to NAME.
//
// [OpenRegular] and [ReadRegular] read regular files only.
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

// A File is a pending file: an io.Writer that becomes the file named in Create on Commit, and is
// removed on Abort. It is not safe for concurrent use.
type File struct {
	path    string // the final name
	temp    *os.File
	buffer  *bufio.Writer
	behind  int        // bytes written since the last sync to the disk
	syncing chan error // signals the end of a pending Sync; nil without one
	err     error      // first error of a background sync
	done    bool
}

// ErrUnsynced is wrapped by the error of a Commit or Link that replaced the file but could not make
// the rename durable: a crash of the machine may bring back the old file.
var ErrUnsynced = errors.New("written, but its directory could not be synchronised")

// bufferBytes is the size of the buffer for small writes.
const bufferBytes = 64 << 10

// syncBytes is the number of bytes after which a background sync begins, so that the disk works
// while the rest is produced.
const syncBytes = 8 << 20

// Create begins a replacement of path, which need not exist. It follows a symbolic link, so that
// the link survives. An existing path that is not a regular file, such as a device, is an error,
// since a rename would destroy it. Create removes leftovers of killed programs.
func Create(path string) (*File, error) { return create(path, true) }

// CreateKeeping is Create without removing temporary files of path: a manifest may refer to one, or
// a program on another machine may be writing to it.
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

// createTemp creates and locks a temporary file, so that cleanDead of another process does not
// remove it. Unlike os.CreateTemp, it uses the permissions of the user's umask, since the file
// becomes an ordinary one.
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
			file.Close() // cleanDead has removed it
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

// fail returns an error of the temporary file as one of the final file.
func (f *File) fail(err error) error { return fmt.Errorf("%s: %w", f.path, nameless(err)) }

// nameless returns an error without the name of the temporary file, which the user does not know.
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

// Write appends to the file. An error is permanent: every later Write and Commit also returns it.
func (f *File) Write(p []byte) (int, error) {
	if f.done {
		return 0, fmt.Errorf("%s: write: %w", f.path, fs.ErrClosed)
	}
	if f.err != nil {
		return 0, f.fail(f.err)
	}
	if len(p) >= bufferBytes { // large writes bypass the buffer
		f.buffer.Flush() // the buffer keeps an error and returns it from Write
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

// writeBehind begins a background Sync unless one is pending.
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

// waitSync waits for a pending Sync.
func (f *File) waitSync() error {
	if f.syncing != nil {
		f.synced(<-f.syncing)
	}
	return f.err
}

// Reopen opens the content written so far for reading.
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
		err = f.waitSync()
	}
	if err == nil {
		err = sync(f.temp)
	}
	if err != nil {
		return f.fail(err)
	}
	return nil
}

// Temporary returns the name of the file before Commit.
func (f *File) Temporary() string { return f.temp.Name() }

// Link gives the file its final name in addition to the temporary one, which stays until Abort. The
// rename replaces an existing file atomically. If the file system has no hard links, the final file
// is a copy.
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

// copyFile copies from to a new file and syncs it.
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

// Commit writes everything to the disk and renames the file to its final name. On an error it
// removes the temporary file and leaves the old file untouched. The exception is ErrUnsynced: the
// rename succeeded but is not durable yet.
func (f *File) Commit() error { return f.commit(rename) }

// CommitNew is Commit that fails with fs.ErrExist if the name is taken, and leaves the existing
// file.
func (f *File) CommitNew() error { return f.commit(renameNew) }

// renameNew is os.Rename without replacing. A hard link succeeds for only one of several programs;
// without hard links it can only check before it renames.
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

// Abort removes the file. After Commit or Abort it does nothing, so it can be deferred.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	f.waitSync() // a pending Sync must not close this file later
	f.temp.Close()
	os.Remove(f.temp.Name())
}

// Write replaces path with the output of write. If write or the disk fails, the old file stays
// unchanged and no other file is left.
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

// WriteBytes is Write with a given content.
func WriteBytes(path string, content []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// syncDirectory makes a rename durable. Some file systems return an error that directories cannot
// be synced; it is ignored.
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
