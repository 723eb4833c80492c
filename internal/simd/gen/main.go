// Gen writes the assembly of package simd, one family of kernels per call:
//
//	go run . -family gemm -out ../gemm_amd64.s
//
// It writes the Go declarations of the functions to ../gemm_stubs_amd64.go.
//
// The source of a kernel is independent of the width of registers and is emitted for each
// instruction set. A kernel that passes the tests with AVX2 therefore has the same structure with
// AVX-512.
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
	family := flag.String("family", "", "the kernels to write")
	flag.Parse()
	emit, ok := families[*family]
	if !ok {
		fmt.Fprintf(os.Stderr, "no family %q\n", *family)
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
