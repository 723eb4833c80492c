package lra

import (
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/tokenizers"
)

// FuzzEvaluate checks that a text that can be evaluated has a value from 0 to 9, and that its tokens
// have the same value if they can be evaluated.
func FuzzEvaluate(f *testing.F) {
	f.Add("( ( ( [MAX 2 ) [MED 9 1 ] ) ] )")
	f.Add("[SM [MIN [FIRST 9 X [LAST 1 2 ] ]")
	f.Fuzz(func(t *testing.T, text string) {
		defer testenv.FuzzLimits(t, 1<<20+500*len(text))()
		value, err := EvaluateListOps(text)
		if err != nil {
			return
		}
		if value < 0 || value > 9 {
			t.Fatalf("value %d, want 0 to 9", value)
		}
		tokens, _ := tokenizers.ListOps{}.Encode(text)
		if again, err := new(listOpsMachine).evaluate(tokens); err == nil && again != value {
			t.Errorf("the text has the value %d, its tokens %d", value, again)
		}
	})
}

// FuzzTSV checks that each imported label is the value of the row's expression.
func FuzzTSV(f *testing.F) {
	f.Add(tsv)
	f.Add(compress(tsv))
	f.Fuzz(func(t *testing.T, text string) {
		defer testenv.FuzzLimits(t, 16<<20+2000*len(text))()
		rows, err := readTSV(text, true)
		if err != nil {
			return
		}
		for _, row := range rows {
			if value, err := new(listOpsMachine).evaluate(row.tokens); err != nil || value != row.label {
				t.Errorf("%v: got label %d, want the value %d without an error; error %v", row.tokens, row.label,
					value, err)
			}
		}
	})
}
