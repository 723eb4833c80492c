package seq

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// MarshalJSON returns an edge as a list: source, target, then its features.
func (e Edge) MarshalJSON() ([]byte, error) {
	out := append([]byte{'['}, strconv.Itoa(int(e.Source))...)
	out = strconv.AppendInt(append(out, ','), int64(e.Target), 10)
	for _, v := range e.Features {
		number, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out = append(append(out, ','), number...)
	}
	return append(out, ']'), nil
}

// UnmarshalJSON parses an edge in the format of MarshalJSON.
func (e *Edge) UnmarshalJSON(text []byte) error {
	_, err := e.parse(text, nil)
	return err
}

// parse parses an edge in valid JSON. It appends the features to numbers and returns the result. The
// edge's features share the memory of the result.
func (e *Edge) parse(text []byte, numbers []float32) ([]float32, error) {
	first, n := len(numbers), 0
	ends := [2]*int32{&e.Source, &e.Target}
	for number := range jsonlines.Elements(text) {
		if n < 2 {
			end, err := strconv.ParseInt(string(number), 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%s: expected a token's index, an integer from 0, found %.40s", edgeEnds[n],
					number)
			}
			*ends[n] = int32(end)
		} else {
			v, err := strconv.ParseFloat(string(number), 32)
			switch {
			case errors.Is(err, strconv.ErrRange):
				return nil, fmt.Errorf("feature %d: expected a finite float32, found %.40s", n-2, number)
			case err != nil:
				return nil, fmt.Errorf("feature %d: expected a number, found %.40s", n-2, number)
			}
			numbers = append(numbers, float32(v))
		}
		n++
	}
	if n < 2 {
		return nil, fmt.Errorf("expected a list of source, target and features, found %.40s", text)
	}
	if e.Features = nil; len(numbers) > first {
		e.Features = numbers[first:len(numbers):len(numbers)]
	}
	return numbers, nil
}

// ParseEdges parses a list of edges in valid JSON, such as [[0, 1, 0.5], [1, 2, 2.5]]. The error for an
// invalid edge states its index. All features share one allocation.
func ParseEdges(text []byte) ([]Edge, error) {
	if len(text) == 0 || text[0] != '[' {
		return nil, fmt.Errorf("expected a list of edges, found %.40s", text)
	}
	edges := bytes.Count(text, []byte{'['}) - 1
	numbers := bytes.Count(text, []byte{','}) + 1
	out := make([]Edge, 0, edges)
	features := make([]float32, 0, max(0, numbers-2*edges))
	for edge := range jsonlines.Elements(text) {
		var e Edge
		var err error
		if features, err = e.parse(edge, features); err != nil {
			return nil, fmt.Errorf("edge %d: %w", len(out), err)
		}
		out = append(out, e)
	}
	return out, nil
}
