package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/files"
	"github.com/sftseq/sftseq/sft"
)

// fileResult is the prediction for a file or a fragment of a file.
type fileResult struct {
	Path        string         `json:"path"`
	Size        int64          `json:"size"`
	Kind        string         `json:"kind,omitempty"`    // "" if the file is too short or its kind unknown
	Nearest     string         `json:"nearest,omitempty"` // most probable kind
	Probability float64        `json:"probability,omitempty"`
	Named       string         `json:"named,omitempty"` // kind implied by a whole file's path, if Kind is another kind
	unlabelled  bool           // the model has no class for Named
	Evidence    []fileEvidence `json:"evidence,omitempty"`
	Fragment    *fragmentRange `json:"fragment,omitempty"` // nil for a whole file
	bytes       int            // size of the sample
}

// fragmentRange is the range of bytes [Start, End) that a fragment covers in the file.
type fragmentRange struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// fileEvidence is a range of bytes [Start, End) with a weight: for models with a linear member the
// contribution of an n-gram to the logit of Nearest, otherwise ln p − ln p′, where p is the probability of
// Nearest, and p′ its probability without these bytes.
type fileEvidence struct {
	Start  int64   `json:"start"`
	End    int64   `json:"end"`
	Weight float32 `json:"weight"`
	bytes  []byte
}

// unknownKind is printed if the probability of the most probable kind is below the threshold, or if this
// kind is [files.Other].
const unknownKind = "unknown"

// predict sets the kind and the evidence from the output of a model.
func (r *fileResult) predict(f *sampledFile, o *sft.Output, labels []string, threshold float64) {
	probabilities := sft.Probabilities(o.Logits)
	best := sft.Argmax(probabilities)
	r.Nearest, r.Probability = labels[best], float64(probabilities[best])
	if r.Probability >= threshold && r.Nearest != files.Other {
		r.Kind = r.Nearest
	}
	if named := files.KindOf(filepath.ToSlash(f.path)); named >= 0 && r.Kind != "" && !f.fragment {
		if name := files.Kinds[named].Name; name != r.Kind {
			r.Named, r.unlabelled = name, !slices.Contains(labels, name)
		}
	}
	for _, e := range o.Explanations {
		r.Evidence = evidenceOf(f, e.Linear)
	}
}

// maxEvidence is the maximum number of ranges of bytes that are shown.
const maxEvidence = 5

// evidenceOf returns disjoint ranges of bytes with the largest positive contributions of n-grams to the
// prediction of a linear member.
func evidenceOf(f *sampledFile, e *sft.LinearExplanation) []fileEvidence {
	var out []fileEvidence
	for _, n := range e.NGrams {
		out = append(out, f.evidence(int(n.Places[0][0]), int(n.Places[0][1]), n.Contribution))
	}
	return largestEvidence(out)
}

// evidence returns the bytes first to end − 1 of the sample, with their weight. It cuts the range where
// the sample skips bytes of the file.
func (f *sampledFile) evidence(first, end int, weight float32) fileEvidence {
	for f.position(end-1)-f.position(first) > int64(end-1-first) {
		end-- // the n-gram ends in another part of the file
	}
	return fileEvidence{f.position(first), f.position(end-1) + 1, weight, f.bytes[first:end]}
}

// largestEvidence returns at most maxEvidence disjoint ranges, with the largest positive weights.
func largestEvidence(all []fileEvidence) (out []fileEvidence) {
	slices.SortStableFunc(all, func(a, b fileEvidence) int { return cmp.Compare(b.Weight, a.Weight) })
	for _, x := range all {
		if x.Weight > 0 && len(out) < maxEvidence && !slices.ContainsFunc(out, func(y fileEvidence) bool {
			return x.Start < y.End && y.Start < x.End
		}) {
			out = append(out, x)
		}
	}
	return out
}

// blockSize returns the size of the blocks that are removed from a sample to measure their weight. Each
// part of a sample begins at a multiple of this size, so no block spans two parts. A long fragment has 64
// blocks.
func blockSize(sample int) int {
	if sample < 256 {
		return 16
	}
	return max(64, (sample+63)/64)
}

// printedPath returns a path, quoted if it is not UTF-8 or contains control characters.
func printedPath(path string) string {
	if !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

// print prints the result: with --json as one JSON line, otherwise as a line followed by a line for each
// range of bytes in the evidence.
func (r *fileResult) print(c *cli.Context) error {
	if c.Bool("json") {
		line, err := json.Marshal(r)
		if err == nil {
			_, err = fmt.Fprintf(c.App.Writer, "%s\n", line)
		}
		return err
	}
	var out strings.Builder
	path := printedPath(r.Path)
	if x := r.Fragment; x != nil {
		path += fmt.Sprintf(":%d-%d", x.Start, x.End-1)
	}
	switch {
	case r.Size == 0:
		fmt.Fprintf(&out, "%s: empty\n", path)
	case r.bytes < files.MinBytes:
		fmt.Fprintf(&out, "%s: too short (%d bytes)\n", path, r.bytes)
	case r.Kind == "":
		fmt.Fprintf(&out, "%s: %s (%s %.1f%%)\n", path, unknownKind, r.Nearest, 100*r.Probability)
	case r.unlabelled:
		fmt.Fprintf(&out, "%s: %s %.1f%% (named %s, not a kind of the model)\n", path, r.Kind, 100*r.Probability,
			r.Named)
	case r.Named != "":
		fmt.Fprintf(&out, "%s: %s %.1f%% (named %s)\n", path, r.Kind, 100*r.Probability, r.Named)
	default:
		fmt.Fprintf(&out, "%s: %s %.1f%%\n", path, r.Kind, 100*r.Probability)
	}
	for _, e := range r.Evidence {
		fmt.Fprintf(&out, "  bytes %d to %d  %.3g  %q\n", e.Start, e.End-1, e.Weight, e.bytes)
	}
	_, err := fmt.Fprint(c.App.Writer, out.String())
	return err
}
