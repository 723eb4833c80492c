package tensor

import (
	"fmt"
	"unsafe"
)

// Region is a part of device memory in which tensors live. A run has one [Memory] for each region of
// its program.
type Region uint8

const (
	Arena     Region = iota // activations, placed by the program, valid from first to last use
	Inputs                  // data of one batch: tokens, offsets, labels, seed
	Weights                 // parameters, persistent
	Gradients               // gradients of the parameters, in the layout of Weights
	Partial                 // second block of gradients, to be added to Gradients
	Moment1                 // AdamW's first moment, in the layout of Weights
	Moment2                 // AdamW's second moment, in the layout of Weights
	Regions                 // number of regions
)

// Axis is the meaning of a tensor's rows. The batch's counts contain the number of rows in use for
// each axis except Fixed, so that batches of different sizes share a program.
type Axis uint8

const (
	Fixed     Axis = iota // all rows are in use
	Tokens                // packed token rows of all sequences
	Sequences             // one row per sequence
	Sampled               // packed sampled keys of all sequences
	Examples              // one row per example: a sequence, or a pair of sequences
	Targets               // packed token rows that are targets of a token objective
	Pooled                // packed rows that a pooling has sampled
	axes
)

// Tensor is a row-major array of 4-byte words. Shape[0] is the capacity in rows; the axis Rows
// determines how many rows are in use.
type Tensor struct {
	Name   string
	Shape  []int
	Rows   Axis
	Region Region
	Offset int  // in words, within the region; the program places arena tensors
	Int    bool // for arena tensors: true if the words are integers

	first, last int  // for arena tensors: indices of the first and last launch that use it; first is −1 if unused
	kept        bool // true for outputs, which stay valid until the end of the program
}

// At returns a tensor at a fixed offset, in words, of a region outside the arena.
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

// Width returns the number of words in a row.
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

// Bits returns the memory of a slice as words, without a copy.
func Bits[T Word](x []T) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// As returns words of device memory as a slice of T, without a copy.
func As[T Word](x []uint32) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
