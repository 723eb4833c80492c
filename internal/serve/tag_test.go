package serve

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestTagged checks the spans of a tagging model. A text sent as bytes or as a document has the same
// number of spans as the text in a request, and the same first span. A bare line has the same spans as a request.
// The server pushes a document's spans, or an error if a change cannot be applied.
func TestTagged(t *testing.T) {
	s := startServer(t, testOptions(t, "tagging"))
	c := dial(t, s).initialize(encodingParams("utf-32"))
	const text = "Ann Lee met Zoë in New York."
	type reply struct {
		Spans []struct {
			Start, End int
			Label      string
		}
		Unit    string
		Version int64
	}
	var fromText, bytes, document, tokens reply
	c.call(1, "sequence/tag", map[string]any{"text": text}, &fromText)
	c.call(2, "sequence/tag", map[string]any{"bytes": []byte(text)}, &bytes)
	c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 7, "text": text})
	c.call(3, "sequence/tag", map[string]any{"uri": "a", "version": 7}, &document)
	c.call(4, "sequence/tag", map[string]any{"tokens": []int{6, 7}}, &tokens)
	for _, r := range []reply{bytes, document} {
		if len(r.Spans) != len(fromText.Spans) || len(fromText.Spans) == 0 || r.Spans[0] != fromText.Spans[0] ||
			r.Unit != "characters" {
			t.Errorf("got %+v, want %+v", r, fromText)
		}
	}
	if last := fromText.Spans[len(fromText.Spans)-1]; last.End > len([]rune(text)) || document.Version != 7 ||
		tokens.Unit != "tokens" {
		t.Errorf("got a last span %+v, version %d of the document, unit %q for tokens; want an end of at most %d, "+
			"version 7, unit \"tokens\"", last, document.Version, tokens.Unit, len([]rune(text)))
	}
	c.expectError(5, "sequence/classify", map[string]any{"text": "sea"}, -32601,
		"the task of the model is tagging: use sequence/tag")
	c.expectError(6, "sequence/predict", map[string]any{"text": "sea"}, -32601, "use sequence/tag")
	bare := dial(t, s)
	bare.send(`{"id":7,"text":"sea"}`)
	var line reply
	decode(t, []byte(bare.receive()), &line)
	c.call(8, "sequence/tag", map[string]any{"text": "sea"}, &fromText)
	if !slices.Equal(line.Spans, fromText.Spans) || line.Unit != fromText.Unit || line.Unit != "characters" {
		t.Errorf("bare line: got %+v, want %+v", line, fromText)
	}
	// The spans of the last version are pushed.
	c.notify("sequence/didChange", map[string]any{"uri": "a", "version": 8,
		"changes": []any{map[string]any{"text": "met Zoë"}}})
	var pushed struct {
		reply
		URI    string
		Length int
	}
	for pushed.Version != 8 {
		m := c.message()
		if m.Method != "sequence/publishSpans" {
			t.Fatalf("got %+v, want sequence/publishSpans", m)
		}
		must.Succeed(t, json.Unmarshal(m.Params, &pushed))
	}
	c.call(7, "sequence/tag", map[string]any{"uri": "a"}, &document)
	if pushed.URI != "a" || pushed.Length != 2 || pushed.Unit != "characters" ||
		!slices.Equal(pushed.Spans, document.Spans) {
		t.Errorf("got pushed %+v, want %+v", pushed, document)
	}
	c.notify("sequence/didChange", map[string]any{"uri": "a", "version": 8,
		"changes": []any{map[string]any{"text": "old"}}})
	for pushed := ""; !strings.Contains(pushed, `"error":{"code":`); {
		m := c.message()
		if pushed = string(m.Params); m.Method == publishClass || m.ID != nil {
			t.Fatalf("got %+v, want a publication with an error", m)
		}
	}
	other := dial(t, startServer(t, testOptions(t, "pre"))).initialize(nil)
	other.expectError(1, "sequence/tag", map[string]any{"tokens": []int{12}}, -32601,
		"the task of the model is classification: use sequence/classify")
}

// TestMemoryOfTags checks the memory of a queued request if the model reads only the head of its
// sequence. The request takes at most the memory of its message and its tokens.
func TestMemoryOfTags(t *testing.T) {
	o := testOptions(t, "tagging")
	o.Load = func() (*Model, error) {
		m, err := sft.Load(filepath.Join(goldenDir, "tagging"))
		if err != nil {
			return nil, err
		}
		m.Config.InputWindow = &config.InputWindow{Length: 4, Policy: "head"}
		return onCPU(m, "tagging")
	}
	text := "Ann Lee met Zoë " + strings.Repeat("antidisestablishmentarianism ", 1<<15)
	limit := int64(len(text)) * 9 / 4 // the message (bytes take 4/3 in base64) and its tokens
	for _, x := range []struct {
		method string
		field  string
		value  any
	}{{"sequence/tag", "text", text}, {"sequence/tag", "bytes", []byte(text)}, {"sequence/embed", "text", text}} {
		t.Run(x.method+" "+x.field, func(t *testing.T) {
			s := startServer(t, o)
			release := blockBatches(s)
			c := dial(t, s).initialize(nil)
			before := s.memory.used.Load()
			c.request(1, x.method, map[string]any{x.field: x.value})
			eventually(t, "the request is not queued", func() bool {
				jobs, _, running := queueState(s)
				return jobs+running > 0
			})
			if took := s.memory.used.Load() - before; took > limit {
				t.Errorf("got %d counted bytes, want at most %d", took, limit)
			}
			close(release)
			if m := c.response(1); m.Error != nil {
				t.Error(m.Error)
			}
		})
	}
}
