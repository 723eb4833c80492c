package jsonlines

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestFeatures checks the numbers that Features returns. Null, values of other types and numbers beyond
// float32 must be errors with their position. Null must be an error of Numbers as well.
func TestFeatures(t *testing.T) {
	got, err := Features(json.RawMessage(`[ [1, -2.5e1] ,[], [1e-60,3] ]`))
	if want := [][]float32{{1, -25}, {}, {0, 3}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, error %v, want %v", got, err, want)
	}
	for value, want := range map[string]string{
		`[[1,2],[3,null]]`: "index 1: number 1: expected a number, found null",
		`[[1,2],null]`:     "index 1: expected a list of numbers, found null",
		`[[1,1e39]]`:       "index 0: number 1: expected a finite float32, found 1e39",
		`[[true]]`:         "index 0: number 0: expected a number, found true",
		`[["1"]]`:          `index 0: number 0: expected a number, found "1"`,
		`[[[1]]]`:          "index 0: number 0: expected a number, found a list",
		`[1]`:              "index 0: expected a list of numbers, found 1",
		`"x"`:              `expected a list of lists of numbers, found "x"`,
	} {
		if got, err := Features(json.RawMessage(value)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, error %v, want %s", value, got, err, want)
		}
	}
	if got, err := Numbers(json.RawMessage(`[1,null]`)); err == nil ||
		!strings.HasPrefix(err.Error(), "number 1: expected a number") {
		t.Errorf("numbers: got %v, error %v, want an error at number 1", got, err)
	}
}

// FuzzFeatures compares Features with encoding/json. Only null differs: it must be an error.
func FuzzFeatures(f *testing.F) {
	for _, text := range []string{`[[1,2],[3,4]]`, ` [[ -1e5 ],[ ]]`, `[]`, `[[null]]`, `[null]`, `null`, `[[1e39]]`,
		`[[[]]]`, `[{}]`, `[["1"]]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer testenv.FuzzLimits(t, 1<<20+200*len(text))()
		value := json.RawMessage(strings.TrimSpace(string(text)))
		if !json.Valid(value) || !utf8.Valid(value) {
			return
		}
		got, err := Features(value)
		var want [][]*float32
		wrong := json.Unmarshal(value, &want)
		null := want == nil
		for _, token := range want {
			null = null || token == nil
			for _, x := range token {
				null = null || x == nil
			}
		}
		if (err == nil) != (wrong == nil && !null) {
			t.Fatalf("%s: got error %v, want an error: %v (encoding/json: error %v, null: %v)", value, err,
				wrong != nil || null, wrong, null)
		}
		if err != nil {
			return
		}
		if len(got) != len(want) {
			t.Fatalf("got %d tokens, want %d", len(got), len(want))
		}
		for i, token := range want {
			if len(got[i]) != len(token) {
				t.Fatalf("token %d: got %d numbers, want %d", i, len(got[i]), len(token))
			}
			for j, x := range token {
				if got[i][j] != *x {
					t.Fatalf("token %d: got %v, want %v", i, got[i][j], *x)
				}
			}
		}
	})
}
