package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// lineWriter writes JSON lines, one object per row.
type lineWriter struct {
	w       *bufio.Writer
	columns []OutputColumn
	names   [][]byte // each as a JSON string followed by a colon
	value   bytes.Buffer
	encoder *json.Encoder // writes to value
}

func newLineWriter(w io.Writer, columns []OutputColumn) (*lineWriter, error) {
	l := &lineWriter{w: bufio.NewWriterSize(w, 1<<16), columns: columns}
	l.encoder = json.NewEncoder(&l.value)
	l.encoder.SetEscapeHTML(false)
	for _, c := range columns {
		name, err := l.json(c.Name)
		if err != nil {
			return nil, err
		}
		l.names = append(l.names, append(bytes.Clone(name), ':'))
	}
	return l, nil
}

// json encodes v as JSON. The result is valid until the next call.
func (l *lineWriter) json(v any) ([]byte, error) {
	l.value.Reset()
	if raw, ok := v.(json.RawMessage); ok && !json.Valid(raw) { // a number that JSON cannot represent, such as NaN
		v = string(raw)
	}
	err := l.encoder.Encode(v)
	return bytes.TrimSuffix(l.value.Bytes(), []byte("\n")), err
}

// Write writes a row.
func (l *lineWriter) Write(row []any) error {
	next := byte('{')
	for i := range l.columns {
		if row[i] == nil && l.columns[i].Omit {
			continue
		}
		text, err := l.json(row[i])
		if err != nil {
			return err
		}
		l.w.WriteByte(next) // bufio returns a write error again at the end of the line
		l.w.Write(l.names[i])
		l.w.Write(text)
		next = ','
	}
	if next == '{' {
		l.w.WriteByte(next)
	}
	_, err := l.w.WriteString("}\n")
	return err
}

// Flush writes buffered rows.
func (l *lineWriter) Flush() error { return l.w.Flush() }

// Close flushes buffered rows. It does not close the underlying writer.
func (l *lineWriter) Close() error { return l.w.Flush() }
