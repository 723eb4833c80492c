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

// isCopiedList reports whether t is a list whose values can be copied as JSON: lists of any depth
// of texts, numbers, booleans, dates or times.
func isCopiedList(t arrow.DataType) bool {
	switch t.(type) {
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		item := t.(arrow.ListLikeType).Elem()
		return readable(item) || isTime(item) || isCopiedList(item)
	}
	return false
}

// copiedList returns a list as JSON, in which every number has its exact text. Elements may be
// null. JSON has no NaN and no infinities, which therefore become strings. More than limit bytes
// are an error.
func copiedList(a arrow.Array, i, limit int) (Value, error) {
	if a.IsNull(i) {
		return Value{Null: true}, nil
	}
	out, err := appendElement(nil, a, i, limit)
	return Value{Text: string(out), JSON: true}, err
}

// appendElement appends value i of a column to out as JSON.
func appendElement(out []byte, a arrow.Array, i, limit int) ([]byte, error) {
	if list, ok := a.(array.ListLike); ok && a.IsValid(i) {
		from, to, err := within(list, i)
		if err != nil {
			return nil, err
		}
		out = append(out, '[')
		for at := from; at < to; at++ {
			if at > from {
				out = append(out, ',')
			}
			if out, err = appendElement(out, list.ListValues(), at, limit); err != nil {
				return nil, fmt.Errorf("index %d: %w", at-from, err)
			}
			if len(out) > limit {
				return nil, fmt.Errorf("index %d: the list has more bytes than a row may have", at-from)
			}
		}
		return append(out, ']'), nil
	}
	v, err := valueAt(a, i)
	switch {
	case err != nil:
		return nil, err
	case v.Null:
		return append(out, "null"...), nil
	case v.JSON && json.Valid([]byte(v.Text)):
		return append(out, v.Text...), nil
	case !utf8.ValidString(v.Text): // bytes
		return nil, jsonlines.ErrNotUTF8
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(v.Text)
	return append(out, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), err
}

// isTexts reports whether t is a list of texts.
func isTexts(t arrow.DataType) bool {
	return isCopiedList(t) && arrow.IsBaseBinary(t.(arrow.ListLikeType).Elem().ID())
}

// copiesList reports whether a column is only copied, and is a list that is returned as JSON. Lists
// of other elements than texts are copied only for an output that keeps types. Token ids that the
// file stores relative to a first id are read as token ids.
func copiesList(f arrow.Field, o *Options, first int32) bool {
	return first == 0 && slices.Contains(o.Copied, f.Name) &&
		(isTexts(f.Type) || isCopiedList(f.Type) && slices.Contains(o.Typed, f.Name))
}
