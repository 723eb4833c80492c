package convert

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestIntervalMemory: intervals keep nothing else of the lines that they stood on.
func TestIntervalMemory(t *testing.T) {
	const lines, long = 200, 50_000
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "s%[1]d\t.\tgene%[1]d\t1\t2\t.\t+\t.\t%[2]s\n", i, strings.Repeat("x", long))
	}
	path := file(t, "x.gff", text.String())
	text.Reset()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	v, err := readIntervals(path, nil, false)
	if err != nil || len(v.by) != lines {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > lines*long/4 {
		t.Errorf("%d intervals take %d bytes", lines, grown)
	}
	runtime.KeepAlive(v)
}

// TestStrands: the strand of an interval is the end of its name, of BED and of GFF; a column that is no
// strand is an error with its place.
func TestStrands(t *testing.T) {
	for name, text := range map[string]string{
		"x.bed": "s\t0\t2\tgene\t0\t+\ns\t2\t4\tgene\t0\t-\ns\t4\t6\tgene\t0\t.\ns\t6\t8\tgene\n",
		"x.gff": "s\t.\tgene\t1\t2\t.\t+\t.\tx\ns\t.\tgene\t3\t4\t.\t-\t.\tx\ns\t.\tgene\t5\t6\t.\t?\t.\tx\ns\t.\tgene\t7\t8\n",
	} {
		for strands, want := range map[bool]string{true: "gene(+) gene(-) gene gene", false: "gene gene gene gene"} {
			v, err := readIntervals(file(t, name, text), []string{"gene"}, strands)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, x := range v.by["s"] {
				kinds = append(kinds, x.kind)
			}
			if got := strings.Join(kinds, " "); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
	_, err := readIntervals(file(t, "y.bed", "s\t0\t2\tgene\t0\t+\ns\t2\t4\tgene\t0\tplus\n"), nil, true)
	if err == nil || !strings.Contains(err.Error(), `y.bed:2: column 6, the strand: expected +, - or ., found "plus"`) {
		t.Errorf("%v", err)
	}
}
