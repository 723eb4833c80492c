package seq

import (
	"io"
	"runtime"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// streamRows returns a stream of n rows that is written while it is read.
func streamRows(t testing.TB, n int) io.Reader {
	r, w := io.Pipe()
	go func() {
		out, err := NewWriter(w, listopsSpec(), StreamFormat)
		row := Example{A: make([]int32, 2000)}
		for i := range row.A {
			row.A[i] = 3
		}
		for i := 0; err == nil && i < n; i++ {
			err = out.Write(row)
		}
		if err == nil {
			err = out.Close()
		}
		w.CloseWithError(err)
	}()
	return r
}

// TestMemoryDoesNotGrow checks that the heap after reading a long stream is at most 4 MiB larger than
// after reading a short stream.
func TestMemoryDoesNotGrow(t *testing.T) {
	heap := func(n int) uint64 {
		reader := must.Get(NewReader(streamRows(t, n), "pipe"))(t)
		for {
			if _, err := reader.Next(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		runtime.KeepAlive(reader)
		return stats.HeapAlloc
	}
	few, many := heap(500), heap(8000) // 1 MB and 16 MB
	if many > few+4<<20 {
		t.Errorf("the heap is %d bytes after 500 rows and %d after 8,000, want at most 4 MiB more", few, many)
	}
}
