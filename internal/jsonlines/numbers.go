package jsonlines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Numbers reads a list of numbers from valid JSON. Unlike package encoding/json, it refuses null.
func Numbers(value json.RawMessage) ([]float32, error) {
	return appendNumbers(nil, value)
}

// Features reads a list of lists of numbers, one list per token, like [Numbers].
func Features(value json.RawMessage) ([][]float32, error) {
	if value[0] != '[' {
		return nil, fmt.Errorf("expected a list of lists of numbers, found %s", Kind(value))
	}
	features := make([][]float32, 0, bytes.Count(value, []byte("["))-1)
	numbers := make([]float32, 0, bytes.Count(value, []byte(","))+1) // numbers of all tokens
	for token := range Elements(value) {
		first := len(numbers)
		var err error
		if numbers, err = appendNumbers(numbers, token); err != nil {
			return nil, fmt.Errorf("index %d: %w", len(features), err)
		}
		features = append(features, numbers[first:len(numbers):len(numbers)])
	}
	return features, nil
}

// appendNumbers appends the numbers of a list.
func appendNumbers(to []float32, list []byte) ([]float32, error) {
	if list[0] != '[' {
		return nil, fmt.Errorf("expected a list of numbers, found %s", Kind(list))
	}
	first := len(to)
	for number := range Elements(list) {
		if number[0] != '-' && (number[0] < '0' || number[0] > '9') {
			return nil, fmt.Errorf("number %d: expected a number, found %s", len(to)-first, Kind(number))
		}
		x, err := strconv.ParseFloat(string(number), 32)
		if err != nil {
			return nil, fmt.Errorf("number %d: expected a finite float32, found %s", len(to)-first, Kind(number))
		}
		to = append(to, float32(x))
	}
	return to, nil
}
