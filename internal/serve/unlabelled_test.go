package serve

import (
	"strings"
	"testing"
)

// TestUnlabelled checks that a server of a fill-mask model embeds sequences, refuses sequence/classify,
// retrieval/score and bare lines, and pushes nothing for documents.
func TestUnlabelled(t *testing.T) {
	s := startServer(t, testOptions(t, "fill_mask"))
	c := dial(t, s).initialize(nil)
	c.expectError(1, "sequence/classify", map[string]any{"text": "1"}, -32601,
		"the task of the model is fill-mask: use sequence/embed")
	c.expectError(3, "retrieval/score", map[string]any{"text_a": "1", "text_b": "2"}, -32601,
		"the task of the model is fill-mask: use sequence/embed")
	var info struct{ Labels []any }
	if c.call(4, "model/info", map[string]any{}, &info); info.Labels == nil || len(info.Labels) != 0 {
		t.Errorf("got labels %v, want an empty list", info.Labels)
	}
	c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 1, "text": "[MAX 1 2 ]"})
	c.request(2, "sequence/embed", map[string]any{"text": "[MAX 1 2 ]"})
	if m := c.message(); m.Error != nil || string(m.ID) != "2" || strings.Count(string(m.Result), ",") < 7 {
		t.Errorf("got %+v, want an embedding", m)
	}
	bare := dial(t, s)
	bare.send(`{"id":7,"text":"1"}`)
	if text := bare.receive(); !strings.Contains(text, `"id":7`) ||
		!strings.Contains(text, "the task of the model is fill-mask: use sequence/embed") {
		t.Errorf("bare line: got %s, want an error that names sequence/embed", text)
	}
	if (&session{server: s}).publishes() {
		t.Error("publishes() = true, want false")
	}
}
