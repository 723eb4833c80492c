package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Cause reduces the message of an [fs.PathError] to the cause, such as "no such file or directory",
// for messages that already name the file. The result wraps err. Cause returns other errors
// unchanged.
func Cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return &cause{err, path.Err.Error()}
	}
	return err
}

// WalkError returns an error of fs.WalkDir on os.DirFS(dir) with the whole path of the file.
func WalkError(dir, name string, err error) error {
	return fmt.Errorf("%s: %w", filepath.Join(dir, filepath.FromSlash(name)), Cause(err))
}

type cause struct {
	error
	message string
}

func (c *cause) Error() string { return c.message }
func (c *cause) Unwrap() error { return c.error }

// Kind describes the kind of a file for messages, such as "a directory".
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a special file"
}

// OpenRegular opens a regular file for reading. For other files it returns an error that names
// their kind, because opening a FIFO waits for a writer, and a device may have no end.
func OpenRegular(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: expected a regular file, found %s", path, Kind(info.Mode()))
	}
	return os.Open(path)
}

// ReadRegular returns the content of a regular file of at most limit bytes.
func ReadRegular(path string, limit int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s: expected at most %d bytes, found more", path, limit)
	}
	return text, nil
}
