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

// TestResume checks that a second file continues where the first was truncated, even within the
// same second.
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
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestRecord compares with published numbers: the check of RFC 3720 for 32 zeros, and the beginning
// of every TensorFlow file, a version in an event of 24 bytes.
func TestRecord(t *testing.T) {
	if c := crc32.Checksum(make([]byte, 32), castagnoli); c != 0x8a9136aa {
		t.Errorf("CRC-32C of 32 zeros %08x", c)
	}
	dir := t.TempDir()
	w := must.Get(Create(dir, 0))(t)
	must.Succeed(t, w.Close())
	text := must.Get(os.ReadFile(w.file.Name()))(t)
	head, version := hex.EncodeToString(text[:13]), string(text[21:36])
	if want := "1800000000000000a37f4b2209"; head != want || version != "\x1a\x0dbrain.Event:2" || len(text) != 40 {
		t.Errorf("a file of %d bytes begins with %s, %q; want 40, %s and the version", len(text), head, version, want)
	}
}

func TestFailures(t *testing.T) {
	if _, err := Create(filepath.Join(t.TempDir(), "absent"), 0); !os.IsNotExist(err) {
		t.Errorf("got error %v", err)
	}
	w := must.Get(Create(t.TempDir(), 0))(t)
	w.file.Close()
	first := w.Write(1, Scalar{"x", 1})
	if err := w.Close(); first == nil || !strings.Contains(err.Error(), first.Error()) {
		t.Errorf("%v, then %v", first, err)
	}
	if !strings.Contains(first.Error(), "events.out.tfevents.") {
		t.Errorf("%v does not name the file", first)
	}
}
