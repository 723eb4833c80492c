package jsonlines

import (
	"testing"
	"unicode"

	"github.com/sftseq/sftseq/internal/must"
)

// TestJoin checks that the object has the fields of all parts in order, without commas for parts
// without fields.
func TestJoin(t *testing.T) {
	type a struct {
		A string `json:"a,omitempty"`
	}
	type b struct {
		B []int `json:"b"`
	}
	for want, parts := range map[string][]any{
		"{}":                       nil,
		`{"a":"<}"}`:               {a{}, a{"<}"}, a{}},
		`{"a":"1","b":[],"a":"2"}`: {a{"1"}, b{[]int{}}, a{}, a{"2"}},
		`{"b":null}`:               {b{}},
	} {
		if got := string(must.Get(Join(parts...))(t)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	must.Fail(t, "unsupported")(Join(a{}, struct{ F any }{unicode.IsSpace}))
}
