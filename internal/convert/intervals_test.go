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
	v, err := readIntervals(path, nil)
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
