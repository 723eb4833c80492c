package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sftseq/sftseq/internal/table"
)

// reason is why a row cannot be used: its kind, which is counted, and what it is with
// this row.
type reason struct {
	kind   string
	detail error // may be nil
	fatal  bool  // it ends the conversion
}

func because(kind string, detail error) *reason { return &reason{kind: kind, detail: detail} }

func (r *reason) String() string {
	if r.detail == nil {
		return r.kind
	}
	return r.kind + ": " + r.detail.Error()
}

// Skipped counts the rows that could not be used, and those to think about.
type Skipped struct {
	Rows     int64            // read
	Reasons  map[string]*Kind // by the kind of reason
	Repeated Kind             // have the text of an earlier row, and are kept
	SameID   Kind             // have the id of an earlier row, and are kept

	mu     sync.Mutex // of what follows, which is told of while rows are read
	absent []string   // of columns that no row has, a line each
}

// Kind is the rows of one kind of reason.
type Kind struct {
	Rows   int64
	Places []string // of the first few, with what was wrong there
}

// mostPlaces is how many are told of a kind.
const mostPlaces = 3

func newSkipped() *Skipped { return &Skipped{Reasons: map[string]*Kind{}} }

func (s *Skipped) add(place string, why *reason) {
	k := s.Reasons[why.kind]
	if k == nil {
		k = &Kind{}
		s.Reasons[why.kind] = k
	}
	if why.detail != nil {
		place += ": " + why.detail.Error()
	}
	k.add(func() string { return place })
}

// addAbsent takes a column that no row of a file has, and what the first rows have. A file
// may be read twice.
func (s *Skipped) addAbsent(file, column string, found []string) {
	line := table.AbsentText(file, column, found)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.absent, line) {
		s.absent = append(s.absent, line)
	}
}

// add counts a row. Only of the first few the place is asked for.
func (k *Kind) add(place func() string) {
	k.Rows++
	if len(k.Places) < mostPlaces {
		k.Places = append(k.Places, place())
	}
}

// Left is how many rows were left out.
func (s *Skipped) Left() (n int64) {
	for _, k := range s.Reasons {
		n += k.Rows
	}
	return n
}

// String tells of them, a reason a line.
func (s *Skipped) String() string {
	var out strings.Builder
	tell := func(k *Kind, what string) {
		fmt.Fprintf(&out, "%d of %d rows %s\n", k.Rows, s.Rows, what)
		for _, p := range k.Places {
			fmt.Fprintf(&out, "  %s\n", p)
		}
		if more := k.Rows - int64(len(k.Places)); more > 0 {
			fmt.Fprintf(&out, "  and %d more\n", more)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Reasons)) {
		tell(s.Reasons[kind], "left out: "+kind)
	}
	if s.Repeated.Rows > 0 {
		tell(&s.Repeated, "have the text of an earlier one, and are kept")
	}
	if s.SameID.Rows > 0 {
		tell(&s.SameID, "have the id of an earlier one, and are kept: it does not tell them apart")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.absent {
		fmt.Fprintln(&out, line)
	}
	return out.String()
}
