// Molecules reads molecules in SMILES and writes them as graphs for sftseq data convert graph,
// predict and embed. Atoms are nodes. Each bond is two edges, one in each direction.
package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// elements lists the elements that have their own feature. All other elements share one feature.
var elements = []string{"C", "N", "O", "S", "P", "F", "Cl", "Br", "I", "B", "Si", "Se"}

// row is a line of the output.
type row struct {
	ID string `json:"id"`
	// per atom: an indicator for each of the listed elements and one for all others, degree, charge,
	// number of hydrogens, and indicators for aromatic, ring and stereo
	Features [][]int     `json:"features"`
	Edges    [][]int     `json:"edges"` // source, target, and indicators for each bond order and for a ring
	TPSA     json.Number `json:"tpsa,omitempty"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: molecules FILE.csv > graphs.jsonl")
		os.Exit(2)
	}
	if err := convert(os.Args[1], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "molecules:", err)
		os.Exit(1)
	}
}

// convert writes the molecules of a CSV file to out. The file has no header; its columns are SMILES
// and, if known, the polar surface area. For each unreadable molecule convert writes the reason to log.
func convert(path string, out, log io.Writer) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.Comment, reader.FieldsPerRecord = '#', -1
	encoder := json.NewEncoder(out)
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		line, _ := reader.FieldPos(0)
		m, err := parse(fields[0])
		if err != nil {
			fmt.Fprintf(log, "%s:%d: left out: %v\n", path, line, err)
			continue
		}
		r := m.graph()
		r.ID = fmt.Sprintf("%s:%d", filepath.Base(path), line)
		if len(fields) > 1 {
			r.TPSA = json.Number(fields[1])
		}
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
	}
}

// graph returns the features of atoms and bonds, and the edges.
func (m *molecule) graph() (r row) {
	degree := len(elements) + 1
	for _, a := range m.atoms {
		features := make([]int, degree+6)
		kind := slices.Index(elements, a.element)
		if kind < 0 {
			kind = len(elements)
		}
		features[kind] = 1
		copy(features[degree:], []int{0, a.charge, a.hydrogens, indicator(a.aromatic),
			indicator(a.ring), indicator(a.stereo)})
		r.Features = append(r.Features, features)
	}
	r.Edges = [][]int{} // without bonds, JSON has [], not null
	for _, b := range m.bonds {
		r.Features[b.a][degree]++
		r.Features[b.b][degree]++
		features := make([]int, aromatic+1)
		features[b.order-1], features[aromatic] = 1, indicator(b.ring)
		r.Edges = append(r.Edges, append([]int{b.a, b.b}, features...), append([]int{b.b, b.a}, features...))
	}
	return r
}

func indicator(condition bool) int {
	if condition {
		return 1
	}
	return 0
}
