package safetensors

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestSparseFile checks that a header followed by 64 GiB of holes is refused as incomplete, and that a
// written file of zeros is accepted.
func TestSparseFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	const size = 64 << 30
	header := fmt.Sprintf(`{"a":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}`, size/4, size)
	must.Succeed(t, os.WriteFile(path, append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...),
		0o666))
	must.Succeed(t, os.Truncate(path, int64(8+len(header)+size)))
	want := fmt.Sprintf(" of %d bytes are stored", 8+len(header)+size)
	_, _, err := Read(path)
	must.Fail(t, want)(err)
	must.Fail(t, "the file is incomplete; copy or download it again")(ReadShapes(path))

	whole := filepath.Join(t.TempDir(), "b.safetensors")
	must.Succeed(t, Write(whole,
		[]Tensor{{Name: "a", Shape: []int{sparseBytes / 4}, Data: make([]float32, sparseBytes/4)}}, nil))
	must.Get(ReadShapes(whole))(t)
}
