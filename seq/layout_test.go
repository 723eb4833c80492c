package seq

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
)

// TestLayout checks that with a pad id of 0, a vocabulary that exceeds a type by one id is stored in
// this type and read back unchanged. Such a file has a newer version, so that programs which do not
// know the layout refuse it.
func TestLayout(t *testing.T) {
	pad, other := new(int32), int32(1)
	for _, c := range []struct {
		vocab   int
		pad     *int32
		item    arrow.DataType
		version string
	}{
		{256, pad, arrow.PrimitiveTypes.Uint8, "1"},
		{257, pad, arrow.PrimitiveTypes.Uint8, "2"},
		{257, nil, arrow.PrimitiveTypes.Uint16, "1"},
		{257, &other, arrow.PrimitiveTypes.Uint16, "1"},
		{258, pad, arrow.PrimitiveTypes.Uint16, "1"},
		{1<<16 + 1, pad, arrow.PrimitiveTypes.Uint16, "2"},
		{1<<16 + 2, pad, arrow.PrimitiveTypes.Int32, "1"},
		{0, pad, arrow.PrimitiveTypes.Int32, "1"},
		{1, pad, arrow.PrimitiveTypes.Uint8, "1"},
	} {
		for _, task := range []string{Classification, Retrieval} {
			spec := Spec{Task: task, VocabSize: c.vocab, PadID: c.pad}
			schema := spec.Schema()
			item := schema.Field(0).Type.(*arrow.ListType).Elem()
			if version, _ := schema.Metadata().GetValue(KeyVersion); !arrow.TypeEqual(item, c.item) ||
				version != c.version {
				t.Errorf("vocabulary %d, pad %v: type %v, version %s, want %v, %s", c.vocab, c.pad, item, version,
					c.item,
					c.version)
			}
			if c.vocab < 2 {
				continue
			}
			e := Example{A: []int32{2, int32(c.vocab) - 1, 2, int32(c.vocab) - 2}, Label: 1}
			if spec.Pair() {
				e.B = []int32{int32(c.vocab) - 1}
			}
			for _, format := range []Format{FileFormat, StreamFormat} {
				got, gotSpec, err := readAll(bytes.NewReader(encode(t, []Example{e}, spec, format)))
				if err != nil || !reflect.DeepEqual(got, []Example{e}) || !reflect.DeepEqual(*gotSpec, spec) {
					t.Errorf("vocabulary %d: rows %v, specification %+v, error %v; want row %v", c.vocab, got, gotSpec,
						err, e)
				}
			}
		}
	}
}

// TestPlainLayout checks that the older layout of bytes as 16-bit ids can be read.
func TestPlainLayout(t *testing.T) {
	metadata := arrow.MetadataFrom(map[string]string{"version": "1", "vocab_size": "257", "pad_token_id": "0"})
	tokens := arrow.Field{Name: "tokens", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint16)}
	got, _, err := readAll(bytes.NewReader(foreignStream(t, arrow.NewSchema([]arrow.Field{tokens}, &metadata),
		`[{"tokens":[1,256,98]}]`)))
	if err != nil || !reflect.DeepEqual(got, []Example{{A: []int32{1, 256, 98}, Label: NoLabel}}) {
		t.Errorf("rows %v, error %v; want one row with the tokens 1, 256, 98", got, err)
	}
}

// TestNarrowColumns checks that a reader refuses ids outside the vocabulary in columns of every type.
// In columns of uint8 it must also refuse the pad id, with a first_token_id of 0 or 1.
func TestNarrowColumns(t *testing.T) {
	for _, c := range []struct {
		item                    arrow.DataType
		first, vocab, pad, json string
		want                    string // a part of the error; "" for no error
	}{
		{arrow.PrimitiveTypes.Uint8, "0", "256", "", `[{"tokens":[0,255]}]`, ""},
		{arrow.PrimitiveTypes.Uint8, "0", "255", "", `[{"tokens":[254,255]}]`,
			"index 1: expected a token id below the vocabulary's size 255, found 255"},
		{arrow.PrimitiveTypes.Uint8, "0", "256", "255", `[{"tokens":[254,255]}]`, "index 1: expected no padding inside a sequence, found the pad id 255"},
		{arrow.PrimitiveTypes.Uint8, "0", "256", "0", `[{"tokens":[1,0]}]`, "index 1: expected no padding inside a sequence, found the pad id 0"},
		{arrow.PrimitiveTypes.Uint8, "1", "257", "0", `[{"tokens":[0,255]}]`, ""},
		{arrow.PrimitiveTypes.Uint8, "1", "256", "0", `[{"tokens":[254,255]}]`,
			"index 1: expected a token id below the vocabulary's size 256, found 256"},
		{arrow.PrimitiveTypes.Uint8, "1", "257", "256", `[{"tokens":[254,255]}]`, "index 1: expected no padding inside a sequence, found the pad id 256"},
		{arrow.PrimitiveTypes.Uint8, "1", "257", "1", `[{"tokens":[1,0]}]`, "index 1: expected no padding inside a sequence, found the pad id 1"},
		{arrow.PrimitiveTypes.Uint16, "1", "65537", "0", `[{"tokens":[0,65535]}]`, ""},
		{arrow.PrimitiveTypes.Uint16, "1", "65536", "0", `[{"tokens":[0,65535]}]`,
			"index 1: expected a token id below the vocabulary's size 65536, found 65536"},
		{arrow.PrimitiveTypes.Int32, "1", "5", "", `[{"tokens":[-1,4]}]`,
			"index 1: expected a token id below the vocabulary's size 5, found 5"},
	} {
		keys := map[string]string{KeyFirstTokenID: c.first, KeyVocabSize: c.vocab}
		if c.pad != "" {
			keys[KeyPadTokenID] = c.pad
		}
		metadata := arrow.MetadataFrom(keys)
		tokens := arrow.Field{Name: ColumnTokens, Type: arrow.ListOf(c.item)}
		_, _, err := readAll(bytes.NewReader(foreignStream(t, arrow.NewSchema([]arrow.Field{tokens}, &metadata),
			c.json)))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, first_token_id %s, vocabulary %s, pad %q: error %v, want %q", c.item, c.first, c.vocab, c.pad,
				err, c.want)
		}
	}
}
