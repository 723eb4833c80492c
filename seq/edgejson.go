package seq

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// MarshalJSON writes an edge as a list: source, target, then its features.
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

// UnmarshalJSON is the reverse.
func (e *Edge) UnmarshalJSON(text []byte) error {
	var numbers []json.RawMessage
	if err := json.Unmarshal(text, &numbers); err != nil || len(numbers) < 2 {
		return fmt.Errorf("expected a list of source, target and features, found %.40s", text)
	}
	*e = Edge{}
	for i, end := range []*int32{&e.Source, &e.Target} {
		n, err := strconv.ParseInt(string(numbers[i]), 10, 32)
		if err != nil {
			return fmt.Errorf("%s: expected a token's place, a number from 0, found %.40s", edgeEnds[i], numbers[i])
		}
		*end = int32(n)
	}
	for i, number := range numbers[2:] {
		v, err := strconv.ParseFloat(string(number), 32)
		if err != nil {
			return fmt.Errorf("feature %d: expected a number, found %.40s", i, number)
		}
		e.Features = append(e.Features, float32(v))
	}
	return nil
}

// ParseEdges reads a list of edges in JSON, [[0, 1, 0.5], [1, 2, 2.5]]. Its error names the edge.
func ParseEdges(text []byte) ([]Edge, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil || list == nil {
		return nil, fmt.Errorf("expected a list of edges, found %.40s", text)
	}
	out := make([]Edge, len(list))
	for i, edge := range list {
		if err := out[i].UnmarshalJSON(edge); err != nil {
			return nil, fmt.Errorf("edge %d: %w", i, err)
		}
	}
	return out, nil
}
