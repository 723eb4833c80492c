package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// isCopiedList reports whether t is a list whose values can be copied as JSON. Lists may be nested,
// and contain texts, bytes, numbers, booleans, dates, times, structs or maps.
func isCopiedList(t arrow.DataType) bool {
	switch t.(type) {
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		item := t.(arrow.ListLikeType).Elem()
		return readable(item) || isTime(item) || isCopiedList(item) || isCopiedStruct(item)
	}
	return false
}

// isCopiedStruct reports whether t is a struct or a map whose values can be copied as JSON. A field of
// bytes other than UUIDs cannot be copied, because JSON has no type for bytes.
func isCopiedStruct(t arrow.DataType) bool {
	copied := func(f arrow.Field) bool {
		switch f.Type.ID() {
		case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
			return isUUID(f)
		}
		return readable(f.Type) || isTime(f.Type) || isCopiedList(f.Type) || isCopiedStruct(f.Type)
	}
	switch t := t.(type) {
	case *arrow.MapType:
		_, list := t.KeyType().(arrow.ListLikeType)
		_, fields := t.KeyType().(*arrow.StructType)
		return !list && !fields && copied(t.KeyField()) && copied(t.ItemField())
	case *arrow.StructType:
		return !slices.ContainsFunc(t.Fields(), func(f arrow.Field) bool { return !copied(f) })
	}
	return false
}

// copiedJSON returns a list, struct or map of field f as JSON, in which every number has its exact
// text. Elements may be null. JSON has no NaN and no infinities, so these values become strings. More
// than limit bytes are an error.
func copiedJSON(f arrow.Field, a arrow.Array, i, limit int) (Value, error) {
	if a.IsNull(i) {
		return Value{Null: true}, nil
	}
	out, err := appendElement(nil, f, a, i, limit)
	return Value{Text: string(out), JSON: true}, err
}

// appendElement appends value i of field f to out as JSON.
func appendElement(out []byte, f arrow.Field, a arrow.Array, i, limit int) ([]byte, error) {
	if a.IsNull(i) {
		return append(out, "null"...), nil
	}
	switch a := a.(type) {
	case *array.Map:
		from, to, err := listBounds(a, i)
		if err != nil {
			return nil, err
		}
		t := f.Type.(*arrow.MapType)
		out = append(out, '{')
		for at := from; at < to; at++ {
			if at > from {
				out = append(out, ',')
			}
			key, err := leafAt(t.KeyField(), a.Keys(), at)
			if err != nil {
				return nil, fmt.Errorf("key %d: %w", at-from, err)
			}
			out = append(appendText(out, key.Text), ':')
			if out, err = appendElement(out, t.ItemField(), a.Items(), at, limit); err != nil {
				return nil, fmt.Errorf("%s: %w", key.Text, err)
			}
			if len(out) > limit {
				return nil, fmt.Errorf("%s: the map exceeds the size limit of a row", key.Text)
			}
		}
		return append(out, '}'), nil
	case array.ListLike:
		from, to, err := listBounds(a, i)
		if err != nil {
			return nil, err
		}
		item := f.Type.(arrow.ListLikeType).ElemField()
		out = append(out, '[')
		for at := from; at < to; at++ {
			if at > from {
				out = append(out, ',')
			}
			if out, err = appendElement(out, item, a.ListValues(), at, limit); err != nil {
				return nil, fmt.Errorf("index %d: %w", at-from, err)
			}
			if len(out) > limit {
				return nil, fmt.Errorf("index %d: the list exceeds the size limit of a row", at-from)
			}
		}
		return append(out, ']'), nil
	case *array.Struct:
		out = append(out, '{')
		for n, field := range f.Type.(*arrow.StructType).Fields() {
			if n > 0 {
				out = append(out, ',')
			}
			var err error
			out = append(appendText(out, field.Name), ':')
			if out, err = appendElement(out, field, a.Field(n), i, limit); err != nil {
				return nil, fmt.Errorf("%s: %w", field.Name, err)
			}
			if len(out) > limit {
				return nil, fmt.Errorf("%s: the struct exceeds the size limit of a row", field.Name)
			}
		}
		return append(out, '}'), nil
	}
	v, err := leafAt(f, a, i)
	switch {
	case err != nil:
		return nil, err
	case v.Null:
		return append(out, "null"...), nil
	case v.JSON && json.Valid([]byte(v.Text)):
		return append(out, v.Text...), nil
	}
	return appendText(out, v.Text), nil
}

// leafAt returns value i of field f, whose type is not nested, as text.
func leafAt(f arrow.Field, a arrow.Array, i int) (Value, error) {
	v, err := valueAt(a, i)
	if err != nil || v.Null {
		return v, err
	}
	if form := formatterOf(f); form != nil {
		v.Text = form(v.Text)
	}
	if !utf8.ValidString(v.Text) { // bytes
		return v, jsonlines.ErrNotUTF8
	}
	return v, nil
}

// appendText appends a text to out as a JSON string.
func appendText(out []byte, text string) []byte {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	encoder.Encode(text) // a write to memory cannot fail
	return append(out, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}

// isTexts reports whether t is a list of texts or bytes.
func isTexts(t arrow.DataType) bool {
	return isCopiedList(t) && arrow.IsBaseBinary(t.(arrow.ListLikeType).Elem().ID())
}

// copiesJSON reports whether a column is copied as JSON: a list of texts or bytes, or any list, struct
// or map if the output keeps types. It returns false if first, the first token id, is not 0, because
// lists are then token ids stored relative to first.
func copiesJSON(f arrow.Field, o *Options, first int32) bool {
	return first == 0 && slices.Contains(o.Copied, f.Name) &&
		(isTexts(f.Type) || (isCopiedList(f.Type) || isCopiedStruct(f.Type)) && slices.Contains(o.Typed, f.Name))
}
