package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/rope"
	"github.com/sftseq/sftseq/internal/testenv"
)

// editedDocument returns a document in a session without a client.
func editedDocument(t testing.TB, text string, unit rope.Unit) *document {
	t.Helper()
	o := testOptions(t, "pre")
	o.Debounce = time.Hour // the debounce time prevents a publication
	s := startServer(t, o)
	x := &session{server: s, share: s.turns.Share(), stopRead: make(chan struct{})}
	x.ctx, x.end = context.WithCancelCause(context.Background())
	d := &document{session: x, text: rope.Text{Unit: unit}}
	quoted := must.Get(json.Marshal(text))(t)
	must.Succeed(t, d.insert("text", quoted, 0, 0))
	t.Cleanup(d.dropText)
	return d
}

// edits returns the params of a sequence/didChange with n changes. Change i replaces the character at
// places[i%len(places)].
func edits(version, n int, with string, places ...int) map[string]json.RawMessage {
	var changes strings.Builder
	for i := range n {
		at := places[i%len(places)]
		fmt.Fprintf(&changes, `,{"range":{"start":%d,"end":%d},"text":"%s"}`, at, at+1, with)
	}
	return map[string]json.RawMessage{"version": json.RawMessage(fmt.Sprint(version)),
		"changes": json.RawMessage("[" + changes.String()[1:] + "]")}
}

// TestManyChanges checks that a message with the maximum number of changes takes at most 2 s of CPU
// time, at several positions of a large document and in every unit.
func TestManyChanges(t *testing.T) {
	const n, length = maxElements, 5 << 20
	for _, unit := range []rope.Unit{rope.Bytes, rope.UTF16, rope.Characters} {
		text := "é"
		if unit == rope.Bytes {
			text = "e"
		}
		d := editedDocument(t, strings.Repeat(text, length), unit)
		for version, places := range [][]int{{0}, {length / 3}, {length - 1}, {0, length - 1},
			{length / 2, 7, length / 5, length - 9}} {
			before := testenv.CPUTime()
			must.Succeed(t, d.change(edits(version+1, n, "aa", places...)))
			if took := testenv.CPUTime() - before; took > 2*time.Second {
				t.Errorf("%d changes at %d took %v of CPU time, want at most 2s", n, places, took)
			}
			if at := places[0]; unit == rope.Bytes && len(places) == 1 && d.text.Byte(at) != 'a' {
				t.Errorf("byte %d is %q, want 'a'", at, d.text.Byte(at))
			}
		}
		if d.text.Length() != length+5*n {
			t.Errorf("got length %d, want %d", d.text.Length(), length+5*n)
		}
	}
}

// TestUnwantedChanges checks that applying changes stops if the client is gone or the server
// drains, and that the partly changed document is closed.
func TestUnwantedChanges(t *testing.T) {
	for _, end := range []struct {
		name string
		do   func(*session)
	}{
		{"over", func(s *session) { s.end(errSessionOver) }},
		{"drain", func(s *session) { s.stop() }},
		{"gone", func(s *session) {
			if runtime.GOOS != "linux" {
				s.end(errSessionOver) // only Linux detects a closed client
				return
			}
			l := must.Get(net.Listen("unix", filepath.Join(t.TempDir(), "s")))(t)
			defer l.Close()
			client := must.Get(net.Dial("unix", l.Addr().String()))(t)
			accepted := must.Get(l.Accept())(t)
			t.Cleanup(func() { accepted.Close() })
			s.input = accepted
			client.Close()
		}},
	} {
		t.Run(end.name, func(t *testing.T) {
			d := editedDocument(t, strings.Repeat("e", 1<<20), rope.Bytes)
			s := d.session
			s.documents.open = map[string]*document{"u": d}
			d.setVersion(0)
			end.do(s)
			s.edits++
			fields := edits(1, 1000, "aa", 0)
			params := fmt.Sprintf(`{"uri":"u","version":%s,"changes":%s}`, fields["version"], fields["changes"])
			must.Fail(t, "", "didChange succeeded")(s.didChange(json.RawMessage(params)))
			if !d.closed || d.text.Len() != 0 || d.reservedBytes != 0 {
				t.Errorf("got %d bytes, %d reserved bytes and closed %v, want 0, 0 and true", d.text.Len(),
					d.reservedBytes, d.closed)
			}
			open := fmt.Sprintf(`{"uri":"v","version":1,"text":"%s"}`, strings.Repeat("e", 1<<20))
			if err := s.didOpen(json.RawMessage(open)); err == nil || s.documents.open["v"] != nil {
				t.Errorf("got error %v and an open document %t, want an error and no open document", err,
					s.documents.open["v"] != nil)
			}
		})
	}
}
