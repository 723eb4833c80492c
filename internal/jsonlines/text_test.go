package jsonlines

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/rope"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestText checks that surrogate pairs become characters and that lone surrogates are errors.
func TestText(t *testing.T) {
	for _, c := range []struct{ value, text, err string }{
		{`""`, "", ""},
		{`"aé\u00e9\n\/🙂"`, "aéé\n/🙂", ""},
		{`"\ud83d\ude42"`, "🙂", ""},
		{`"\uD83D\uDE42\\u"`, `🙂\u`, ""},
		{`"\ufffd"`, "\ufffd", ""},
		{`"aé\ud83d"`, "", `expected text, found lone surrogate \ud83d at byte 3`},
		{`"\ude42\ud83d"`, "", `\ude42 at byte 0`},
		{`"\ud83d\ud83d\ude42"`, "", `\ud83d at byte 0`},
		{`"\ud83d\\ude42"`, "", `\ud83d at byte 0`},
		{`"\ud83d🙂"`, "", `\ud83d at byte 0`},
		{`5`, "", `expected a string, found 5`},
		{`{}`, "", `expected a string, found an object`},
	} {
		text, err := Text(json.RawMessage(c.value))
		if text != c.text || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %q, error %v, want %q, error %s", c.value, text, err, c.text, c.err)
		}
	}
	if text := AppendText([]byte("x"),
		json.RawMessage(`"\ud83d\ud83d\ude42\ude42"`)); string(text) != "x\xed\xa0\xbd🙂\xed\xb9\x82" {
		t.Errorf("got %q, want x, a lone surrogate, the emoji and a lone surrogate", text)
	}
}

// FuzzJSON compares objects, lists and strings with the results of encoding/json, and the chunks of a
// string with the whole string.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{"a":1,"b":[1,"2",{"c":null}],"\u0061":true}`, ` { "a" : "x\"]" , "b" : [ ] } `,
		`["a\\","\ud83d\ude42",-1e5,{}]`, `"é\n\u00e9🙂"`,
		`"\ud800"`, `{"a":1}x`, `[1 2]`, `{"a" 1}`, `{"":{}}`, `[[[]],[],""]`, `{`, `"`, `"\`, `{"a":tru,"b":1}`,
	} {
		f.Add([]byte(text), 5)
	}
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		defer testenv.FuzzLimits(t, 1<<20+1000*len(text))()
		for range Members(text) { // must terminate for any text
		}
		for range Elements(text) {
		}
		if !json.Valid(text) || !utf8.Valid(text) {
			if fields, err := Fields(text, map[string]bool{"a": true}); err == nil || fields != nil {
				t.Fatalf("invalid JSON %q: got fields %q, error %v; want nil and an error", text, fields, err)
			}
			return
		}
		value := json.RawMessage(bytes.TrimSpace(text))
		switch value[0] {
		case '{':
			var want map[string]json.RawMessage
			known := map[string]bool{}
			must.Succeed(t, json.Unmarshal(value, &want))
			for name := range want {
				known[name] = true
			}
			got, err := Object(value, known)
			if err == nil && !bytes.Contains(value, []byte(`\u`)) && !reflect.DeepEqual(got, want) {
				t.Fatalf("object: got %s, want %s", got, want)
			}
			if err != nil && !strings.Contains(err.Error(), "twice") {
				t.Fatal(err)
			}
		case '[':
			var got, want []json.RawMessage
			must.Succeed(t, json.Unmarshal(value, &want))
			for e := range Elements(value) {
				got = append(got, e)
			}
			if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("list: got %s, want %s", got, want)
			}
		case '"':
			var want string
			must.Succeed(t, json.Unmarshal(value, &want))
			whole := AppendText(nil, value)
			alone := rope.LoneSurrogate(whole) >= 0
			if text, err := Text(value); (err != nil) != alone || err == nil && text != want {
				t.Fatalf("string: got %q, error %v, want %q", text, err, want)
			}
			var joined []byte
			size = 8 + size&63
			for c := range Chunks(value, size) {
				if len(c) == 0 && len(whole) > 0 || len(c) > size {
					t.Fatalf("got a chunk of %d bytes, want 1 to %d", len(c), size)
				}
				joined = rope.AppendText(joined, c)
			}
			if !bytes.Equal(joined, whole) {
				t.Fatalf("chunks: got %q, want %q", joined, whole)
			}
			if got := strings.ToValidUTF8(string(whole), ""); got != strings.ReplaceAll(want, "\ufffd", "") &&
				!strings.Contains(got, "\ufffd") {
				t.Fatalf("string: got %q, want %q", got, want)
			}
		}
	})
}
