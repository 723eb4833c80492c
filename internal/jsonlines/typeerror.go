package jsonlines

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// TypeError rewords an error of encoding/json about a value of another type, so that it names the key and the JSON
// types: "hidden_size: expected a whole number, found a string at byte 17". It returns other errors unchanged.
func TypeError(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	expected := TypeName(wrong.Type)
	if number, ok := strings.CutPrefix(wrong.Value, "number "); ok && !strings.ContainsAny(number, ".eE") {
		expected = "a number in the range of " + wrong.Type.String()
	}
	text := fmt.Sprintf("expected %s, found %s at byte %d", expected, ValueName(wrong.Value), wrong.Offset)
	if key := typeErrorKey(wrong.Field); key != "" {
		text = key + ": " + text
	}
	return errors.New(text)
}

// typeErrorKey removes the names of embedded Go structs from the path of a key. encoding/json adds them, but the JSON
// text has no such keys. All keys begin with a lower-case letter.
func typeErrorKey(path string) string {
	for {
		first, rest, found := strings.Cut(path, ".")
		if !found || !unicode.IsUpper(rune(first[0])) {
			return path
		}
		path = rest
	}
}

// ValueName describes a JSON value named by encoding/json, such as "array" or "number 1.5".
func ValueName(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return number
	}
	return "a " + value
}

// TypeName describes the JSON values of a Go type.
func TypeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return TypeName(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}
