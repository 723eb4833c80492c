package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// lineWriter writes a JSON object a row.
type lineWriter struct {
	w       *bufio.Writer
	columns []OutputColumn
	names   [][]byte // as JSON, with a colon behind
	value   bytes.Buffer
	encoder *json.Encoder // to value
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

// json is a value's JSON, until the next call.
func (l *lineWriter) json(v any) ([]byte, error) {
	l.value.Reset()
	if raw, ok := v.(json.RawMessage); ok && !json.Valid(raw) { // a number that JSON has not, such as NaN
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
		l.w.WriteByte(next) // an error stays, and is that of the line's end
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

// Flush writes what is held back.
func (l *lineWriter) Flush() error { return l.w.Flush() }

// Close is Flush.
func (l *lineWriter) Close() error { return l.w.Flush() }
