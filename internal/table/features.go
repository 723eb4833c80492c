package table

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// parseFeatures parses features from a JSON list.
func parseFeatures(list []byte) (v Value, err error) {
	v.Features, err = jsonlines.Features(list)
	return v, err
}

// tokenBytes is the memory of a token besides its features, in bytes.
const tokenBytes = 24

// featureBytes returns the memory of features in bytes.
func featureBytes(features [][]float32) (n int) {
	for _, token := range features {
		n += tokenBytes + 4*len(token)
	}
	return n
}

// isFeatureList reports whether t is a list of lists of floating-point numbers.
func isFeatureList(t arrow.DataType) bool {
	return isNestedList(t, func(number arrow.Type) bool { return number == arrow.FLOAT32 || number == arrow.FLOAT64 })
}

// featuresAt returns the features of row i of a column. More than limit bytes are an error.
func featuresAt(a arrow.Array, i, limit int) (v Value, err error) {
	list, ok := a.(array.ListLike)
	if !ok {
		return v, errors.New("expected a list of lists of numbers")
	}
	if a.IsNull(i) {
		return Value{Null: true}, nil
	}
	from, to, err := listBounds(list, i)
	if err != nil {
		return v, err
	}
	tokens := list.ListValues().(array.ListLike)
	v.Features = [][]float32{}
	for t := from; t < to; t++ {
		token, err := numbersAt(tokens, t)
		if err == nil {
			if limit -= tokenBytes + 4*len(token); limit < 0 {
				err = errors.New("the list exceeds the size limit of a row")
			}
		}
		if err != nil {
			return Value{}, fmt.Errorf("index %d: %w", t-from, err)
		}
		v.Features = append(v.Features, token)
	}
	return v, nil
}

// numbersAt returns the numbers of list i.
func numbersAt(list array.ListLike, i int) ([]float32, error) {
	if list.IsNull(i) {
		return nil, errors.New("expected a list of numbers, found null")
	}
	from, to, err := listBounds(list, i)
	if err != nil {
		return nil, err
	}
	out := make([]float32, 0, to-from)
	for at := from; at < to; at++ {
		if list.ListValues().IsNull(at) {
			return nil, fmt.Errorf("number %d: expected a number, found null", at-from)
		}
		var x float64
		switch a := list.ListValues().(type) {
		case *array.Float32:
			x = float64(a.Value(at))
		case *array.Float64:
			x = a.Value(at)
		case *array.Uint64:
			x = float64(a.Value(at))
		default:
			n, ok := integerAt(a, at)
			if !ok {
				return nil, fmt.Errorf("expected numbers, found %s", a.DataType())
			}
			x = float64(n)
		}
		if y := float32(x); y-y != 0 {
			return nil, fmt.Errorf("number %d: expected a finite float32, found %v", at-from, x)
		}
		out = append(out, float32(x))
	}
	return out, nil
}

// listBounds returns the bounds of list i. It checks the offsets, because the Arrow library does not
// validate offsets read from a file.
func listBounds(list array.ListLike, i int) (from, to int, err error) {
	first, end := list.ValueOffsets(i)
	if n := int64(list.ListValues().Len()); first < 0 || first > end || end > n {
		return 0, 0, fmt.Errorf("the file is damaged: found list offsets %d to %d, expected ascending offsets "+
			"from 0 to %d", first, end, n)
	}
	return int(first), int(end), nil
}
