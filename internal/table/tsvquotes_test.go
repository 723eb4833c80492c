package table

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/source"
)

// TestTSVQuotes checks that quoted tabs and line ends are part of a field if the lines are not rows
// by themselves.
func TestTSVQuotes(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"b\ta\n\"1\tx\"\ty\n2\tz\n", []string{"2: y|1\tx", "3: z|2"}},
		{"b\ta\nx\t\"first line\"\nsecond\t\"first\nsecond\"\nb\tplain\n",
			[]string{"2: first line|x", "3: first\nsecond|second", "5: plain|b"}},
		{"b\ta\tn\nx\t\"one\n\nthree\tfour\"\t1\ny\tplain\t2\n", []string{"2: one\n\nthree\tfour|x", "5: plain|y"}},
		{"b\ta\r\n\"one\r\ntwo\"\t\"three\r\nfour\"\r\nx\ty", []string{"2: three\nfour|one\ntwo", "5: y|x"}},
		{"b\ta\nx\t\"say \"\"a\tb\"\"\nthen \"\"c\"\"\"", []string{"2: say \"a\tb\"\nthen \"c\"|x"}},
		// Lines with the right number of fields are rows, even if they have quotes.
		{"b\ta\nx\t\"open\ny\tclosed\"\n", []string{"2: \"open|x", "3: closed\"|y"}},
		{"b\ta\nx\t\"open\ny\tz\n", []string{"2: \"open|x", "3: z|y"}},
		// A quote that is not closed at the end of a field is literal.
		{"b\ta\nx\t\"open\nrest\ny\tz\n", []string{"2: \"open|x", "3! expected 2 columns, found 1", "4: z|y"}},
		{"b\ta\nx\t\"open\nre\"st\ny\tz\n", []string{"2: \"open|x", "3! expected 2 columns, found 1", "4: z|y"}},
	} {
		for _, block := range []int{1, 3, blockBytes} { // small blocks end the window within lines
			r := &tsvReader{delimited: delimited{in: &source.Source{Name: "x.tsv"}, limit: 200,
				window: &window{in: strings.NewReader(c.text), block: block, piece: make([]byte, 64)}}}
			header := must.Get(func() (string, error) { line, _, err := r.nextLine(); return line, err }())(t)
			fields, count := r.split(header, maxColumns)
			must.Succeed(t, r.nameColumns(fields, count, []string{"a", "b"}, '\t'))
			var got []string
			var row Row
			for r.Next(&row) == nil {
				if row.Err != nil {
					got = append(got, fmt.Sprintf("%d! %v", row.Line, row.Err))
				} else {
					got = append(got, fmt.Sprintf("%d: %s|%s", row.Line, row.Values[0].Text, row.Values[1].Text))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q in blocks of %d: got %q, want %q", c.text, block, got, c.want)
			}
		}
	}
}

// TestTSVRoundTrip checks that rows written by the TSV writer are read back unchanged, or rejected
// by the writer.
func TestTSVRoundTrip(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var out strings.Builder
		for range draw.IntN(8) {
			out.WriteString([]string{"a", "\t", "\n", "\"", "\"\"", " ", "é", "x\ty", "\n\n"}[draw.IntN(9)])
		}
		return out.String()
	}
	rejected := 0
	for range 3000 {
		var out bytes.Buffer
		w := must.Get(NewWriter(&out, "tsv", []OutputColumn{{Name: "a"}, {Name: "b"}, {Name: "c"}}))(t)
		var want []string
		for range 3 {
			a, b, c := text(), text(), text()
			if err := w.Write([]any{a, b, c}); err != nil {
				must.Fail(t, "would be read as rows of 3 columns in TSV")(0, err)
				rejected++
				continue
			}
			want = append(want, a+"|"+b+"|"+c)
		}
		must.Succeed(t, w.Close())
		rows, err := readText(writeFile(t, "x.tsv", out.String()),
			Options{Columns: []string{"a", "b", "c"}, MaxField: 1 << 16})
		must.Succeed(t, err)
		for i, row := range rows { // without the line number
			_, rows[i], _ = strings.Cut(row, ": ")
		}
		if !slices.Equal(rows, want) {
			t.Fatalf("%q: got %q, want %q", out.String(), rows, want)
		}
	}
	if rejected == 0 || rejected > 900 {
		t.Errorf("got %d of 9000 rows rejected, want 1 to 900", rejected)
	}
}
