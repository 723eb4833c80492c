package arrowipc

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// NewFileWriter writes records of a schema as an Arrow IPC file to w, which need not
// seek. The file is complete after its Close, which does not close w.
func NewFileWriter(w io.Writer, schema *arrow.Schema) (*ipc.FileWriter, error) {
	return ipc.NewFileWriter(&countingWriter{w: w}, ipc.WithSchema(schema))
}

// A countingWriter is the seeker that Arrow's file writer requires, but only uses to get its
// position.
type countingWriter struct {
	w   io.Writer
	pos int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.pos += int64(n)
	return n, err
}

// Seek returns the writer's position and refuses everything else.
func (c *countingWriter) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, fmt.Errorf("seek to %d (%d): the output is written in order", offset, whence)
	}
	return c.pos, nil
}
