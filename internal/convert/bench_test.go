package convert

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// BenchmarkCSV reports how fast Convert is relative to encoding/csv reading the same table.
// "of-csv" compares with a csv.Reader with default settings, "of-csv-reused" with a csv.Reader that has
// a larger buffer and reuses its records. The measurements alternate; each ratio is a median.
func BenchmarkCSV(b *testing.B) {
	for name, row := range map[string]func(i int) string{
		"six-columns": func(i int) string {
			return fmt.Sprintf("%d,2026-11-%02d,user%d,%s,%d.%02d,%d\n", i, i%28+1, i*31%99991,
				words(i, 50), i%100, i%89, i%10)
		},
		"short":   func(i int) string { return fmt.Sprintf("row %d,%q,%d\n", i, words(i, 30), i%10) },
		"reviews": func(i int) string { return fmt.Sprintf("row %d,%q,%d\n", i, words(i, 1300), i%10) },
	} {
		b.Run(name, func(b *testing.B) {
			var text strings.Builder
			text.WriteString("id,text,label\n")
			if name == "six-columns" {
				text.Reset()
				text.WriteString("id,date,user,text,price,label\n")
			}
			for i := 0; text.Len() < 64<<20; i++ {
				text.WriteString(row(i))
			}
			path := writeFile(b, "a.csv", text.String())
			b.SetBytes(int64(text.Len()))
			var simple, reusing []float64
			for b.Loop() {
				first := readCSV(b, path, false)
				second := readCSV(b, path, true)
				o := textOptions(b, path)
				o.SplitFractions, o.To = nil, filepath.Join(b.TempDir(), "data")
				start := time.Now()
				if _, _, err := Convert(context.Background(), o); err != nil {
					b.Fatal(err)
				}
				took := time.Since(start)
				simple = append(simple, first.Seconds()/took.Seconds())
				reusing = append(reusing, second.Seconds()/took.Seconds())
				if err := os.RemoveAll(o.To); err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(simple)
			slices.Sort(reusing)
			b.ReportMetric(simple[len(simple)/2], "of-csv")
			b.ReportMetric(reusing[len(reusing)/2], "of-csv-reused")
		})
	}
}

// words returns a text of about length bytes.
func words(seed, length int) string {
	vocabulary := strings.Fields("attention from every token to a learned sample of tokens linear in the length")
	var text []byte
	for state := uint64(seed) + 1; len(text) < length; {
		state = state*6364136223846793005 + 1442695040888963407
		text = append(append(text, vocabulary[(state>>40)%uint64(len(vocabulary))]...), ' ')
	}
	return string(text)
}

// readCSV returns the time that encoding/csv takes to read a file. If reuse is set, the reader
// uses a large buffer and reuses its records.
func readCSV(b *testing.B, path string, reuse bool) time.Duration {
	start := time.Now()
	in, err := os.Open(path)
	must.Succeed(b, err)
	r := csv.NewReader(in)
	if reuse {
		r = csv.NewReader(bufio.NewReaderSize(in, 1<<16))
		r.ReuseRecord = true
	}
	for err == nil {
		_, err = r.Read()
	}
	if in.Close(); err != io.EOF {
		b.Fatal(err)
	}
	return time.Since(start)
}
