package seq

import (
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// NewRecordWriter writes records of any schema, such as a model's answers, as
// an Arrow IPC file to w, which need not seek. The file is complete after its
// Close, which does not close w.
func NewRecordWriter(w io.Writer, schema *arrow.Schema) (*ipc.FileWriter, error) {
	return ipc.NewFileWriter(&countingWriter{w: w}, ipc.WithSchema(schema))
}
