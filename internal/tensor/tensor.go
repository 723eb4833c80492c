package tensor

import (
	"fmt"
	"unsafe"
)

// Region is the memory that a tensor lives in. A run has one [Memory] for each region that the
// program uses.
type Region uint8

const (
	Arena     Region = iota // activations: placed by the program, live from first to last use
	Inputs                  // data of one batch: tokens, offsets, labels, seed
	Weights                 // parameters, persistent
	Gradients               // gradients of the parameters, same layout as Weights
	Partial                 // another block of gradients, to be added to the first
	Moment1                 // AdamW's first moment, same layout
	Moment2                 // AdamW's second moment, same layout
	Regions                 // number of regions
)

// Axis is the meaning of a tensor's rows. It determines how many of them hold data in a run: the
// number is in the batch's counts, so that batches of different sizes share one program.
type Axis uint8

const (
	Fixed     Axis = iota // every row, always
	Tokens                // packed token rows of all sequences
	Sequences             // one row per sequence
	Sampled               // packed sampled keys of all sequences
	Examples              // one row per example: a sequence, or a pair of them
	Targets               // packed token rows that are targets of a token objective, of all sequences
	Pooled                // packed rows that a pooling has sampled, of all sequences
	axes
)

// Tensor is a row-major array of 4-byte words. Shape[0] is the capacity in rows; Rows is the axis
// that determines how many are in use.
type Tensor struct {
	Name   string
	Shape  []int
	Rows   Axis
	Region Region
	Offset int  // in words, within the region; the program places arena tensors
	Int    bool // holds integers

	first, last int // launches that touch it, for the arena
	kept        bool
}

// At returns a tensor at a fixed offset of a persistent region.
func At(region Region, offset int, name string, shape ...int) *Tensor {
	return &Tensor{Name: name, Shape: shape, Region: region, Offset: offset}
}

// Words returns the capacity in 4-byte words.
func (t *Tensor) Words() int {
	n := 1
	for _, s := range t.Shape {
		n *= s
	}
	return n
}

// Width returns the number of words in one row.
func (t *Tensor) Width() int {
	n := 1
	for _, s := range t.Shape[1:] {
		n *= s
	}
	return n
}

func (t *Tensor) String() string { return fmt.Sprintf("%s%v", t.Name, t.Shape) }

// Word is a type that fills one word of device memory.
type Word interface{ float32 | int32 | uint32 }

// Bits views a slice as words of device memory, without a copy.
func Bits[T Word](x []T) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// As views words of device memory as T, without a copy.
func As[T Word](x []uint32) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
