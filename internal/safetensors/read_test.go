package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// file returns the bytes of a file with the header and n zero bytes of data.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

// fileWithLength returns the bytes of a file that states a header of n bytes, followed by the given text.
func fileWithLength(n uint64, rest string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, n), rest...)
}

func readBytes(b []byte) ([]Tensor, map[string]string, error) {
	return readNamed(bytes.NewReader(b), int64(len(b)), "model.safetensors", F32)
}

// hostile lists files that must be refused, and texts that the error must contain.
var hostile = []struct {
	name string
	file []byte
	says []string
}{
	{"empty", nil, []string{"at least 8 bytes", "found 0"}},
	{"seven bytes", make([]byte, 7), []string{"found 7"}},
	{"header of 2^63", fileWithLength(1<<63, "{}"), []string{"remaining 2 bytes", "9223372036854775808"}},
	{"header of 2^64-1", fileWithLength(1<<64-1, "{}"), []string{"18446744073709551615"}},
	{"header longer than the file", fileWithLength(3, "{}"), []string{"remaining 2 bytes", "found 3"}},
	{"no header", file("", 0), []string{"JSON object"}},
	{"list", file("[]", 0), []string{"JSON object", `"[]"`}},
	{"leading space", file(" {}", 0), []string{"JSON object"}},
	{"not JSON", file("{nonsense}", 0), []string{"not JSON"}},
	{"ends early", file(`{"a":{"dtype":"F32"`, 0), []string{`"a"`, "ends too early"}},
	{"ends in a string", file(`{"a`, 0), []string{"ends too early"}},
	{"truncated data", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 5),
		[]string{`"a"`, "[0, 8]: the file is truncated to 5 bytes of data (restore it from a copy)"}},
	{"trailing comma", file(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},}`, 4), []string{"header"}},
	{"second object", file(`{}{}`, 0), []string{"only spaces", "{"}},
	{"zeros after the object", file("{}\x00", 0), []string{"only spaces"}},
	{"not UTF-8", file("{\"\xff\":{}}", 0), []string{"UTF-8"}},
	{"nested", file(strings.Repeat(`{"a":`, 10000), 0), []string{`"a"`, "dtype, shape and data_offsets"}},
	{"nested lists", file(`{"a":{"shape":`+strings.Repeat(`[`, 10000), 0), []string{`"a"`, "integer"}},
	{"tensor is a number", file(`{"a":1}`, 0), []string{`"a"`, `"{"`, "1"}},
	{"tensor is null", file(`{"a":null}`, 0), []string{`"a"`, `"{"`}},
	{"unknown key", file(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1}}`, 4), []string{`"a"`, `"x"`}},
	{"tensor twice", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\u0061":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), []string{`"a"`, "twice"}},
	{"shape twice", file(`{"a":{"dtype":"F32","shape":[1],"shape":[2],"data_offsets":[0,4]}}`, 4),
		[]string{`"a"`, `"shape"`, "twice"}},
	{"metadata twice", file(`{"__metadata__":{},"__metadata__":{}}`, 0), []string{"__metadata__", "twice"}},
	{"metadata key twice", file(`{"__metadata__":{"k":"1","k":"2"}}`, 0), []string{"__metadata__", `"k"`, "twice"}},
	{"metadata number", file(`{"__metadata__":{"k":1}}`, 0), []string{"__metadata__", `"k"`, "string"}},
	{"other type", file(`{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`, 4),
		[]string{`"a"`, "F32", `"BF16"`}},
	{"type missing", file(`{"a":{"shape":[1],"data_offsets":[0,4]}}`, 4), []string{`"a"`, "dtype"}},
	{"type is a number", file(`{"a":{"dtype":32,"shape":[1],"data_offsets":[0,4]}}`, 4),
		[]string{`"a"`, "dtype", "32"}},
	{"shape missing", file(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, 4), []string{`"a"`, "shape"}},
	{"offsets missing", file(`{"a":{"dtype":"F32","shape":[1]}}`, 4), []string{`"a"`, "data_offsets", "found 0"}},
	{"one offset", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4]}}`, 4), []string{`"a"`, "found 1"}},
	{"three offsets", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}`, 4),
		[]string{`"a"`, "at most 2"}},
	{"negative dimension", file(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, 4),
		[]string{`"a"`, "shape", "-1"}},
	{"fraction", file(`{"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}}`, 4), []string{`"a"`, "shape", "1.5"}},
	{"exponent", file(`{"a":{"dtype":"F32","shape":[1e0],"data_offsets":[0,4]}}`, 4), []string{`"a"`, "shape", "1e0"}},
	{"dimension of 2^63", file(`{"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}}`, 4),
		[]string{`"a"`, "shape", "9223372036854775808"}},
	{"overflowing product", file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0),
		[]string{`"a"`, "too many"}},
	{"overflow hidden by a zero", file(`{"a":{"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}}`,
		0), []string{`"a"`, "too many"}},
	{"nine dimensions", file(`{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}}`, 4),
		[]string{`"a"`, "at most 8"}},
	{"reversed offsets", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, 4), []string{`"a"`, "[4, 0]"}},
	{"beyond the end", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 7),
		[]string{`"a"`, "[0, 8]", "7 bytes"}},
	{"far beyond the end", file(`{"a":{"dtype":"F32","shape":[1152921504606846976],"data_offsets":[0,4611686018427387904]}}`, 4), []string{`"a"`, "4 bytes"}},
	{"shape against offsets", file(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8),
		[]string{`"a"`, "12 bytes", "[3]", "found 8"}},
	{"gap", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`, 12), []string{`"b"`, "begin at 4", "gap"}},
	{"gap at the start", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8),
		[]string{`"a"`, "begin at 0", "gap"}},
	{"overlap", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12), []string{`"b"`, "begin at 8", "overlap"}},
	{"trailing bytes", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 5),
		[]string{"expected 4 bytes", "found 5"}},
	{"data without tensors", file(`{}`, 1), []string{"expected 0 bytes", "found 1"}},
}

// TestHostileFiles checks that each malformed file is refused with a short error that states the
// defect.
func TestHostileFiles(t *testing.T) {
	for _, c := range hostile {
		tensors, metadata, err := readBytes(c.file)
		if err == nil {
			t.Errorf("%s: got %v, %v, want an error", c.name, tensors, metadata)
			continue
		}
		if len(err.Error()) > 500 {
			t.Errorf("%s: the error has %d bytes, want at most 500", c.name, len(err.Error()))
		}
		for _, s := range append(c.says, "model.safetensors") {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: got error %q, want it to contain %q", c.name, err, s)
			}
		}
	}
}

// TestHeaderLimit checks the maximum length of the header with a sparse file that is large enough for
// the stated length.
func TestHeaderLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	must.Succeed(t, os.WriteFile(path, fileWithLength(maxHeader+1, "{"), 0o600))
	must.Succeed(t, os.Truncate(path, maxHeader+100))
	if _, _, err := Read(path); err == nil || !strings.Contains(err.Error(), "at most 100000000 bytes") {
		t.Errorf("got error %v, want an error about the limit", err)
	}
}

// TestEveryTruncation checks that a valid file is refused after truncation to any shorter length.
func TestEveryTruncation(t *testing.T) {
	whole := file(`{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}`, 16)
	must.Get2(readBytes(whole))(t)
	for n := range whole {
		must.Fail(t, "", "the first", n, "of", len(whole), "bytes were accepted")(readBytes(whole[:n]))
	}
}

// TestShrunkFile checks that a file is refused if it is truncated after its size was read.
func TestShrunkFile(t *testing.T) {
	whole := file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8)
	for n := range whole {
		if _, _, err := readNamed(bytes.NewReader(whole[:n]), int64(len(whole)), "shrunk", F32); err == nil {
			t.Errorf("a file with %d of %d bytes was accepted", n, len(whole))
		}
	}
}

// TestUnusualValidHeader checks that spaces, any order of keys and tensors, scalars and empty tensors
// are accepted.
func TestUnusualValidHeader(t *testing.T) {
	header := `{"b" : {"data_offsets":[4,12],"shape":[2,1],"dtype":"F32"}, "__metadata__":{"format":"pt"},
		"none":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]}, "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   `
	b := file(header, 12)
	binary.LittleEndian.PutUint32(b[len(b)-12:], math.Float32bits(1.5))
	binary.LittleEndian.PutUint32(b[len(b)-4:], math.Float32bits(-2))
	tensors, metadata := must.Get2(readBytes(b))(t)
	expectTensors(t, tensors, []Tensor{
		{Name: "a", Data: []float32{1.5}},
		{Name: "none", Shape: []int{0, 7}},
		{Name: "b", Shape: []int{2, 1}, Data: []float32{0, -2}},
	})
	if len(metadata) != 1 || metadata["format"] != "pt" {
		t.Errorf("got metadata %v, want format: pt", metadata)
	}
}

// TestReadUnreadablePath checks that the error for a directory or a missing file names the path.
func TestReadUnreadablePath(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "absent")} {
		must.Fail(t, path)(Read(path))
	}
}

func TestCheckFinite(t *testing.T) {
	good := Tensor{Name: "good", Shape: []int{2}, Data: []float32{math.MaxFloat32, -0}}
	must.Check(t, CheckFinite([]Tensor{good}))
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		bad := Tensor{Name: "bad", Shape: []int{3}, Data: []float32{0, float32(x), float32(x)}}
		err := CheckFinite([]Tensor{good, bad})
		if err == nil || !strings.Contains(err.Error(), `"bad"`) || !strings.Contains(err.Error(), "index 1") {
			t.Errorf("got error %v, want an error that names bad and index 1", err)
		}
	}
}

// expectTensors checks that names, shapes and float32 data are equal. It compares bits, so NaNs with
// equal bits count as equal.
func expectTensors(t *testing.T, got, want []Tensor) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d tensors, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		same := g.Name == w.Name && len(g.Shape) == len(w.Shape) && len(g.Data) == len(w.Data)
		for j := 0; same && j < len(w.Shape); j++ {
			same = g.Shape[j] == w.Shape[j]
		}
		for j := 0; same && j < len(w.Data); j++ {
			same = math.Float32bits(g.Data[j]) == math.Float32bits(w.Data[j])
		}
		if !same {
			t.Errorf("tensor %d: got %.200v, want %.200v", i, g, w)
		}
	}
}

// TestTooManyKeys checks that an object with more than maxKeys keys is refused.
func TestTooManyKeys(t *testing.T) {
	var header strings.Builder
	header.WriteString(`{"__metadata__":{"":""`)
	for i := range maxKeys {
		fmt.Fprintf(&header, `,"%x":""`, i)
	}
	header.WriteString("}}")
	path := filepath.Join(t.TempDir(), "x.safetensors")
	must.Succeed(t, os.WriteFile(path, fileWithLength(uint64(header.Len()), header.String()), 0o600))
	must.Fail(t, "__metadata__: expected at most 524288 keys, found more")(Read(path))
}
