package requests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/sft"
)

// TestFeaturesOfLines: a line has as many finite numbers for each token as the model has
// features; null, and what else is none, is an error with its place.
func TestFeaturesOfLines(t *testing.T) {
	config, err := sft.ReadConfig("../../sft/testdata/golden/clouds/config.json")
	if err != nil {
		t.Fatal(err)
	}
	one := make([]string, len(config.FeatureNames))
	for i := range one {
		one[i] = fmt.Sprint(i)
	}
	good := "[" + strings.Join(one, ",") + "]"
	one[1] = "null"
	null := "[" + strings.Join(one, ",") + "]"
	p := NewParser(config, "", "f", 1)
	if r := p.Parse([]byte(`{"features":[`+good+","+good+`]}`), 1, nil); r.Failure != nil || len(r.Features) != 2 || r.Features[1][2] != 2 {
		t.Errorf("%+v, %+v", r, r.Failure)
	}
	for line, want := range map[string]string{
		`{"features":[` + good + "," + null + `]}`: "f:3: features: index 1: number 1: expected a number, found null",
		`{"features":[` + good + `,null]}`:         "f:3: features: index 1: expected a list of numbers, found null",
		`{"features":[` + good + `,[1]]}`:          "f:3: features: token 1 has 1 features, expected",
		`{"features":[]}`:                          "f:3: features: the sequence is empty",
		`{"features":null}`:                        "f:3: expected features, a list of",
		`{"features":[` + good + `],"text":"a"}`:   "f:3: both features and text, expected one of them",
	} {
		if r := p.Parse([]byte(line), 3, nil); r.Failure == nil || !strings.HasPrefix(r.Failure.Message, want) || r.Features != nil {
			t.Errorf("%s: %+v, expected %q", line, r.Failure, want)
		}
	}
	config.InputWindow = &sft.InputWindow{Length: 1, Policy: "head"}
	if r := p.Parse([]byte(`{"features":[`+good+","+good+`]}`), 1, nil); r.Failure != nil || len(r.Features) != 1 || r.Lengths[0] != 2 {
		t.Errorf("%+v, %+v", r, r.Failure)
	}
}
