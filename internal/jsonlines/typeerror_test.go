package jsonlines_test

import (
	"encoding/json"
	"testing"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// TestTypeError checks the errors for values of another JSON type, and that other errors are unchanged.
func TestTypeError(t *testing.T) {
	type Embedded struct {
		Size  int     `json:"size"`
		Rate  float64 `json:"rate"`
		Nodes []struct {
			Name string `json:"name"`
		} `json:"nodes"`
	}
	type document struct {
		Embedded
		Plan *struct {
			Fresh bool `json:"fresh"`
		} `json:"plan"`
	}
	for text, want := range map[string]string{
		`{"size":"a"}`:                 "size: expected a whole number, found a string at byte 11",
		`{"size":9999999999999999999}`: "size: expected a number in the range of int, found 9999999999999999999 at byte 27",
		`{"size":1.5}`:                 "size: expected a whole number, found 1.5 at byte 11",
		`{"size":true}`:                "size: expected a whole number, found true or false at byte 12",
		`{"rate":{}}`:                  "rate: expected a number, found an object at byte 9",
		`{"nodes":3}`:                  "nodes: expected a list, found a number at byte 10",
		`{"nodes":[{"name":[]}]}`:      "nodes.name: expected a string, found a list at byte 19",
		`{"plan":"x"}`:                 "plan: expected an object, found a string at byte 11",
		`{"plan":{"fresh":"yes"}}`:     "plan.fresh: expected true or false, found a string at byte 22",
		`[]`:                           "expected an object, found a list at byte 1",
		`{`:                            "unexpected end of JSON input",
	} {
		err := json.Unmarshal([]byte(text), &document{})
		if got := jsonlines.TypeError(err); got == nil || got.Error() != want {
			t.Errorf("%s: error %v, want %s", text, got, want)
		}
	}
}
