package simd

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// Kernels are the kernels of one instruction set.
type Kernels struct {
	Name  string // avx512, avx2 or go
	Width int    // float32s in a vector register
	Products
	Scores
	Elementwise
	Peaks
}

// Levels returns what this machine can run, the fastest first. The last is Go.
func Levels() []*Kernels { return levels }

// Go returns the kernels in Go, which every machine runs.
func Go() *Kernels { return generic }

// Variable is the environment variable that asks for a lower level.
const Variable = "SFTSEQ_SIMD"

// Best returns the level to use: the fastest, or the one that SFTSEQ_SIMD names.
// It fails if that names none, or one that this machine cannot run.
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
	return nil, fmt.Errorf("%s is %q; this machine has %s", Variable, name, strings.Join(names, ", "))
}
