package serve

import (
	"strings"
	"testing"
)

// TestTagged: a text, its bytes and a document have the same spans; a bare line is refused, and
// documents have no class.
func TestTagged(t *testing.T) {
	s := start(t, testOptions(t, "tagging"))
	c := dial(t, s).initialize(nil)
	const text = "Ann Lee met Zoë in New York."
	type reply struct {
		Spans []struct {
			Start, End int
			Label      string
		}
		Unit    string
		Version int64
	}
	var of, bytes, document, tokens reply
	c.call(1, "sequence/tag", map[string]any{"text": text}, &of)
	c.call(2, "sequence/tag", map[string]any{"bytes": []byte(text)}, &bytes)
	c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 7, "text": text})
	c.call(3, "sequence/tag", map[string]any{"uri": "a", "version": 7}, &document)
	c.call(4, "sequence/tag", map[string]any{"tokens": []int{6, 7}}, &tokens)
	for _, r := range []reply{bytes, document} {
		if len(r.Spans) != len(of.Spans) || len(of.Spans) == 0 || r.Spans[0] != of.Spans[0] || r.Unit != "characters" {
			t.Errorf("%+v, want %+v", r, of)
		}
	}
	if last := of.Spans[len(of.Spans)-1]; last.End > len([]rune(text)) || document.Version != 7 || tokens.Unit != "tokens" {
		t.Errorf("%+v, %+v, %+v", of, document, tokens)
	}
	c.refuse(5, "sequence/classify", map[string]any{"text": "sea"}, -32601, tagging)
	c.refuse(6, "sequence/predict", map[string]any{"text": "sea"}, -32601, "predicts no numbers")
	bare := dial(t, s)
	bare.send(`{"id":7,"text":"sea"}`)
	if text := bare.receive(); !strings.Contains(text, `"id":7`) || !strings.Contains(text, tagging) {
		t.Error(text)
	}
	if (&session{server: s}).publishes() {
		t.Error("documents are classified")
	}
	other := dial(t, start(t, testOptions(t, "pre"))).initialize(nil)
	other.refuse(1, "sequence/tag", map[string]any{"tokens": []int{12}}, -32601, "the model tags no tokens")
}
