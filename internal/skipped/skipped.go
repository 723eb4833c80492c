// Package skipped counts the rows that a conversion cannot use, by reason, with the first few
// places of each, and tells of them.
package skipped

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Reason is why a row cannot be used: its kind, which is counted, and what it is with
// this row.
type Reason struct {
	Kind   string
	Detail error // may be nil
	Fatal  bool  // it ends the conversion
}

// Because is a reason that leaves out one row.
func Because(kind string, detail error) *Reason { return &Reason{Kind: kind, Detail: detail} }

func (r *Reason) String() string {
	if r.Detail == nil {
		return r.Kind
	}
	return r.Kind + ": " + r.Detail.Error()
}

// Rows counts the rows that could not be used, and those to think about.
type Rows struct {
	Read     int64
	Reasons  map[string]*Kind // by the kind of reason
	Repeated Kind             // have the text of an earlier row, and are kept
	SameID   Kind             // have the id of an earlier row, and are kept

	mu    sync.Mutex // of what follows, which is told of while rows are read
	notes []string   // of files, a line each
}

// Kind is the rows of one kind of reason.
type Kind struct {
	Rows   int64
	Places []string // of the first few, with what was wrong there
}

// mostPlaces is how many are told of a kind.
const mostPlaces = 3

// New returns a count of no rows.
func New() *Rows { return &Rows{Reasons: map[string]*Kind{}} }

// Add counts a row at a place that is left out.
func (s *Rows) Add(place string, why *Reason) {
	k := s.Reasons[why.Kind]
	if k == nil {
		k = &Kind{}
		s.Reasons[why.Kind] = k
	}
	if why.Detail != nil {
		place += ": " + why.Detail.Error()
	}
	k.Add(func() string { return place })
}

// Note takes a line on a file, once: a file may be read twice. It may be called by several
// goroutines.
func (s *Rows) Note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.notes, line) {
		s.notes = append(s.notes, line)
	}
}

// Add counts a row. Only of the first few the place is asked for.
func (k *Kind) Add(place func() string) {
	k.Rows++
	if len(k.Places) < mostPlaces {
		k.Places = append(k.Places, place())
	}
}

// Left is how many rows were left out.
func (s *Rows) Left() (n int64) {
	for _, k := range s.Reasons {
		n += k.Rows
	}
	return n
}

// Counts are how many rows were left out, by the kind of reason.
func (s *Rows) Counts() map[string]int64 {
	out := map[string]int64{}
	for kind, k := range s.Reasons {
		out[kind] = k.Rows
	}
	return out
}

// Nothing is the error of a conversion that could use no row.
func (s *Rows) Nothing() error {
	return fmt.Errorf("no row of %d can be used\n%s", s.Read, strings.TrimSpace(s.String()))
}

// String tells of them, a reason a line.
func (s *Rows) String() string {
	var out strings.Builder
	tell := func(k *Kind, what string) {
		fmt.Fprintf(&out, "%d of %d rows %s\n", k.Rows, s.Read, what)
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
	for _, line := range s.notes {
		fmt.Fprintln(&out, line)
	}
	return out.String()
}
