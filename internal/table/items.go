package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// parseItems returns the elements of a JSON list as texts. Elements are strings, numbers or
// booleans; numbers and booleans keep their JSON text.
func parseItems(list json.RawMessage) (v Value, err error) {
	v.Items = []string{}
	for element := range jsonlines.Elements(list) {
		if slices.Contains([]byte("[{n"), element[0]) { // a list, an object or null
			return Value{}, fmt.Errorf("index %d: expected a string, a number, true or false, found %s",
				len(v.Items), jsonlines.Shorten(string(element), 40))
		}
		item, err := valueOf(element)
		if err != nil {
			return Value{}, fmt.Errorf("index %d: %w", len(v.Items), err)
		}
		v.Items, v.JSON = append(v.Items, item.Text), v.JSON || item.JSON
	}
	return v, nil
}

// isItemList reports whether t is a list of values that can be read as text, such as numbers or booleans.
func isItemList(t arrow.DataType) bool {
	list, ok := t.(arrow.ListLikeType)
	if !ok {
		return false
	}
	_, nested := list.Elem().(arrow.ListLikeType)
	return !nested && readable(list.Elem())
}

// itemBytes is the memory in bytes of an item besides its text, which several items may share.
const itemBytes = 16

// itemsAt returns the texts of the list in row i of a column. More than limit bytes are an error, and so
// is a null element unless nullable is true. A value that is not a list is returned as by valueAt.
func itemsAt(a arrow.Array, i, limit int, nullable bool) (v Value, err error) {
	list, ok := a.(array.ListLike)
	if !ok || a.IsNull(i) {
		return valueAt(a, i)
	}
	from, to, err := listBounds(list, i)
	if err != nil {
		return v, err
	}
	v.Items = []string{}
	for at := from; at < to; at++ {
		item, err := valueAt(list.ListValues(), at)
		if err == nil && item.Null && !nullable {
			err = errors.New("expected a value, found null")
		}
		if err != nil {
			return Value{}, fmt.Errorf("index %d: %w", at-from, err)
		}
		if limit -= itemBytes + len(item.Text); limit < 0 {
			return Value{}, fmt.Errorf("index %d: the list exceeds the size limit of a row", at-from)
		}
		v.JSON = v.JSON || item.JSON
		if v.Items = append(v.Items, item.Text); nullable {
			v.Gaps = append(v.Gaps, item.Null)
		}
	}
	return v, nil
}
