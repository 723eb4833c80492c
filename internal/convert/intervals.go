package convert

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/table"
)

// interval is the half-open range [start, end) of bases in a sequence, counted from 0, with its label.
type interval struct {
	start, end int
	kind       string // label
	line       int64
}

func (x *interval) position(path string) string { return table.Position(path, x.line) }

// intervals holds the intervals that a file lists, by sequence name.
type intervals struct {
	path       string
	bySequence map[string][]interval

	mu        sync.Mutex
	positions map[string][]string // locations of each sequence in the converted files

	stranded, unstranded int // number of intervals with and without a strand, if strands are read
	blocks               int // number of BED intervals with several blocks
}

// maxLine is the maximum length of a line of intervals in bytes.
const maxLine = 1 << 20

// readIntervals reads a file of intervals. The extension determines the format. BED has the
// columns chrom, start, end and name, counts from 0 and excludes the end. GFF and GTF have seqid,
// source, type, start and end, count from 1 and include the end.
//
// Empty intervals of BED are left out. If types are given, intervals of other types are left out, too.
// With strands, the name of an interval on a strand ends with (+) or (-). Overlapping intervals are an
// error, because a base has only one tag.
//
// Sources: "Browser Extensible Data", https://samtools.github.io/hts-specs/BEDv1.pdf; "GFF3",
// https://github.com/The-Sequence-Ontology/Specifications/blob/master/gff3.md.
func readIntervals(path string, types []string, strands bool) (*intervals, error) {
	name := strings.ToLower(path)
	for _, extension := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, extension)
	}
	bed := strings.HasSuffix(name, ".bed")
	if !bed && !slices.Contains([]string{".gff", ".gff2", ".gff3", ".gtf"}, filepath.Ext(name)) {
		return nil, fmt.Errorf("%s: unknown format: expected a file name that ends in .bed, .gff, .gff2, .gff3 or .gtf",
			path)
	}
	in, err := source.Open(context.Background(), path, nil)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out := &intervals{path: path, bySequence: map[string][]interval{}, positions: map[string][]string{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	r := intervalReader{out, bed, strands, types, map[string]string{}}
	var line int64
	for lines.Scan() {
		line++
		text := strings.TrimRight(lines.Text(), "\r")
		if line == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // byte-order mark
		}
		if text == "##FASTA" { // the rest of a GFF file is sequences
			break
		}
		if err := r.add(text, line); err != nil {
			return nil, fmt.Errorf("%s: %w", table.Position(path, line), err)
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("line %d has more than %d bytes", line+1, maxLine)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(out.bySequence) == 0 {
		return nil, fmt.Errorf("%s: expected intervals%s, found none in %d lines", path, typesText(types), line)
	}
	if strands && out.stranded == 0 {
		return nil, fmt.Errorf("%s: --strands: expected + or - in column %d, found no strand in %d intervals", path,
			strandColumn(bed)+1, out.unstranded)
	}
	return out, out.sort()
}

// intervalReader adds the lines of a BED, GFF or GTF file to intervals.
type intervalReader struct {
	*intervals
	bed, strands bool
	types        []string          // nil means all
	names        map[string]string // copies of names; a substring would keep its line in memory
}

// add parses a line and adds its interval, if any.
func (r *intervalReader) add(text string, line int64) error {
	if strings.TrimSpace(text) == "" || text[0] == '#' {
		return nil
	}
	sequence, x, err := parseInterval(text, r.bed)
	if err != nil && r.bed && isBrowserLine(text) { // tested after parsing, because a sequence may be named track
		return nil
	}
	if err != nil {
		return err
	}
	if x.start == x.end || r.types != nil && !slices.Contains(r.types, x.kind) { // BED may have empty intervals
		return nil
	}
	if r.strands {
		strand, err := strandOf(text, r.bed)
		if err != nil {
			return err
		}
		if x.kind += strand; strand == "" {
			r.unstranded++
		} else {
			r.stranded++
		}
	}
	if fields := strings.Split(text, "\t"); r.bed && len(fields) == bedBlocks && fields[blockCount] != "1" &&
		fields[blockCount] != "0" {
		r.blocks++
	}
	intern := func(name string) string {
		if _, ok := r.names[name]; !ok {
			name = strings.Clone(name)
			r.names[name] = name
		}
		return r.names[name]
	}
	x.line, x.kind, sequence = line, intern(x.kind), intern(sequence)
	r.bySequence[sequence] = append(r.bySequence[sequence], x)
	return nil
}

// strandNote returns a note if only some of the intervals have a strand; "" otherwise.
func (v *intervals) strandNote() string {
	if v.unstranded == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d intervals have no strand: their labels have no suffix (+) or (-)", v.path,
		v.unstranded, v.stranded+v.unstranded)
}

// The number of columns of a BED line with blocks, and the index of the column with the number of
// blocks.
const (
	bedBlocks  = 12
	blockCount = 9
)

// blockNote returns a note if intervals have several blocks, such as the exons of a gene; ""
// otherwise.
func (v *intervals) blockNote() string {
	if v.blocks == 0 {
		return ""
	}
	return fmt.Sprintf("%s: intervals with several blocks (columns 10 to 12): %d; the gaps between blocks (introns, "+
		"for example) are tagged, too; write one line per block to exclude them", v.path, v.blocks)
}

// strandColumn returns the index of the strand column.
func strandColumn(bed bool) int {
	if bed {
		return 5
	}
	return 6
}

// isBrowserLine reports whether a line of BED is a track or browser line, which configures genome
// browsers.
func isBrowserLine(line string) bool {
	first := line
	if end := strings.IndexAny(line, " \t"); end >= 0 {
		first = line[:end]
	}
	return first == "track" || first == "browser"
}

func typesText(types []string) string {
	if types == nil {
		return ""
	}
	return fmt.Sprintf(" of the types %q", types)
}

// parseInterval parses the columns of a line.
func parseInterval(line string, bed bool) (sequence string, x interval, err error) {
	fields := strings.Split(line, "\t")
	names, start, end := []string{"chrom", "start", "end", "name"}, 1, 2
	if !bed {
		names, start, end = []string{"seqid", "source", "type", "start", "end"}, 3, 4
	}
	if len(fields) < len(names) {
		advice := ""
		if bed && len(fields) == len(names)-1 {
			advice = ": add a fourth column with the label of each interval, such as gene"
		}
		return "", x, fmt.Errorf("expected the tab-separated columns %s, found %d columns%s",
			strings.Join(names, ", "), len(fields), advice)
	}
	if x.kind = fields[2]; bed {
		x.kind = fields[3]
	}
	var first, second error
	x.start, first = strconv.Atoi(fields[start])
	x.end, second = strconv.Atoi(fields[end])
	if !bed {
		x.start--
	}
	if first != nil || second != nil || x.start < 0 || x.start > x.end || !bed && x.start == x.end || x.kind == "" {
		return "", x, fmt.Errorf("expected a start, an end not before the start, and a name, found %q, %q and %q",
			fields[start], fields[end], x.kind)
	}
	return fields[0], x, nil
}

// strandOf returns the suffix of an interval's name for its strand; "" for an interval without a
// strand.
func strandOf(line string, bed bool) (string, error) {
	fields, column := strings.Split(line, "\t"), strandColumn(bed)
	if len(fields) <= column {
		return "", nil
	}
	switch strand := fields[column]; strand {
	case "+", "-":
		return "(" + strand + ")", nil
	case ".", "?", "":
		return "", nil
	default:
		return "", fmt.Errorf("column %d, the strand: expected +, - or ., found %.20q", column+1, strand)
	}
}

// sort sorts the intervals of each sequence. It returns an error if two intervals overlap.
func (v *intervals) sort() error {
	for _, name := range slices.Sorted(maps.Keys(v.bySequence)) {
		list := v.bySequence[name]
		slices.SortStableFunc(list, func(a, b interval) int { return cmp.Or(a.start-b.start, a.end-b.end) })
		for i := 1; i < len(list); i++ {
			if a, b := &list[i-1], &list[i]; b.start < a.end {
				return fmt.Errorf("%s: %s overlaps %s on line %d, but a base has one tag: select the types (--types)",
					b.position(v.path), b.kind, a.kind, a.line)
			}
		}
	}
	return nil
}

// recordSequence records the location of a sequence that has intervals.
func (v *intervals) recordSequence(name, file string, line int64) {
	if v.bySequence[name] == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.positions[strings.Clone(name)] = append(v.positions[name], table.Position(file, line))
}

// check returns an error if intervals name a sequence that is missing, or ambiguous because several
// sequences have this name.
func (v *intervals) check() error {
	if v == nil {
		return nil
	}
	var bad interval
	var name string
	for n, list := range v.bySequence {
		x := slices.MinFunc(list, func(a, b interval) int { return int(a.line - b.line) })
		if len(v.positions[n]) != 1 && (name == "" || x.line < bad.line) {
			bad, name = x, n
		}
	}
	positions := slices.Sorted(slices.Values(v.positions[name]))
	switch {
	case name == "":
		return nil
	case positions == nil:
		return fmt.Errorf("%s: found no sequence named %.80q, expected one of %s", bad.position(v.path), name,
			jsonlines.QuoteNames(slices.Sorted(maps.Keys(v.positions))))
	}
	return fmt.Errorf("%s: expected one sequence named %.80q, found %d, at %s", bad.position(v.path), name,
		len(positions),
		strings.Join(positions[:min(len(positions), 3)], ", "))
}
