package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// wideDocument is a document whose client counts UTF-16.
func wideDocument(t testing.TB, text string) *document {
	s := start(t, testOptions(t, "pre"))
	x := &session{server: s, share: s.turns.share(), utf16: true, ctx: context.Background()}
	s.memory.take(int64(len(text)))
	d := &document{session: x, text: []byte(text), units: units([]byte(text))}
	t.Cleanup(func() { s.memory.give(int64(len(d.text))) })
	return d
}

// TestByteOf: whatever was asked for before, the place is that which a walk from the
// beginning finds.
func TestByteOf(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := ""
	var want []int // by the offset
	for range 300 {
		c := []string{"a", "é", "漢", "🙂"}[r.IntN(4)]
		want = append(want, len(text))
		if len(utf16.Encode([]rune(c))) == 2 {
			want = append(want, -1)
		}
		text += c
	}
	want = append(want, len(text))
	d := wideDocument(t, text)
	for range 5000 {
		n := r.IntN(len(want))
		if got := d.byteOf(n); got != want[n] {
			t.Fatalf("offset %d is at byte %d, want %d", n, got, want[n])
		}
	}
}

// TestManyChanges: places that are near each other are found soon, wherever in a large
// document they are; and the changes of a client that is gone are not made.
func TestManyChanges(t *testing.T) {
	const n, length = 3000, 4 << 20
	d := wideDocument(t, strings.Repeat("é", length))
	for _, at := range []int{100, length / 3, length - 100} {
		began := time.Now()
		for k := range n {
			if from, to, err := d.bytes(at+k%5, at+k%5+1); err != nil || from != 2*(at+k%5) || to != from+2 {
				t.Fatal(from, to, err)
			}
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%d places at %d take %v", n, at, took)
		}
	}
	d.ctx, d.changed = context.WithCancel(context.Background())
	change := fmt.Sprintf(`{"range":{"start":%d,"end":%d},"text":"è"}`, length-100, length-99)
	fields := map[string]json.RawMessage{"version": json.RawMessage("1"), "changes": json.RawMessage("[" + change + strings.Repeat(","+change, n) + "]")}
	began := time.Now()
	if err := d.change(fields); err != nil || string(d.text[2*length-200:2*length-198]) != "è" {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("%d changes take %v", n, took)
	}
	gone, cancel := context.WithCancelCause(context.Background())
	cancel(errSessionOver)
	d.session.ctx = gone
	fields["version"], fields["changes"] = json.RawMessage("2"), json.RawMessage(`[{"text":""}]`)
	if err := d.change(fields); err != errSessionOver || len(d.text) == 0 {
		t.Errorf("%v", err)
	}
}
