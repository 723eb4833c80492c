package serve

import "testing"

// TestIDs: an id is the same however it is written, and it is free as soon as its
// answer is read.
func TestIDs(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	release := hold(s)
	c := dial(t, s).initialize(struct{}{})
	c.send(`{"jsonrpc":"2.0","id":"a","method":"sequence/classify","params":{"tokens":[1]}}`)
	c.send(`{"jsonrpc":"2.0","id":"\u0061","method":"sequence/classify","params":{"tokens":[1]}}`)
	if m := c.message(); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("the same id: %s, %+v", m.Result, m.Error)
	}
	c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"\u0061"}}`)
	if m := c.message(); string(m.ID) != `"a"` || m.Error == nil || m.Error.Code != -32800 {
		t.Errorf("cancelled: %s, %+v", m.ID, m.Error)
	}
	close(release)
	for range 300 {
		c.call(1, "sequence/classify", map[string]any{"tokens": []int{1}}, nil)
	}
}
