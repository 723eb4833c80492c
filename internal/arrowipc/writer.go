package arrowipc

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// NewFileWriter returns a writer that writes records with the given schema to w as an Arrow IPC file. w need
// not be seekable. The file is complete after Close, which does not close w.
func NewFileWriter(w io.Writer, schema *arrow.Schema) (*ipc.FileWriter, error) {
	return ipc.NewFileWriter(&countingWriter{w: w}, ipc.WithSchema(schema))
}

// A countingWriter is the seeker that Arrow's file writer requires. Arrow only uses it to get the
// current position.
type countingWriter struct {
	w   io.Writer
	pos int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.pos += int64(n)
	return n, err
}

// Seek returns the current position and refuses all other positions.
func (c *countingWriter) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, fmt.Errorf("seek to %d (%d): expected sequential output", offset, whence)
	}
	return c.pos, nil
}
