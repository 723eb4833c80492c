package table

import (
	"context"
	"fmt"
	"os"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// Stored is a value in Arrow's representation: the bytes of a fixed-width type, a byte of 0 or 1 for a
// boolean, or bytes of any length. It is copied without conversion to text and back.
type Stored string

// keyUTC marks a field of Parquet times in UTC, which Arrow's type cannot express.
const keyUTC = "PARQUET:isAdjustedToUTC"

// storedType returns the type in which a column's values are copied, and whether they can be copied as
// [Stored]. A dictionary is replaced by its value type, and any binary type of variable length by binary.
func storedType(t arrow.DataType) (arrow.DataType, bool) {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	switch t.ID() {
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return arrow.BinaryTypes.Binary, true
	case arrow.BOOL, arrow.FIXED_SIZE_BINARY:
		return t, true
	}
	return t, arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) || arrow.IsDecimal(t.ID()) || isTime(t)
}

// storedAt returns value i, which is not null, of a column that storedType accepts.
func storedAt(a arrow.Array, i int) Stored {
	switch a := a.(type) {
	case *array.Dictionary:
		return storedAt(a.Dictionary(), a.GetValueIndex(i))
	case *array.Boolean:
		if a.Value(i) {
			return "\x01"
		}
		return "\x00"
	case interface{ Value(i int) []byte }: // every type of bytes
		return Stored(a.Value(i))
	}
	width := a.DataType().(arrow.FixedWidthDataType).Bytes()
	from := (a.Data().Offset() + i) * width
	return Stored(a.Data().Buffers()[1].Bytes()[from : from+width])
}

// parquetStores reports whether Parquet has a type for values of Arrow type t.
func parquetStores(t arrow.DataType) bool {
	if d, ok := t.(arrow.DecimalType); ok {
		return d.GetScale() >= 0 && d.GetScale() <= d.GetPrecision()
	}
	return true
}

// StoredTypes has the types of columns that have the same type in all files of a table.
type StoredTypes struct {
	Fields map[string]arrow.Field
	// Conflicts has a note on each column whose types differ between files, and whose values are
	// therefore copied as text.
	Conflicts []string
}

// NewStoredTypes returns the types of the given columns in the files, or folders of files, of a
// table. If format is "", the file names determine it. If parquet is true, types that Parquet
// lacks are left out. Fields is empty if a file is not Parquet or Arrow, or can be read only once.
func NewStoredTypes(ctx context.Context, paths []string, format string, columns []string, parquet bool) (*StoredTypes,
	error) {
	s := &StoredTypes{Fields: map[string]arrow.Field{}}
	if len(columns) == 0 {
		return s, nil
	}
	first := map[string]string{} // first file with each column
	asText := map[string]bool{}  // columns that are copied as text
	for _, file := range tableFiles(paths, format) {
		if file.format != "parquet" && file.format != "arrow" || ReadOnce(file.path) {
			return &StoredTypes{}, nil
		}
		t, err := Open(ctx, file.path, Options{Format: file.format})
		if err != nil {
			return nil, err
		}
		fields := t.(*records).stored
		if err := t.Close(); err != nil {
			return nil, err
		}
		for _, name := range columns {
			f, ok := fields[name]
			known, seen := s.Fields[name]
			switch {
			case asText[name]:
			case file.classColumns[name], !ok && !seen, ok && parquet && !parquetStores(f.Type):
				asText[name] = true
			case !seen:
				s.Fields[name], first[name] = f, file.path
			case !ok || !arrow.TypeEqual(known.Type, f.Type) || !known.Metadata.Equal(f.Metadata):
				found := "text"
				if ok {
					found = f.Type.String()
				}
				asText[name] = true
				s.Conflicts = append(s.Conflicts, fmt.Sprintf("column %s is %s in %s and %s in %s: its values are "+
					"copied as text (cast the column to one type to keep its type)", name, known.Type, first[name], found,
					file.path))
			}
			if asText[name] {
				delete(s.Fields, name)
			}
		}
	}
	return s, nil
}

// StreamTypes returns the Fields of [NewStoredTypes] for an open Arrow stream, which can be read only
// once.
func StreamTypes(t Reader, columns []string, parquet bool) map[string]arrow.Field {
	fields := map[string]arrow.Field{}
	if r, ok := t.(*records); ok {
		for _, name := range columns {
			if f, ok := r.stored[name]; ok && !(parquet && !parquetStores(f.Type)) {
				fields[name] = f
			}
		}
	}
	return fields
}

// tableFile is a file of a table, and its columns that are read as class names.
type tableFile struct {
	path, format string
	classColumns map[string]bool
}

// tableFiles returns the files of a table.
func tableFiles(paths []string, format string) (files []tableFile) {
	for _, path := range paths {
		if info, err := os.Stat(path); path == StandardInput || err != nil || !info.IsDir() {
			files = append(files, tableFile{path: path, format: format})
			continue
		}
		if isHF(path) {
			parts, _ := hfParts(path) // error ignored, because the table was opened before
			for _, p := range parts {
				classColumns := map[string]bool{}
				for name, names := range p.classes.labels {
					classColumns[name] = names != nil
				}
				files = append(files, tableFile{p.path, "arrow", classColumns})
			}
			continue
		}
		for _, shard := range Shards(path, format) {
			files = append(files, tableFile{path: shard, format: format})
		}
	}
	for i := range files {
		if files[i].format == "" {
			files[i].format = formatOfName(files[i].path)
		}
	}
	return files
}

// storedFields returns the columns of a schema whose values can be copied as [Stored].
func storedFields(schema *arrow.Schema) map[string]arrow.Field {
	fields := map[string]arrow.Field{}
	for _, f := range schema.Fields() {
		t, ok := storedType(f.Type)
		if !ok {
			continue
		}
		var keys, values []string
		for _, key := range []string{ipc.ExtensionTypeKeyName, keyUTC} {
			if text, ok := f.Metadata.GetValue(key); ok && (key == keyUTC || isUUID(f)) {
				keys, values = append(keys, key), append(values, text)
			}
		}
		fields[f.Name] = arrow.Field{Name: f.Name, Type: t, Nullable: true, Metadata: arrow.NewMetadata(keys, values)}
	}
	return fields
}
