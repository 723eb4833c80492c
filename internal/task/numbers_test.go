package task

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft/config"
)

// TestNumbersOfLines checks that ReadLabels parses numbers from lists and objects, and the errors
// for missing and malformed numbers.
func TestNumbersOfLines(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/regression/config.json"))(t)
	p := requests.NewParser(cfg, "", "f", 1)
	examples, err := requests.Labelled(strings.NewReader(`{"tokens":[1],"numbers":[0.5,-2]}`), p,
		Of(cfg).ReadLabels, 1<<10)
	if err != nil || len(examples) != 1 || len(examples[0].Numbers) != 2 || examples[0].Numbers[1] != -2 {
		t.Errorf("got %+v, error %v, want one example with the numbers 0.5 and -2", examples, err)
	}
	named, err := requests.Labelled(strings.NewReader(`{"tokens":[1],"numbers":{"charge":-2,"other":null,"mass":0.5}}`),
		p, Of(cfg).ReadLabels, 1<<10)
	if err != nil || !reflect.DeepEqual(named, examples) {
		t.Errorf("numbers in an object: got %+v, error %v, want %+v", named, err, examples)
	}
	for line, want := range map[string]string{`{"tokens":[1],"label":1}`: "f:1: numbers are missing",
		`{"tokens":[1],"numbers":[1]}`:        "f:1: numbers: expected 2 in a list or an object (mass, charge), found 1",
		`{"tokens":[1],"numbers":{"mass":1}}`: `f:1: numbers: expected a list or an object of "mass", "charge": "charge" is missing`, `{"tokens":[1],"numbers":{"mass":1,"charge":"x"}}`: "number 1: expected a number, found \"x\"",
		`{"tokens":[1],"numbers":{"mass":1,"charge":2,"mass":3}}`: "the field mass occurs twice",
		`{"tokens":[1],"numbers":{"mass":1,"charge":[2,3]}}`:      "number 1: expected a number",
		`{"tokens":[1],"numbers":"x"}`:                            "found \"x\"",
		`{"tokens":[1],"numbers":[1,1e99]}`:                       "f:1: numbers: expected",
		`{"tokens":[1],"numbers":[1,null]}`:                       "number 1: expected a number, found null"} {
		must.Fail(t, want, line)(requests.Labelled(strings.NewReader(line), p, Of(cfg).ReadLabels, 1<<10))
	}
}
