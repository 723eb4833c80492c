package table

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
)

// records reads the rows of Arrow record batches, which Arrow and Parquet files provide.
type records struct {
	name     string
	columns  []string               // all columns of the table
	metadata arrow.Metadata         // metadata of the schema
	wanted   []string               // columns to read
	lists    []string               // columns of lists of texts
	features []string               // columns of token features
	series   []string               // columns of lists of numbers
	edges    []string               // columns of lists of edges
	nullable []string               // columns of lists whose elements may be null
	copied   map[string]arrow.Field // columns of lists, structs and maps to return as JSON
	// formatters maps a column to the function that formats its values, if the type alone does not determine the
	// format.
	formatters     map[string]func(string) string
	stored         map[string]arrow.Field       // columns whose values can be copied as [Stored]
	classes        hfClasses                    // class names in the file's metadata or in a card
	requestedLists []string                     // columns requested as lists of texts
	typed          []string                     // wanted columns with Value.Stored
	limit          int                          // maximum bytes of a row
	next           func() (arrow.Record, error) // io.EOF after the last
	record         arrow.Record                 // current record, or nil
	firstID        int32                        // first token id: ids are stored relative to it
	nextRow        int                          // next row of record
	row            int64
	part           *Part // nil for all rows
	remaining      int64 // number of rows still to read
	skip           int64 // number of rows to skip first
	close          func() error
}

// newRecords returns a reader of the wanted columns of a schema. The caller sets next and close.
func newRecords(name string, schema *arrow.Schema, o Options) (*records, error) {
	columns, err := checkColumns(schema, o)
	if err != nil {
		return nil, err
	}
	first, err := seq.FirstTokenID(schema)
	if err != nil {
		return nil, fmt.Errorf("schema metadata: %w", err)
	}
	for _, column := range o.Columns {
		field, _ := schema.FieldsByName(column)
		if _, list := field[0].Type.(arrow.ListLikeType); list && first > 0 && !slices.Contains(o.Edges, column) &&
			!seq.IsTokenColumn(column) && !slices.Contains(o.Lists, column) {
			return nil, fmt.Errorf("column %q: expected a list named %s, %s or %s in a file that stores ids minus %d (%s)",
				column, seq.ColumnTokens, seq.ColumnTokensA, seq.ColumnTokensB, first, seq.KeyFirstTokenID)
		}
	}
	r := &records{name: name, columns: columns, metadata: schema.Metadata(), wanted: o.Columns, lists: o.Lists,
		features: o.Features, series: o.series,
		edges: o.Edges, nullable: o.Gaps, limit: o.MaxField, firstID: first, part: o.part, remaining: math.MaxInt64,
		copied: map[string]arrow.Field{}, formatters: map[string]func(string) string{}, stored: storedFields(schema)}
	for _, name := range o.Typed {
		if _, ok := r.stored[name]; ok {
			r.typed = append(r.typed, name)
		}
	}
	for _, field := range schema.Fields() {
		if copiesJSON(field, &o, first) {
			r.copied[field.Name] = field
		} else if form := formatterOf(field); form != nil {
			r.formatters[field.Name] = form
		}
	}
	if o.part != nil {
		r.row, r.remaining = o.part.From, o.part.To-o.part.From
	}
	return r, nil
}

// nameClasses sets the class names that replace the numbers in integer columns. requestedLists are
// the columns requested as lists of texts; other lists of classes are copied.
func (r *records) nameClasses(c hfClasses, requestedLists []string) {
	r.classes, r.requestedLists = c, requestedLists
	for name, names := range c.labels {
		if names != nil {
			delete(r.stored, name)
		}
	}
	r.typed = slices.DeleteFunc(r.typed, func(name string) bool { return c.labels[name] != nil })
}

// MetadataValue returns the value of a key in the metadata of the file's schema.
func (r *records) MetadataValue(key string) (text string, ok bool) { return r.metadata.GetValue(key) }

// MetadataNames sets names to the JSON list under a key in the metadata of t's schema. Without the
// key, names is unchanged. path names the table in the error.
func MetadataNames(t Reader, path, key string, names *[]string) error {
	table, ok := t.(interface {
		MetadataValue(key string) (string, bool)
	})
	if !ok {
		return nil
	}
	text, ok := table.MetadataValue(key)
	if !ok {
		return nil
	}
	if err := json.Unmarshal([]byte(text), names); err != nil || *names == nil {
		return fmt.Errorf("%s: %s: expected a JSON list of strings, found %.40q", path, key, text)
	}
	return nil
}

// Columns returns the names of all columns.
func (r *records) Columns() []string { return r.columns }

// panicText returns a colon and the text of a panic value, or "" for a runtime error.
func panicText(p any) string {
	if _, ok := p.(runtime.Error); ok {
		return ""
	}
	return fmt.Sprintf(": %v", p)
}

// Next reads the next row into row. It returns io.EOF after the last row.
func (r *records) Next(row *Row) (err error) {
	// Arrow uses some sizes in a file without checking them.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: after row %d: the file is damaged%s", r.name, r.row, panicText(p))
		}
	}()
	for r.record == nil || r.nextRow == int(r.record.NumRows()) {
		if r.remaining == 0 {
			return io.EOF
		}
		if r.record, err = r.next(); err != nil {
			if err == io.EOF && r.part != nil {
				err = fmt.Errorf("%s: expected at least %d rows, found %d: was the file changed?",
					r.name, r.part.To, r.row)
			}
			return err
		}
		r.nextRow = int(min(r.skip, r.record.NumRows()))
		r.skip -= int64(r.nextRow)
	}
	if r.remaining == 0 {
		return io.EOF
	}
	r.remaining--
	r.row++
	row.begin(r.name, r.row)
	size := 0
	for _, name := range r.wanted {
		at := r.record.Schema().FieldIndices(name)
		if len(at) != 1 {
			return fmt.Errorf("%s: column %q: expected one column of this name in each record batch, found %d",
				r.name, name, len(at))
		}
		var v Value
		var err error
		copied, isCopied := r.copied[name]
		switch column := r.record.Column(at[0]); {
		case slices.Contains(r.lists, name):
			v, err = itemsAt(column, r.nextRow, r.limit-size, slices.Contains(r.nullable, name))
		case slices.Contains(r.series, name):
			v, err = seriesAt(column, r.nextRow, r.limit-size)
		case slices.Contains(r.features, name):
			v, err = featuresAt(column, r.nextRow, r.limit-size)
		case slices.Contains(r.edges, name):
			v, err = edgesAt(column, r.nextRow, r.limit-size)
		case isCopied:
			v, err = copiedJSON(copied, column, r.nextRow, r.limit-size)
		default:
			v, err = valueAt(column, r.nextRow)
			if err == nil && !v.Null && slices.Contains(r.typed, name) {
				v.Stored = storedAt(column, r.nextRow)
			}
		}
		if form := r.formatters[name]; form != nil && err == nil && !v.Null {
			v.Text = form(v.Text)
		}
		if err == nil {
			if err = r.classes.check(name, v); err == nil {
				err = r.classes.replaceNumbers(name, &v, slices.Contains(r.requestedLists, name))
			}
		}
		if err == nil && seq.IsTokenColumn(name) {
			err = v.shift(r.firstID)
		}
		for _, item := range v.Items {
			size += itemBytes + len(item)
		}
		if size += len(v.Text) + len(v.Stored) + 4*len(v.Tokens) + featureBytes(v.Features) +
			edgeBytes*len(v.Edges); err == nil &&
			size > r.limit {
			err = fmt.Errorf("the row has more than %d bytes", r.limit)
		}
		if err != nil {
			row.setNull(&v, fmt.Errorf("column %s: %w", name, err))
		}
		row.Values = append(row.Values, v)
	}
	r.nextRow++
	return nil
}

// Close closes the file.
func (r *records) Close() error { return r.close() }

// readable reports whether values of type t can be read.
func readable(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return readable(t.ValueType)
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		return arrow.IsInteger(t.(arrow.ListLikeType).Elem().ID())
	}
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY, arrow.STRING_VIEW,
		arrow.BINARY_VIEW, arrow.BOOL, arrow.NULL:
		return true
	}
	return arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) || arrow.IsDecimal(t.ID())
}

// isTime reports whether t is a date or time type, whose values can be copied as text.
func isTime(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP:
		return true
	}
	return false
}

// checkColumns returns the names of all columns of a schema. It returns an error if a wanted column
// is missing or cannot be read in the requested way.
func checkColumns(schema *arrow.Schema, o Options) (columns []string, err error) {
	for _, f := range schema.Fields() {
		columns = append(columns, f.Name)
	}
	at, err := columnIndices(columns, o.Columns)
	if err != nil {
		return nil, err
	}
	for _, i := range at {
		if f := schema.Field(i); slices.Contains(o.series, f.Name) && isNumberList(f.Type) {
			continue
		} else if slices.Contains(o.Features, f.Name) {
			if !isFeatureList(f.Type) && !isEdgeList(f.Type) {
				hint := ""
				if isNumberList(f.Type) {
					hint = " (read a series with --series)"
				}
				return nil, &ColumnError{f.Name, false,
					fmt.Errorf("column %q: expected lists of lists of numbers, one inner list per token, found %s%s",
						f.Name, f.Type, hint)}
			}
		} else if slices.Contains(o.Edges, f.Name) {
			if !isEdgeList(f.Type) {
				return nil, &ColumnError{f.Name, false,
					fmt.Errorf("column %q: expected lists of [source, target] with whole numbers, found %s", f.Name, f.Type)}
			}
		} else if !readable(f.Type) && !(isTime(f.Type) && slices.Contains(o.Copied, f.Name)) &&
			!copiesJSON(f, &o, 0) &&
			!(isTime(f.Type) && slices.Contains(o.Typed, f.Name)) &&
			!(isItemList(f.Type) && slices.Contains(o.Lists, f.Name)) {
			_, list := f.Type.(arrow.ListLikeType)
			if isFeatureList(f.Type) {
				return nil, &ColumnError{f.Name, list,
					fmt.Errorf("column %q: expected text, numbers or lists of whole numbers, found features of type %s "+
						"(read them with --features)", f.Name, f.Type)}
			}
			if isNumberList(f.Type) {
				return nil, &ColumnError{f.Name, list,
					fmt.Errorf("column %q: expected text, numbers or lists of whole numbers, found a series of type %s "+
						"(read it with --series)", f.Name, f.Type)}
			}
			return nil, &ColumnError{f.Name, list,
				fmt.Errorf("column %q: expected text, numbers or lists of whole numbers, found %s: convert the column to text",
					f.Name, f.Type)}
		}
	}
	return columns, nil
}

// valueAt returns the value of row i of a column.
func valueAt(a arrow.Array, i int) (v Value, err error) {
	if a.IsNull(i) || a.DataType().ID() == arrow.NULL { // the null type has no validity bitmap
		return Value{Null: true}, nil
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return valueAt(a.Dictionary(), a.GetValueIndex(i))
	case interface{ Value(i int) string }: // all types of text
		v.Text = strings.Clone(a.Value(i)) // cloned, because the batch's memory is not kept
	case interface{ Value(i int) []byte }: // all types of bytes
		return Value{Text: string(a.Value(i))}, nil
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		v.Tokens, err = tokenIDs(a.ListValues(), from, to)
		return v, err
	default:
		v.Text, v.JSON = scalarText(a, i), !isTime(a.DataType())
	}
	if !utf8.ValidString(v.Text) {
		return v, jsonlines.ErrNotUTF8
	}
	return v, nil
}

// shift converts stored ids into token ids by adding firstID.
func (v *Value) shift(firstID int32) error {
	for i := range v.Tokens {
		if v.Tokens[i] > math.MaxInt32-firstID {
			return fmt.Errorf("index %d: expected a token id up to %d, found the stored id %d plus %d", i,
				math.MaxInt32, v.Tokens[i], firstID)
		}
		v.Tokens[i] += firstID
	}
	return nil
}

// tokenIDs returns the integers of a column at the indices [from, to) as token ids.
func tokenIDs(a arrow.Array, from, to int64) ([]int32, error) {
	if from < 0 || from > to || to > int64(a.Len()) { // Arrow does not check offsets in a file
		return nil, fmt.Errorf("the file is damaged: found list offsets %d to %d, expected ascending offsets "+
			"from 0 to %d", from, to, a.Len())
	}
	out := make([]int32, 0, to-from)
	for i := int(from); i < int(to); i++ {
		n, ok := integerAt(a, i)
		if !ok || n < 0 || n > math.MaxInt32 {
			return nil, fmt.Errorf("index %d: expected a token id from 0 to %d, found %s", i-int(from),
				math.MaxInt32, a.ValueStr(i))
		}
		out = append(out, int32(n))
	}
	return out, nil
}

// integerAt returns value i of a column of integers, and math.MaxInt64 for larger values. It returns
// false if the value is null or the column has a different type.
func integerAt(a arrow.Array, i int) (int64, bool) {
	if a.IsNull(i) {
		return 0, false
	}
	switch a := a.(type) {
	case *array.Int8:
		return int64(a.Value(i)), true
	case *array.Int16:
		return int64(a.Value(i)), true
	case *array.Int32:
		return int64(a.Value(i)), true
	case *array.Int64:
		return a.Value(i), true
	case *array.Uint8:
		return int64(a.Value(i)), true
	case *array.Uint16:
		return int64(a.Value(i)), true
	case *array.Uint32:
		return int64(a.Value(i)), true
	case *array.Uint64:
		return int64(min(a.Value(i), math.MaxInt64)), true
	}
	return 0, false
}
