package table

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// edgeBytes is the memory of an edge in bytes: two 32-bit integers.
const edgeBytes = 8

// isEdgeList reports whether t is a list of lists of integers.
func isEdgeList(t arrow.DataType) bool { return isNestedList(t, arrow.IsInteger) }

// isNestedList reports whether t is a list of lists whose elements have a type for which the function
// number returns true.
func isNestedList(t arrow.DataType, number func(arrow.Type) bool) bool {
	list, ok := t.(arrow.ListLikeType)
	if !ok {
		return false
	}
	item, ok := list.Elem().(arrow.ListLikeType)
	return ok && number(item.Elem().ID())
}

// edgesAt returns the edges of row i of a column. More than limit bytes are an error.
func edgesAt(a arrow.Array, i, limit int) (v Value, err error) {
	list, ok := a.(array.ListLike)
	if !ok {
		return v, errors.New("expected a list of edges")
	}
	if a.IsNull(i) {
		return Value{Null: true}, nil
	}
	from, to, err := listBounds(list, i)
	if err != nil {
		return v, err
	}
	if (to-from)*edgeBytes > limit {
		return v, errors.New("the list exceeds the size limit of a row")
	}
	v.Edges = make([][2]int32, 0, to-from)
	edges := list.ListValues().(array.ListLike)
	for e := from; e < to; e++ {
		ends, err := endsAt(edges, e)
		if err != nil {
			return Value{}, fmt.Errorf("edge %d: %w", e-from, err)
		}
		v.Edges = append(v.Edges, ends)
	}
	return v, nil
}

// endsAt returns the source and the target of edge i.
func endsAt(edges array.ListLike, i int) (ends [2]int32, err error) {
	if edges.IsNull(i) {
		return ends, errors.New("expected a list of source and target, found null")
	}
	from, to, err := listBounds(edges, i)
	if err != nil {
		return ends, err
	}
	if to-from != len(ends) {
		return ends, fmt.Errorf("expected a list of source and target, found a list of length %d", to-from)
	}
	for n, name := range []string{"source", "target"} {
		end, ok := integerAt(edges.ListValues(), from+n)
		if !ok || end < math.MinInt32 || end > math.MaxInt32 {
			return ends, fmt.Errorf("%s: expected a token's index, an integer from 0, found %s", name,
				edges.ListValues().ValueStr(from+n))
		}
		ends[n] = int32(end)
	}
	return ends, nil
}
