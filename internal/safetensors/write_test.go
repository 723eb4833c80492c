package safetensors

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestGoldenModel checks that a file of another program, whose header has spaces between JSON tokens, can be
// read, and that writing and reading its tensors again does not change them.
func TestGoldenModel(t *testing.T) {
	tensors, _ := must.Get2(Read("testdata/model.safetensors"))(t)
	must.Check(t, CheckFinite(tensors))
	first := tensors[0]
	if first.Name != "embed.weight" || len(first.Shape) != 2 || first.Shape[0] != 17 || first.Shape[1] != 32 {
		t.Errorf("got %s %v as the first tensor, want embed.weight [17 32]", first.Name, first.Shape)
	}
	path := filepath.Join(t.TempDir(), "copy")
	metadata := map[string]string{"z": "last", "a": "<first> & ü", "": ""}
	must.Succeed(t, Write(path, tensors, metadata))
	again, gotMetadata := must.Get2(Read(path))(t)
	expectTensors(t, again, tensors)
	if len(gotMetadata) != len(metadata) {
		t.Errorf("got metadata %v, want %v", gotMetadata, metadata)
	}
	for key, want := range metadata {
		if gotMetadata[key] != want {
			t.Errorf("metadata %q: got %q, want %q", key, gotMetadata[key], want)
		}
	}
}

// TestBytes checks the header of a file: metadata sorted by key, tensors in the caller's order, and padding
// to align the data. Writing the file again must produce the same bytes.
func TestBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model")
	tensors := []Tensor{
		{Name: "b", Shape: []int{2}, Data: []float32{1, 2}},
		{Name: "a<\"é", Shape: nil, Data: []float32{3}},
	}
	want := `{"__metadata__":{"sftseq.checksum":"xxh128:29673fc4ae4d4b0ae50cbca4b02770da","x":"1","y":"2"},` +
		`"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},` +
		`"a<\"é":{"dtype":"F32","shape":[],"data_offsets":[8,12]}}`
	for len(want)%8 != 0 {
		want += " "
	}
	var previous []byte
	for range 5 {
		must.Succeed(t, Write(path, tensors, map[string]string{"y": "2", "x": "1"}))
		b := must.Get(os.ReadFile(path))(t)
		if got := string(b[8 : len(b)-12]); got != want {
			t.Fatalf("got header\n%s, want\n%s", got, want)
		}
		if n := binary.LittleEndian.Uint64(b); n != uint64(len(want)) {
			t.Errorf("got length %d, want %d", n, len(want))
		}
		if previous != nil && !bytes.Equal(b, previous) {
			t.Error("a second Write with the same arguments wrote different bytes")
		}
		previous = b
	}
}

// TestLargerThanTheBuffers checks that tensors larger than the write buffer keep all bits of their numbers,
// including NaNs.
func TestLargerThanTheBuffers(t *testing.T) {
	data := make([]float32, 200_001)
	for i := range data {
		data[i] = math.Float32frombits(uint32(i) * 2654435761)
	}
	want := []Tensor{{Name: "x", Shape: []int{200_001}, Data: data}, {Name: "empty", Shape: []int{3, 0}},
		{Name: "y", Shape: []int{1, 3}, Data: data[:3]}}
	path := filepath.Join(t.TempDir(), "model")
	must.Succeed(t, Write(path, want, nil))
	got, metadata := must.Get2(Read(path))(t)
	if metadata != nil {
		t.Errorf("got metadata %v, want none", metadata)
	}
	expectTensors(t, got, want)
}

// TestNoTensors checks that a file with neither tensors nor metadata can be written and read.
func TestNoTensors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model")
	for _, metadata := range []map[string]string{nil, {}} {
		must.Succeed(t, Write(path, nil, metadata))
		got, back, err := Read(path)
		if err != nil || len(got) != 0 || back != nil {
			t.Errorf("got tensors %v, metadata %v, error %v, want none", got, back, err)
		}
	}
}

// TestWriteRefuses checks that Write refuses invalid tensors and metadata, and leaves no file.
func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model")
	oneElement := func(name string, shape ...int) []Tensor {
		return []Tensor{{Name: name, Shape: shape, Data: []float32{1}}}
	}
	for _, c := range []struct {
		tensors  []Tensor
		metadata map[string]string
		says     string
	}{
		{oneElement("a", 2), nil, `"a"`},
		{oneElement("a", -1), nil, "negative"},
		{oneElement("a", 1<<40, 1<<40), nil, "too many"},
		{oneElement("a", 1, 1, 1, 1, 1, 1, 1, 1, 1), nil, "at most 8"},
		{oneElement("\xff", 1), nil, "UTF-8"},
		{oneElement("__metadata__", 1), nil, "reserved"},
		{append(oneElement("a", 1), oneElement("a", 1)...), nil, "twice"},
		{nil, map[string]string{"k": "\xff"}, `"k"`},
		{nil, map[string]string{"sftseq.checksum": "x"}, `"sftseq.checksum": the key is reserved`},
	} {
		err := Write(path, c.tensors, c.metadata)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("got error %v, want it to contain %s and %s", err, c.says, path)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("got files %v, want none; error %v", entries, err)
	}
}
