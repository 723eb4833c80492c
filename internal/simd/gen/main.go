// Gen writes the assembly of package simd, one family of kernels per call:
//
//	go run . -family gemm -out ../gemm_amd64.s
//
// It also writes the Go declarations of the functions to ../gemm_stubs_amd64.go.
//
// AVX2 and AVX-512 share the source of a kernel, except where their instructions differ.
package main

import (
	"flag"
	"fmt"
	"os"

	. "github.com/mmcloughlin/avo/build"
)

var families = map[string]func(isa){
	"gemm":        gemm,
	"attention":   attention,
	"elementwise": elementwise,
	"peak":        peak,
}

func main() {
	family := flag.String("family", "", "family of kernels to write: attention, elementwise, gemm or peak")
	flag.Parse()
	emit, ok := families[*family]
	if !ok {
		fmt.Fprintf(os.Stderr, "-family %q: expected attention, elementwise, gemm or peak\n", *family)
		os.Exit(2)
	}
	ConstraintExpr("amd64")
	for _, v := range []isa{avx2, avx512} {
		emit(v)
	}
	if err := writeStubs(*family); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	Generate()
}
