package arrowipc

import (
	"bytes"
	"encoding/binary"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// sameFields checks that the fields of a checked table equal the results of FlatBuffers' own
// accessors, which Arrow uses.
func sameFields(t *testing.T, table flatTable) {
	t.Helper()
	theirs := flatbuffers.Table{Bytes: table.buf, Pos: flatbuffers.UOffsetT(table.pos)}
	for slot := range 16 {
		want := int(theirs.Offset(flatbuffers.VOffsetT(4 + 2*slot)))
		pos, ok, err := table.field(slot, 1)
		switch {
		case err != nil && table.pos+want < len(table.buf):
			t.Fatalf("slot %d: got error %v, but FlatBuffers finds the field at %d", slot, err, want)
		case err == nil && ok != (want != 0):
			t.Fatalf("slot %d: got present %v, want %v: FlatBuffers finds the field at %d", slot, ok, want != 0, want)
		case err == nil && ok && pos != table.pos+want:
			t.Fatalf("slot %d: got the field at %d, but FlatBuffers finds it at %d", slot, pos-table.pos, want)
		}
		if sub, ok, err := table.table(slot); ok && err == nil {
			if at := int(theirs.Indirect(flatbuffers.UOffsetT(table.pos + want))); at != sub.pos {
				t.Fatalf("slot %d: got its table at %d, but FlatBuffers finds it at %d", slot, sub.pos, at)
			}
		}
		if start, count, err := table.vector(slot, 1); err == nil && count > 0 {
			if at, n := int(theirs.Vector(flatbuffers.UOffsetT(want))),
				theirs.VectorLen(flatbuffers.UOffsetT(want)); at != start || n != count {
				t.Fatalf("slot %d: got %d elements at %d, but FlatBuffers finds %d at %d", slot, count, start, n, at)
			}
		}
	}
}

// messages returns the metadata of the messages in a file or a stream. Column data that look like a
// message are included.
func messages(t testing.TB, data []byte) (out [][]byte) {
	for rest := data; ; {
		at := bytes.Index(rest, []byte{0xff, 0xff, 0xff, 0xff})
		if at < 0 || at+8 > len(rest) {
			return out
		}
		n := int(binary.LittleEndian.Uint32(rest[at+4:]))
		if rest = rest[at+8:]; n > 0 && n <= len(rest) {
			out = append(out, rest[:n])
		}
	}
}

// FuzzFlat checks that Arrow reads the same fields from every table that this package accepts.
func FuzzFlat(f *testing.F) {
	for _, isFile := range []bool{true, false} {
		data, _ := sample(f, isFile)
		for _, meta := range messages(f, data) {
			f.Add(meta)
			if root, err := flatRoot(meta); err == nil { // flatRoot refuses odd sizes
				meta = bytes.Clone(meta)
				meta[root.vtable]--
				f.Add(meta)
			}
		}
	}
	f.Fuzz(func(t *testing.T, meta []byte) {
		defer testenv.FuzzLimits(t, 1<<20+100*len(meta))()
		root, err := flatRoot(meta)
		if err != nil {
			return
		}
		sameFields(t, root)
		if header, ok, err := root.table(2); ok && err == nil {
			sameFields(t, header)
			if start, count, err := header.vector(1, 4); err == nil {
				for i := range min(count, 64) {
					if field, err := flatTableAt(meta, start+4*i); err == nil {
						sameFields(t, field)
					}
				}
			}
		}
	})
}

// TestOddTable checks that a vtable with an odd size is refused, because FlatBuffers would read the
// offset of a field beyond the end of the vtable.
func TestOddTable(t *testing.T) {
	data, _ := sample(t, false)
	tried := 0
	for _, meta := range messages(t, data) {
		root, err := flatRoot(meta)
		if err != nil {
			continue // column data that look like a message
		}
		for _, d := range []int{-1, 1} {
			damaged := bytes.Clone(meta)
			binary.LittleEndian.PutUint16(damaged[root.vtable:], uint16(root.size+d))
			must.Fail(t, "", "a vtable of", root.size+d, "bytes")(flatRoot(damaged))
			tried++
		}
	}
	if tried == 0 {
		t.Fatal("found no message to change")
	}
}
