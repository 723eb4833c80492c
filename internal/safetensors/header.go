package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// entry is the header's description of one tensor.
type entry struct {
	name       string
	kind       string // F32 or I32
	shape      []int
	begin, end int64
}

// parseHeader parses the header and checks it against the size of the data. It reads JSON tokens,
// because json.Unmarshal would silently drop duplicate keys. The entries are in the order of their data;
// kinds are the allowed dtypes.
func parseHeader(header []byte, dataSize int64, kinds ...string) ([]entry, map[string]string, error) {
	if !utf8.Valid(header) {
		return nil, nil, errors.New("header: expected UTF-8, found other bytes: " +
			"the file is damaged or not in the safetensors format")
	}
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, fmt.Errorf("header: expected a JSON object, found %.10q", header)
	}
	p := parser{json.NewDecoder(bytes.NewReader(header)), kinds}
	p.UseNumber()
	var entries []entry
	var metadata map[string]string
	err := p.object(func(key string) error {
		if key == metadataKey {
			var err error
			if metadata, err = p.metadata(); err != nil {
				return fmt.Errorf("%s: %w", metadataKey, err)
			}
			return nil
		}
		e, err := p.entry()
		if err != nil {
			return fmt.Errorf("tensor %q: %w", key, err)
		}
		e.name = key
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	if token, err := p.Token(); err != io.EOF {
		if err == nil {
			err = fmt.Errorf("found %v", token)
		}
		return nil, nil, fmt.Errorf("header: expected only spaces after the object: %w", err)
	}
	if err := checkOffsets(entries, dataSize); err != nil {
		return nil, nil, err
	}
	return entries, metadata, nil
}

// checkOffsets sorts the entries by the offsets of their data. It checks that each entry has the
// number of bytes that its shape requires, and that the entries cover the data without gap or overlap.
func checkOffsets(entries []entry, dataSize int64) error {
	sort.SliceStable(entries, func(i, j int) bool {
		a, b := entries[i], entries[j]
		return a.begin < b.begin || a.begin == b.begin && a.end < b.end
	})
	next := int64(0)
	for _, e := range entries {
		n, err := elements(e.shape)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", e.name, err)
		}
		if e.begin >= 0 && e.end > dataSize {
			return fmt.Errorf("tensor %q: data_offsets [%d, %d]: the file is truncated to %d bytes of data "+
				"(restore it from a copy)", e.name, e.begin, e.end, dataSize)
		}
		if e.end < e.begin {
			return fmt.Errorf("tensor %q: data_offsets [%d, %d]: expected a range within the %d bytes of data", e.name,
				e.begin, e.end, dataSize)
		}
		if e.end-e.begin != 4*n {
			return fmt.Errorf("tensor %q: data_offsets [%d, %d]: expected %d bytes for shape %v of %s, found %d",
				e.name, e.begin, e.end, 4*n, e.shape, e.kind, e.end-e.begin)
		}
		if e.begin != next {
			kind := "a gap"
			if e.begin < next {
				kind = "an overlap"
			}
			return fmt.Errorf("tensor %q: data_offsets [%d, %d]: expected to begin at %d, found %s", e.name,
				e.begin, e.end, next, kind)
		}
		next = e.end
	}
	if next != dataSize {
		return fmt.Errorf("expected %d bytes of data, as the header says, found %d", next, dataSize)
	}
	return nil
}

// parser reads JSON tokens of expected types.
type parser struct {
	*json.Decoder
	kinds []string // allowed dtypes
}

// expect reads the next token, which must be the delimiter want.
func (p parser) expect(want json.Delim) error {
	token, err := p.Token()
	if err != nil {
		return syntax(err)
	}
	if token != want {
		return fmt.Errorf("expected %q, found %v", want.String(), token)
	}
	return nil
}

// maxKeys is the maximum number of keys of an object. It bounds the memory, because a key may take ten times
// its length. The checkpoint of the largest allowed model has fewer tensors.
const maxKeys = 1 << 19

// object reads {"key": value, …}. It calls value to read the value of each key, and refuses
// duplicate keys.
func (p parser) object(value func(key string) error) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return syntax(err)
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("expected a key, found %v", token)
		}
		if seen[key] {
			return fmt.Errorf("key %q occurs twice", key)
		}
		if seen[key] = true; len(seen) > maxKeys {
			return fmt.Errorf("expected at most %d keys, found more", maxKeys)
		}
		if err := value(key); err != nil {
			return err
		}
	}
	return p.expect('}')
}

// integers reads [n, …] with at most limit integers in 0 … 2⁶³−1.
func (p parser) integers(limit int) ([]int64, error) {
	if err := p.expect('['); err != nil {
		return nil, err
	}
	list := []int64{}
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return nil, syntax(err)
		}
		number, ok := token.(json.Number)
		if !ok {
			return nil, fmt.Errorf("expected an integer, found %v", token)
		}
		n, err := strconv.ParseUint(number.String(), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("expected an integer from 0 to 2⁶³−1, found %s", number)
		}
		if len(list) == limit {
			return nil, fmt.Errorf("expected at most %d numbers, found more", limit)
		}
		list = append(list, int64(n))
	}
	return list, p.expect(']')
}

// text reads a string.
func (p parser) text() (string, error) {
	token, err := p.Token()
	if err != nil {
		return "", syntax(err)
	}
	s, ok := token.(string)
	if !ok {
		return "", fmt.Errorf("expected a string, found %v", token)
	}
	return s, nil
}

// entry reads the object of one tensor: dtype, shape and data_offsets, in any order.
func (p parser) entry() (e entry, err error) {
	var kind string
	var shape, offsets []int64
	err = p.object(func(key string) (err error) {
		switch key {
		case "dtype":
			kind, err = p.text()
		case "shape":
			shape, err = p.integers(maxDims)
		case "data_offsets":
			offsets, err = p.integers(2)
		default:
			return fmt.Errorf("expected dtype, shape and data_offsets, found %q", key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	if !slices.Contains(p.kinds, kind) {
		return e, fmt.Errorf("dtype: expected %s, found %q", strings.Join(p.kinds, " or "), kind)
	}
	e.kind = kind
	if shape == nil {
		return e, errors.New("shape is missing")
	}
	if len(offsets) != 2 {
		return e, fmt.Errorf("data_offsets: expected 2 numbers, found %d", len(offsets))
	}
	e.begin, e.end = offsets[0], offsets[1]
	e.shape = make([]int, len(shape))
	for i, n := range shape {
		e.shape[i] = int(n)
		if int64(e.shape[i]) != n {
			return e, fmt.Errorf("shape %v: dimension %d is too large for this machine", shape, i)
		}
	}
	return e, nil
}

// metadata reads an object whose values are strings.
func (p parser) metadata() (map[string]string, error) {
	m := map[string]string{}
	err := p.object(func(key string) (err error) {
		if m[key], err = p.text(); err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
		return nil
	})
	return m, err
}

// syntax explains an error of the JSON decoder. At the end of the input the decoder's own error is only
// "EOF" or "unexpected EOF".
func syntax(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends too early")
	}
	return fmt.Errorf("not JSON: %w", err)
}
