package tensorboard

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestResume checks that the file of a resumed run replaces the curves from the resumed step on,
// even within the same second.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	for _, resumed := range []int{0, 20, 30} {
		w := must.Get(Create(dir, resumed))(t)
		for step := max(10, resumed); step <= 40; step += 10 {
			must.Succeed(t, w.Write(step, Scalar{"loss/train", float64(step + resumed)}, Scalar{"accuracy/train", 0.5}))
		}
		must.Succeed(t, w.Close())
	}
	got := fmt.Sprint(testenv.TensorBoard(t, dir))
	want := "[{10 loss/train 10} {10 accuracy/train 0.5} {20 loss/train 40} {20 accuracy/train 0.5} " +
		"{30 loss/train 60} {30 accuracy/train 0.5} {40 loss/train 70} {40 accuracy/train 0.5}]"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestRecord checks published values: RFC 3720's CRC-32C of 32 zeros, and the first bytes of a
// TensorFlow event file, whose first event has 24 bytes and states the version.
func TestRecord(t *testing.T) {
	if c := crc32.Checksum(make([]byte, 32), castagnoli); c != 0x8a9136aa {
		t.Errorf("got CRC-32C %08x of 32 zeros, want 8a9136aa", c)
	}
	dir := t.TempDir()
	w := must.Get(Create(dir, 0))(t)
	must.Succeed(t, w.Close())
	text := must.Get(os.ReadFile(w.file.Name()))(t)
	head, version := hex.EncodeToString(text[:13]), string(text[21:36])
	if want := "1800000000000000a37f4b2209"; head != want || version != "\x1a\x0dbrain.Event:2" || len(text) != 40 {
		t.Errorf("got a file of %d bytes that begins with %s, %q; want 40 bytes, %s and the version",
			len(text), head, version, want)
	}
}

// TestFailures checks that Create reports a missing directory, and that Close repeats the first
// error of Write, which names the file.
func TestFailures(t *testing.T) {
	if _, err := Create(filepath.Join(t.TempDir(), "absent"), 0); !os.IsNotExist(err) {
		t.Errorf("got error %v in a missing directory, want a not-exist error", err)
	}
	w := must.Get(Create(t.TempDir(), 0))(t)
	w.file.Close()
	first := w.Write(1, Scalar{"x", 1})
	if first == nil || !strings.Contains(first.Error(), "events.out.tfevents.") {
		t.Fatalf("got error %v, want an error that names the file", first)
	}
	must.Fail(t, first.Error(), "Close")(w.Close())
}
