package convert

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"sftseq/seq"
)

// BenchmarkCSV is the bytes per second at which a table becomes a data set, beside those
// at which encoding/csv alone reads it.
func BenchmarkCSV(b *testing.B) {
	for _, length := range []int{30, 1300} {
		var text strings.Builder
		text.WriteString("id,text,label\n")
		words := strings.Fields("attention from every token to a learned sample of tokens, linear in the length")
		for i := 0; text.Len() < 64<<20; i++ {
			fmt.Fprintf(&text, "row %d,\"", i)
			for n := 0; n < length; i++ {
				word := words[(i*7919)%len(words)]
				text.WriteString(word)
				text.WriteByte(' ')
				n += len(word) + 1
			}
			fmt.Fprintf(&text, "\",%d\n", i%10)
		}
		path := file(b, "a.csv", text.String())
		b.Run(fmt.Sprintf("%d/csv", length), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				in, err := os.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				r := csv.NewReader(bufio.NewReaderSize(in, 1<<16))
				r.ReuseRecord = true
				for err == nil {
					_, err = r.Read()
				}
				if in.Close(); err != io.EOF {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%d/convert", length), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			o := options(b, path)
			o.Shares, o.Replace = nil, true
			var d *seq.Dataset
			var err error
			for b.Loop() {
				if d, _, err = Convert(context.Background(), o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(d.Manifest.Splits["train"].Rows), "rows")
		})
	}
}
