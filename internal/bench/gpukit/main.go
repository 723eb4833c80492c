// Gpukit is the report program of the GPU kit. It prints the results of run.sh as Markdown tables.
// The target bench-gpu-kit of the Makefile packs the program and the script; see docs/performance.md.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: report results.jsonl")
		os.Exit(2)
	}
	text, err := report(os.Args[1])
	if err == nil {
		_, err = os.Stdout.WriteString(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// report returns the report for a file of results.
func report(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r := &results{}
	if err := r.read(f); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if r.lines == 0 {
		return "", fmt.Errorf("%s: expected results of the GPU kit, found none", path)
	}
	return r.markdown(), nil
}
