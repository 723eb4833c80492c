package safetensors

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestMixed checks that integer tensors are read with all their bits if the reader allows them, and
// refused otherwise. Write must refuse numbers of another type than the tensor's.
func TestMixed(t *testing.T) {
	want := []Tensor{
		{Name: "bits", Type: I32, Shape: []int{2, 2}, Ints: []int32{-1 << 31, -1, 0x7fc00001, 0}},
		{Name: "bias", Shape: []int{1}, Data: []float32{1.5}},
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	must.Succeed(t, Write(path, want, nil))
	got, _ := must.Get2(ReadMixed(path))(t)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	shapes := must.Get(ReadMixedShapes(path))(t)
	if len(shapes) != 2 || shapes[0].Type != I32 || shapes[1].Type != "" || shapes[0].Ints != nil {
		t.Errorf("got shapes %v, want those of bits (I32) and bias, without data", shapes)
	}
	if !must.Get(Stated(path))(t) {
		t.Error("the file states no checksum")
	}
	must.Fail(t, `tensor "bits": dtype: expected F32, found "I32"`)(Read(path))
	must.Fail(t, `tensor "bits": dtype: expected F32, found "I32"`)(ReadShapes(path))
	for _, bad := range []Tensor{
		{Name: "both", Type: I32, Shape: []int{1}, Ints: []int32{1}, Data: []float32{1}},
		{Name: "ints", Shape: []int{1}, Ints: []int32{1}},
		{Name: "floats", Type: I32, Shape: []int{1}, Data: []float32{1}},
	} {
		must.Fail(t, fmt.Sprintf("tensor %q: expected 1 elements of ", bad.Name))(Write(path, []Tensor{bad}, nil))
	}
}
