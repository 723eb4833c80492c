// Package atomicfile replaces a file atomically: a reader sees either the old or the new content,
// never a part of it, even after a crash.
//
// The content is written to a temporary file in the same directory, because a rename is atomic only
// within a file system. The temporary name is .NAME.*.tmp, so that leftovers of killed processes can be
// recognised. When the content is on the disk, the file is renamed to NAME.
//
// [OpenRegular] and [ReadRegular] refuse files that are not regular. [NewChecksum] and [ChecksumLike]
// return hashes for checksums of files.
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

// A File is a file that is being written. Commit gives it the name passed to Create; Abort removes
// it. A File is not safe for concurrent use.
type File struct {
	path     string // final name
	temp     *os.File
	buffer   *bufio.Writer
	unsynced int        // bytes written since the last call of writeBehind
	syncing  chan error // receives the error of a pending Sync; nil without a pending Sync
	err      error      // first error of a background sync
	done     bool
}

// ErrUnsynced means that a rename to the final name succeeded but could not be made durable: after a
// crash of the machine the old file may be back.
var ErrUnsynced = errors.New("written, but its directory could not be synchronised")

// bufferBytes is the size of the buffer for small writes.
const bufferBytes = 64 << 10

// syncBytes is the number of bytes after which a background sync starts, so that the disk works
// while the caller produces more bytes.
const syncBytes = 8 << 20

// Create starts a replacement of path, which need not exist. If path is a symbolic link, the target
// is replaced and the link stays. If path exists but is not a regular file, such as a device,
// Create returns an error, because a rename would destroy it. Create removes temporary
// files of path that killed programs left.
func Create(path string) (*File, error) { return create(path, true) }

// CreateKeeping is like Create but keeps existing temporary files of path: a manifest may refer to
// them, or a program on another machine may be writing to them.
func CreateKeeping(path string) (*File, error) { return create(path, false) }

func create(path string, clean bool) (*File, error) {
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: cannot be replaced: expected a regular file, found %s", path,
			Kind(info.Mode()))
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

// createTemp creates a temporary file and locks it, so that cleanDead in another process does not
// remove it. Unlike os.CreateTemp it applies the user's umask, because the file becomes an ordinary
// file.
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
			file.Close() // cleanDead removed the file before it was locked
			continue
		}
		return file, nil
	}
}

// isAt reports whether path still names the file.
func isAt(file *os.File, path string) bool {
	mine, err := file.Stat()
	now, errNow := os.Lstat(path)
	return err == nil && errNow == nil && os.SameFile(mine, now)
}

// fail returns err with the path of the final file in place of the temporary path.
func (f *File) fail(err error) error { return &fileError{f.path, nameless(err)} }

// fileError is an error of a file operation. Its text begins with the path of the final file.
type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string { return e.path + ": " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// Wrap adds the path to an error of the code that writes the file. It returns an error of f.Write
// unchanged, because that error already names the path.
func (f *File) Wrap(err error) error {
	if IsNamed(err) {
		return err
	}
	return fmt.Errorf("writing %s: %w", f.path, err)
}

// IsNamed reports whether err comes from a failed file operation of a [File]. Such an error names the path.
func IsNamed(err error) bool {
	var named *fileError
	return errors.As(err, &named)
}

// nameless removes the name of the temporary file, which the user does not know, from an error.
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
		f.buffer.Flush() // the buffer keeps its error for the next Write
	}
	n, err := f.buffer.Write(p)
	if err != nil {
		err = f.fail(err)
	}
	if f.unsynced += n; f.unsynced >= syncBytes {
		f.unsynced = 0
		f.writeBehind()
	}
	return n, err
}

// writeBehind starts a background Sync unless a Sync is pending.
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

// waitSync waits for a pending Sync and returns the first error of a background Sync.
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

// Sync writes the file's content to the disk.
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

// Temporary returns the path of the temporary file.
func (f *File) Temporary() string { return f.temp.Name() }

// Link gives the file its final name, and keeps the temporary name until Abort or Commit. It replaces an
// existing file atomically. On file systems without hard links, the final file is a copy.
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

// copyFile copies a file to a new file and syncs the new file.
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

// Commit writes the content to the disk and renames the file to its final name. On an error it
// removes the temporary file and leaves the old file unchanged. The exception is ErrUnsynced: the
// rename succeeded but is not durable yet.
func (f *File) Commit() error { return f.commit(rename) }

// CommitNew is like Commit but refuses to replace a file: if the name exists, the error wraps fs.ErrExist.
func (f *File) CommitNew() error { return f.commit(renameNew) }

// renameNew renames a file unless the new name exists. With hard links only one of several programs
// can succeed. Without hard links renameNew can only check before it renames.
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

// Abort removes the temporary file. It does nothing after Commit or Abort, so it can be deferred.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	f.waitSync() // otherwise a pending Sync would use a closed file
	f.temp.Close()
	os.Remove(f.temp.Name())
}

// Rename renames a complete file, such as a file in a temporary folder, and makes the rename durable.
// It may replace an existing file.
func Rename(from, to string) error {
	if err := rename(from, to); err != nil {
		return fmt.Errorf("%s: %w", to, nameless(err))
	}
	return (&File{path: to}).syncName()
}

// Write replaces path with the output of write. After an error other than [ErrUnsynced], the old file is
// unchanged and no temporary file remains.
func Write(path string, write func(io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := write(f); err != nil {
		return f.Wrap(err)
	}
	return f.Commit()
}

// WriteBytes replaces path with the given content.
func WriteBytes(path string, content []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// syncDirectory makes a rename durable. It ignores the error of file systems that cannot sync
// directories.
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
