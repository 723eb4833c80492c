package simd

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// Kernels holds the kernels of one level: an instruction set, or Go.
type Kernels struct {
	Name  string // avx512, avx2 or go
	Width int    // number of float32s in a vector register; 8 for go
	Products
	Scores
	Elementwise
	Peaks
}

// Levels returns the levels that this machine supports, fastest first. The last level is Go.
func Levels() []*Kernels { return levels }

// Go returns the kernels in Go, which run on every machine.
func Go() *Kernels { return generic }

// Variable is the name of the environment variable that selects a level.
const Variable = "SFTSEQ_SIMD"

// Best returns the fastest level, or the level that SFTSEQ_SIMD names. It returns an error if the
// name is unknown or this machine does not support the level.
var Best = sync.OnceValues(func() (*Kernels, error) { return choose(os.Getenv(Variable), levels) })

func choose(name string, levels []*Kernels) (*Kernels, error) {
	if name == "" {
		return levels[0], nil
	}
	var names []string
	for _, k := range levels {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("%s is %q, expected one of the levels of this machine: %s", Variable, name,
		strings.Join(names, ", "))
}
