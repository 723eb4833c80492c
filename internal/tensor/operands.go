package tensor

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// A kernel's struct declares its operands: its tensor fields, the tensors of a batch, and the
// operands of nested structs or interfaces. A tag states how the kernel accesses a tensor:
//
//	(no tag)          reads it
//	op:"write"        writes it
//	op:"add"          reads and writes it
//	op:"accumulate"   writes it, and also reads it if the kernel's field Accumulate is set
//
// All operands in a kernel's field Forward are only read. Nil operands are ignored. A second tag
// states the shape. It consists of numbers, and of letters or words for sizes that are equal throughout
// the kernel:
//
//	shape:"R,4d"      R rows of 4d words each
//	shape:"d"         d words
//
// Tensors whose shapes begin with the same dimension must have rows on the same axis, unless the
// dimension is a number without a letter.

// access is the way in which a kernel uses an operand.
type access uint8

const (
	read access = iota
	write
	add
	accumulate
)

var accessByTag = map[string]access{"": read, "write": write, "add": add, "accumulate": accumulate}

// operand is a field of a kernel: a tensor, or a batch, struct or interface with operands.
type operand struct {
	field    int
	access   access
	shape    []size
	nested   bool // true for a struct or interface that contains operands
	readOnly bool // true if all nested operands are only read
}

// size is a dimension of a shape: a factor times the value of a letter or word, or only a
// factor.
type size struct {
	factor int
	letter string
}

func (s size) String() string {
	if s.factor == 1 && s.letter != "" {
		return s.letter
	}
	return strconv.Itoa(s.factor) + s.letter
}

// parseShape returns the dimensions of a shape tag such as "R,4d".
func parseShape(tag string) (out []size) {
	for text := range strings.SplitSeq(tag, ",") {
		letter := strings.TrimLeft(text, "0123456789")
		n, err := strconv.Atoi(strings.TrimSuffix(text, letter))
		if err != nil {
			n = 1
		}
		out = append(out, size{n, letter})
	}
	return out
}

// declarations caches the operands of each kernel type, because programs are recorded often. It
// maps reflect.Type to []operand.
var declarations sync.Map

var (
	tensorType = reflect.TypeFor[*Tensor]()
	batchType  = reflect.TypeFor[*Batch]()
)

// operandsOf returns the operands of a kernel type. It panics if a field or its tag is invalid.
func operandsOf(t reflect.Type) []operand {
	if d, ok := declarations.Load(t); ok {
		return d.([]operand)
	}
	var out []operand
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("op")
		o := operand{field: i, readOnly: f.Name == "Forward"}
		a, known := accessByTag[tag]
		wrong := !known
		switch kind := f.Type.Kind(); {
		case f.Type == tensorType:
			o.access = a
			if shape := f.Tag.Get("shape"); shape != "" {
				o.shape = parseShape(shape)
			}
			if _, ok := t.FieldByName("Accumulate"); a == accumulate {
				wrong = !ok
			}
		case f.Type == batchType, kind == reflect.Interface, kind == reflect.Struct && f.Type.PkgPath() == t.PkgPath():
			o.nested = true
			wrong = tag != ""
		default:
			if wrong = tag != "" || containsTensors(f.Type); !wrong {
				continue
			}
		}
		if wrong {
			panic(fmt.Sprintf("tensor: %v.%s %v: op:%q: expected a *Tensor with a valid op, "+
				"or a field without tensors and without op", t, f.Name, f.Type, tag))
		}
		out = append(out, o)
	}
	declarations.Store(t, out)
	return out
}

// containsTensors reports whether a pointer, slice, array or map type contains tensors.
func containsTensors(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return t.Elem() == reflect.TypeFor[Tensor]() || containsTensors(t.Elem())
	}
	return false
}

// visit calls f with each tensor among the operands of v, in the order of the fields. If readOnly is
// true, it passes the access read.
func visit(v reflect.Value, readOnly bool, f func(t *Tensor, a access, shape []size)) {
	if v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	for _, o := range operandsOf(v.Type()) {
		x := v.Field(o.field)
		if o.nested {
			visit(x, readOnly || o.readOnly, f)
			continue
		}
		a := o.access
		switch {
		case readOnly:
			a = read
		case a == accumulate && v.FieldByName("Accumulate").Bool():
			a = add
		case a == accumulate:
			a = write
		}
		if t := (*Tensor)(x.UnsafePointer()); t != nil {
			f(t, a, o.shape)
		}
	}
}

// RowAxis returns the axis of the rows that a kernel processes: the axis of its first operand.
func RowAxis(k Kernel) Axis {
	v := reflect.ValueOf(k)
	return (*Tensor)(v.Field(operandsOf(v.Type())[0].field).UnsafePointer()).Rows
}

// Reads returns the tensors that a kernel reads, including the tensors that it adds to.
func Reads(k Kernel) (out []*Tensor) {
	visit(reflect.ValueOf(k), false, func(t *Tensor, a access, _ []size) {
		if a != write {
			out = append(out, t)
		}
	})
	return out
}

// Writes returns the tensors that a kernel writes.
func Writes(k Kernel) (out []*Tensor) {
	visit(reflect.ValueOf(k), false, func(t *Tensor, a access, _ []size) {
		if a != read {
			out = append(out, t)
		}
	})
	return out
}

// checkShapes panics if the shapes of a kernel's operands or the axes of their rows do not match, or
// if the kernel's own check fails.
func checkShapes(k Kernel) {
	sizes, rows := map[string]int{}, map[size]Axis{}
	visit(reflect.ValueOf(k), false, func(t *Tensor, _ access, shape []size) {
		found := []int{t.Shape[0], t.Width()}
		if len(shape) == 1 {
			found = []int{t.Words()}
		}
		for i, s := range shape {
			n, known := sizes[s.letter]
			if !known {
				n = 1
				if s.letter != "" {
					n = found[i] / s.factor
					sizes[s.letter] = n
				}
			}
			if found[i] != s.factor*n {
				panic(fmt.Sprintf("tensor: %s: %v: %d where %v is expected, with %v", Name(k), t, found[i], s, sizes))
			}
		}
		if len(shape) == 0 || shape[0].letter == "" {
			return
		}
		if axis, known := rows[shape[0]]; known && axis != t.Rows {
			panic(fmt.Sprintf("tensor: %s: %v: rows of another kind where %v is expected", Name(k), t, shape[0]))
		}
		rows[shape[0]] = t.Rows
	})
	if c, more := k.(interface{ check() }); more {
		c.check()
	}
}
