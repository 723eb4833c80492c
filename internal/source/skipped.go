package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// SkipReason is the reason why a conversion skips a row. Rows are counted by Kind.
type SkipReason struct {
	Kind   string
	Detail error // error of this row; may be nil
	Fatal  bool  // whether the conversion fails because of this row
}

// Skip returns a reason to skip one row.
func Skip(kind string, detail error) *SkipReason {
	return &SkipReason{Kind: kind, Detail: detail}
}

func (r *SkipReason) String() string {
	if r.Detail == nil {
		return r.Kind
	}
	return r.Kind + ": " + r.Detail.Error()
}

// Skipped counts the rows that a conversion skips, by reason, with the locations of the first few.
// It also counts rows that the conversion keeps but reports.
type Skipped struct {
	Read     int64                   // number of rows read
	Reasons  map[string]*SkippedKind // keys are [SkipReason.Kind]
	Repeated SkippedKind             // kept rows whose content occurs in an earlier row
	// Content is the word for the content of rows in reports, such as "features"; "" means "text".
	Content string
	// OtherLabel counts the rows in Repeated whose label or number differs from that of the first
	// row with the same content.
	OtherLabel int64
	// OtherSplit counts the rows in Repeated whose split differs from that of the first row with the
	// same content.
	OtherSplit SkippedKind
	// OtherTokens counts kept rows that have a new text, but the same tokens as earlier rows. It counts
	// a row only if either the row or the first of the earlier rows is in the split train, but not both.
	OtherTokens SkippedKind
	SameID      SkippedKind // kept rows whose id occurs in an earlier row

	mu    sync.Mutex // guards notes
	notes []string   // remarks on files, one per line
}

// SkippedKind counts the rows with one kind of reason.
type SkippedKind struct {
	Rows   int64
	Places []string // first maxPlaces locations, each with its detail
}

// maxPlaces is the maximum number of reported locations per kind.
const maxPlaces = 3

// NewSkipped returns an empty Skipped.
func NewSkipped() *Skipped { return &Skipped{Reasons: map[string]*SkippedKind{}} }

// Add counts a skipped row at a location.
func (s *Skipped) Add(position string, reason *SkipReason) {
	k := s.Reasons[reason.Kind]
	if k == nil {
		k = &SkippedKind{}
		s.Reasons[reason.Kind] = k
	}
	if reason.Detail != nil {
		position += ": " + reason.Detail.Error()
	}
	k.Add(func() string { return position })
}

// Note adds a remark on a file. It ignores a remark that was already added, because files may be
// read twice. Note may be called concurrently.
func (s *Skipped) Note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.notes, line) {
		s.notes = append(s.notes, line)
	}
}

// Add counts a row. It calls position only for the first maxPlaces rows.
func (k *SkippedKind) Add(position func() string) {
	k.Rows++
	if len(k.Places) < maxPlaces {
		k.Places = append(k.Places, position())
	}
}

// Left returns the number of skipped rows.
func (s *Skipped) Left() (n int64) {
	for _, k := range s.Reasons {
		n += k.Rows
	}
	return n
}

// Counts returns the number of skipped rows by kind of reason.
func (s *Skipped) Counts() map[string]int64 {
	out := map[string]int64{}
	for kind, k := range s.Reasons {
		out[kind] = k.Rows
	}
	return out
}

// Nothing returns the error for a conversion that skipped every row.
func (s *Skipped) Nothing() error {
	return fmt.Errorf("no row can be used\n%s", strings.TrimSpace(s.String()))
}

// String returns a report: a line for each kind of skipped or repeated row, lines with the first
// locations of the kind, and the notes.
func (s *Skipped) String() string {
	var out strings.Builder
	write := func(k *SkippedKind, text string) {
		fmt.Fprintf(&out, "%d of %d rows %s\n", k.Rows, s.Read, text)
		for _, p := range k.Places {
			fmt.Fprintf(&out, "  %s\n", p)
		}
		if more := k.Rows - int64(len(k.Places)); more > 0 {
			fmt.Fprintf(&out, "  and %d more\n", more)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Reasons)) {
		write(s.Reasons[kind], "left out: "+kind)
	}
	content := cmp.Or(s.Content, "text")
	if s.Repeated.Rows > 0 {
		other := ""
		if s.OtherLabel > 0 {
			other = fmt.Sprintf(", %d of them with another label", s.OtherLabel)
		}
		write(&s.Repeated, "repeat the "+content+" of an earlier row"+other+", and are kept")
	}
	if s.OtherSplit.Rows > 0 {
		write(&s.OtherSplit, "have the "+content+
			" of a row in another split: a model evaluated on them has seen their "+content+" in training")
	}
	if s.OtherTokens.Rows > 0 {
		write(&s.OtherTokens, "have the same tokens as a row in another split, but differ in their text (for example "+
			"in case or unknown words) or in the order of a pair: a model evaluated on them has seen "+
			"their tokens in training")
	}
	if s.SameID.Rows > 0 {
		write(&s.SameID, "repeat the id of an earlier row, and are kept: their ids are not unique")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.notes {
		fmt.Fprintln(&out, line)
	}
	return out.String()
}
