package arrowipc

import (
	"bytes"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
)

// wordBatches returns two batches of two dictionary columns. In the second batch each dictionary
// has an additional word.
func wordBatches(t *testing.T) []arrow.Record {
	t.Helper()
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "word", Type: words}, {Name: "other", Type: words}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	var out []arrow.Record
	for _, values := range [][]string{{"a", "b", "a"}, {"c", "a"}} {
		for i := range 2 {
			column := b.Field(i).(*array.BinaryDictionaryBuilder)
			for _, v := range values {
				must.Succeed(t, column.AppendString(v))
			}
		}
		out = append(out, b.NewRecord())
	}
	return out
}

// dictionaryMessages returns the dictionary messages of a stream.
func dictionaryMessages(t *testing.T, data []byte) (out []*message) {
	t.Helper()
	f := framer{r: bytes.NewReader(data), dictionaries: true}
	for {
		m, err := f.next()
		if err != nil {
			return out
		}
		if m.kind == headerDictionary {
			out = append(out, m)
		}
	}
}

// TestDictionaryLimit checks that all dictionaries to which a batch may refer share one limit. A
// replacement must release its predecessor's part of the limit, and a delta must add its own.
func TestDictionaryLimit(t *testing.T) {
	found := dictionaryMessages(t, writeRecords(t, false, wordBatches(t), ipc.WithDictionaryDeltas(true)))
	if len(found) != 4 {
		t.Fatalf("got %d dictionaries, want 4", len(found))
	}
	first, other, delta := found[0], found[1], found[2] // delta extends first
	of := func(m *message, decoded int64) *message {
		return &message{kind: m.kind, header: m.header, decoded: decoded}
	}
	for name, c := range map[string]struct {
		messages []*message
		kept     []int64 // ids; nil if the limit is exceeded
	}{
		"at the limit":          {[]*message{of(first, MaxBody)}, []int64{0}},
		"above the limit":       {[]*message{of(first, MaxBody+1)}, nil},
		"two at the limit":      {[]*message{of(first, MaxBody-8), of(other, 8)}, []int64{0, 1}},
		"two above the limit":   {[]*message{of(first, MaxBody-8), of(other, 9)}, nil},
		"delta at the limit":    {[]*message{of(first, MaxBody-8), of(delta, 8)}, []int64{0, 0}},
		"delta above the limit": {[]*message{of(first, MaxBody-8), of(delta, 9)}, nil},
		"replaced": {[]*message{of(first, MaxBody), of(first, MaxBody), of(first, MaxBody)},
			[]int64{0}},
		"delta, then replaced": {[]*message{of(first, 8), of(delta, MaxBody-8), of(first, MaxBody)}, []int64{0}},
		"replaced beside another": {[]*message{of(other, 8), of(first, MaxBody-8), of(first, 8),
			of(other, MaxBody-8)}, []int64{0, 1}},
		"other replaced, above the limit":                         {[]*message{of(other, 8), of(first, MaxBody-8), of(other, 9)}, nil},
		"replaced by a smaller one, then another above the limit": {[]*message{of(first, MaxBody), of(first, 8), of(other, MaxBody-7)}, nil},
	} {
		s := &Stream{}
		var err error
		for _, m := range c.messages {
			if err == nil {
				err = s.addDictionary(m)
			}
		}
		var ids []int64
		for _, d := range s.dictionaries {
			ids = append(ids, d.id)
		}
		switch {
		case c.kept == nil:
			must.Fail(t, "the dictionaries exceed the limit of 1073741824 bytes", name)(err)
		case err != nil || !slices.Equal(ids, c.kept):
			t.Errorf("%s: got dictionaries %v and error %v, want %v", name, ids, err, c.kept)
		}
	}
}

// TestDictionaryHeader checks that a dictionary is refused if the offset of a header field points outside
// the metadata.
func TestDictionaryHeader(t *testing.T) {
	for _, slot := range []int{0, 2} { // id and isDelta
		found := 0
		for _, m := range dictionaryMessages(t, writeRecords(t, false, wordBatches(t),
			ipc.WithDictionaryDeltas(true))) {
			if _, ok, _ := m.header.field(slot, 1); !ok {
				continue // the field is absent and has its default
			}
			at := m.header.vtable + 4 + 2*slot
			m.meta[at], m.meta[at+1] = 0xff, 0xff
			if err := (&Stream{}).addDictionary(m); err != errFlat {
				t.Errorf("field %d: got error %v, want errFlat", slot, err)
			}
			found++
		}
		if found == 0 {
			t.Errorf("no dictionary has field %d", slot)
		}
	}
}
