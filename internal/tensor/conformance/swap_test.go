package conformance

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
)

// symmetric lists the pairs of operands that can be exchanged without a change of the results.
var symmetric = map[string]bool{
	"add A B":                   true,
	"crossentropy Loss DLogits": true, // equal shapes only for a single class, where both are zero
	"layernorm_backward X Mean": true, // equal shapes only for a single channel, which equals its mean
}

// TestSwappedOperands exchanges each pair of equally shaped operands of each kernel. It checks that
// some case fails for every pair that is not in symmetric, and that no case fails for the pairs in it.
func TestSwappedOperands(t *testing.T) {
	testenv.Long(t, "tries every pair of operands")
	device := cpu.New(1) // a single thread runs on this goroutine, so that a panic can be recovered
	detected := map[string]bool{}
	for _, k := range table {
		for _, c := range k.cases() {
			r := newFixture(c)
			for i, kernel := 0, c.build(r); ; i++ {
				name, swapped := swap(kernel, i)
				if swapped == nil {
					break
				}
				if detected[name] {
					continue
				}
				r := newFixture(c)
				_, swapped = swap(c.build(r), i)
				detected[name] = detects(r, swapped, device)
			}
		}
	}
	for name, found := range detected {
		if found == symmetric[name] {
			t.Errorf("exchanging %s: some case fails: %v, want %v", name, found, !found)
		}
	}
	if len(detected) < 60 {
		t.Errorf("exchanged only %d pairs, want at least 60", len(detected))
	}
}

// detects reports whether a launch of k on the device fails or produces wrong results.
func detects(r *fixture, k tensor.Kernel, device tensor.Device) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = true
		}
	}()
	r.launch(k)
	return r.run(context.Background(), device) != nil || len(r.errors()) > 0
}

// operandField is a field of a kernel that holds a tensor.
type operandField struct {
	name  string
	value reflect.Value
}

// swap returns the name of the kernel's i-th pair of equally shaped operands, and the kernel with this
// pair exchanged. Both operands of a pair have the same axis, and both or neither are in the arena. It
// returns nil if the kernel has at most i pairs.
func swap(k tensor.Kernel, i int) (string, tensor.Kernel) {
	v := reflect.New(reflect.TypeOf(k)).Elem()
	v.Set(reflect.ValueOf(k))
	var restore []func()
	fields := operands("", v, &restore)
	for a, x := range fields {
		for _, y := range fields[a+1:] {
			s, u := x.value.Interface().(*tensor.Tensor), y.value.Interface().(*tensor.Tensor)
			if s == u || s.Rows != u.Rows || s.Width() != u.Width() || s.Words() != u.Words() ||
				(s.Region == tensor.Arena) != (u.Region == tensor.Arena) {
				continue
			}
			if i--; i >= 0 {
				continue
			}
			x.value.Set(reflect.ValueOf(u))
			y.value.Set(reflect.ValueOf(s))
			for _, f := range restore {
				f()
			}
			return fmt.Sprintf("%s %s %s", tensor.Name(k), x.name, y.name), v.Interface().(tensor.Kernel)
		}
	}
	return "", nil
}

// operands returns the tensor fields that are not nil, including the fields of nested structs and interfaces.
// The content of an interface cannot be set, so the fields of interfaces belong to copies. The
// functions in restore store the changed copies in the interfaces.
func operands(prefix string, v reflect.Value, restore *[]func()) []operandField {
	var out []operandField
	for i := range v.NumField() {
		f, name := v.Field(i), prefix+v.Type().Field(i).Name
		switch {
		case f.Type() == reflect.TypeFor[*tensor.Tensor]():
			if !f.IsNil() {
				out = append(out, operandField{name, f})
			}
		case f.Kind() == reflect.Struct:
			out = append(out, operands(name+".", f, restore)...)
		case f.Kind() == reflect.Interface && !f.IsNil():
			inner := reflect.New(f.Elem().Type()).Elem()
			inner.Set(f.Elem())
			out = append(out, operands(name+".", inner, restore)...)
			*restore = append([]func(){func() { f.Set(inner) }}, *restore...)
		}
	}
	return out
}
