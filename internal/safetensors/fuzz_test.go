package safetensors

import (
	"bytes"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// FuzzRead checks that no input makes reading panic, and that every readable file can be written
// and read again. The seeds are a valid file, the hostile files, and inputs in testdata/fuzz that
// a longer run found.
func FuzzRead(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8))
	for _, c := range hostile {
		f.Add(c.file)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		defer testenv.FuzzLimits(t, 1<<20+500*len(b))()
		tensors, metadata, err := readBytes(b)
		if err != nil {
			return
		}
		header, err := encodeHeader(tensors, metadata)
		if err == nil {
			header, err = withChecksum(header, tensors)
		}
		must.Succeed(t, err)
		copied := bytes.NewBuffer(header)
		must.Succeed(t, writeData(copied, tensors))
		again, _ := must.Get2(readBytes(copied.Bytes()))(t)
		expectTensors(t, again, tensors)
	})
}
