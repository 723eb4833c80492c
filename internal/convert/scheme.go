package convert

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sftseq/sftseq/internal/table"
)

// Span tags are stored in the BIO scheme. These schemes also mark the last token of a span, and
// single-token spans:
//
//	BIOES  B-X I-X E-X, S-X
//	BILOU  B-X I-X L-X, U-X
//	BMES   B-X M-X E-X, S-X; also with W-X
//
// Their tags are converted to BIO, because evaluations would otherwise read a run of equal tags, such as
// S-X S-X, as one span.
//
// Source: Ratinov, Roth, "Design Challenges and Misconceptions in Named Entity Recognition", CoNLL 2009.

// Marks are the letters before the hyphen of a tag.
const (
	begins  = "BSUW"  // first token of a span
	ends    = "ELSUW" // last token of a span
	single  = "SUW"   // span of a single token
	onlyBIO = "BI"    // marks of BIO
	marks   = "BIMELSUW"
)

// markOf returns the mark and the type of a tag such as B-X. ok is false for other tags.
func markOf(tag string) (mark, kind string, ok bool) {
	mark, kind, ok = strings.Cut(tag, "-")
	return mark, kind, ok && len(mark) == 1 && strings.Contains(marks, mark) && kind != ""
}

// MarkEnds reports whether tags are in a scheme that marks the ends of spans. This is the case if a
// type occurs with B or I and also with another mark, or if O occurs and all other tags mark
// single-token spans.
func MarkEnds(tags []string) bool {
	found := map[string]string{} // marks of each type
	others, singles := 0, 0
	for _, tag := range tags {
		mark, kind, ok := markOf(tag)
		switch {
		case !ok && tag != outside && tag != "":
			others++
		case ok && strings.Contains(single, mark):
			singles++
			found[kind] += mark
		case ok:
			found[kind] += mark
			others++
		}
	}
	for _, typeMarks := range found {
		if strings.ContainsAny(typeMarks, onlyBIO) && strings.Trim(typeMarks, onlyBIO) != "" {
			return true
		}
	}
	return singles > 0 && others == 0 && slices.Contains(tags, outside)
}

// toBIO converts the tags of a row in place. A span ends at its end mark. A new span begins where
// the type changes, even without a begin mark. toBIO returns the index of the first token where a
// span begins or ends without its mark, or -1.
func toBIO(tags []string) (inconsistent int) {
	open := "" // type of the span that the next token may continue
	inconsistent = -1
	for i, tag := range tags {
		mark, kind, ok := markOf(tag)
		isBegin := ok && strings.Contains(begins, mark)
		continues := ok && !isBegin && kind == open
		if inconsistent < 0 && !continues && tag != "" && (open != "" || ok && !isBegin) {
			inconsistent = i
		}
		if !ok {
			open = ""
			continue
		}
		if open != kind || isBegin {
			tags[i] = "B-" + kind
		} else {
			tags[i] = "I-" + kind
		}
		if open = kind; strings.Contains(ends, mark) {
			open = ""
		}
	}
	if inconsistent < 0 && open != "" {
		inconsistent = len(tags) - 1
	}
	return inconsistent
}

// namesInBIO returns the names of labels in BIO, without duplicates.
func namesInBIO(names []string) (out []string) {
	for _, name := range names {
		if mark, kind, ok := markOf(name); ok && strings.Contains(begins, mark) {
			name = "B-" + kind
		} else if ok {
			name = "I-" + kind
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// decideMarks determines the scheme from the tags of the first rows, before a worker processes
// them, unless the label names determine it.
func (c *converter) decideMarks(rows []table.Row) {
	if c.marksDecided || c.options.Tags == "" {
		return
	}
	found := map[string]bool{}
	for i := range rows {
		if rows[i].Err != nil || len(rows[i].Values) <= c.tagsAt {
			continue
		}
		tags, _ := c.writtenTags(rows[i].Values[c.tagsAt])
		for _, tag := range tags {
			if !found[tag] {
				found[strings.Clone(tag)] = true
			}
		}
	}
	c.decideMarksFrom(slices.Sorted(maps.Keys(found)))
}

// decideMarksFrom determines the scheme from tags. It adds a note if they mark the ends of spans.
func (c *converter) decideMarksFrom(tags []string) {
	c.marksDecided = true
	if c.hasEndMarks = MarkEnds(tags); c.hasEndMarks {
		c.skipped.Note(fmt.Sprintf("column %s: the tags mark the ends of spans (BIOES, BILOU): E-X, L-X and M-X become I-X; S-X, U-X and W-X become B-X", c.options.Tags))
	}
}

// checkMarks returns an error if later rows mark the ends of spans although the first rows were read as
// BIO. If no labels are given, it also returns an error for a mixture of span tags and other tags except
// O, because evaluations read BIO only if all tags are BIO, and adds a note if all tags except O merely
// resemble BIO.
func (c *converter) checkMarks(names []string) error {
	switch {
	case c.options.Tags == "":
		return nil
	case !c.hasEndMarks && MarkEnds(names):
		return fmt.Errorf("column %s: expected BIO tags as in the first rows, found tags that mark the ends of spans "+
			"(BIOES, BILOU): list all tags as written in the files (--labels B-X,I-X,E-X,S-X,O)", c.options.Tags)
	case c.options.Labels != nil:
		return nil
	}
	var plain []string
	marked := 0
	for _, name := range names {
		if _, _, ok := markOf(name); ok {
			marked++
		} else if name != outside {
			plain = append(plain, name)
		}
	}
	switch {
	case marked > 0 && plain != nil:
		return fmt.Errorf("column %s: %s: tag %q: expected %s or a span tag (B-X, I-X), as for %d other tags: "+
			"correct the tag, or list all tags (--labels) to read each as a class of its own",
			c.options.Tags, c.tagPositions.first(plain[0]), plain[0], outside, marked)
	case marked == 0 && len(plain) > 1 &&
		!slices.ContainsFunc(plain, func(name string) bool { return !almostBIO.MatchString(name) && name != "o" }):
		c.skipped.Note(fmt.Sprintf("column %s: tags such as %s resemble BIO but are not read as spans: "+
			"expected B-X and I-X", c.options.Tags, plain[0]))
	}
	return nil
}

// almostBIO matches tags that mark spans in an unsupported way.
var almostBIO = regexp.MustCompile(`^(?i)([bilouems][-_:/|. ].+|.+[-_:/|. ][bilouems])$`)

// tagPositions holds the location of the first row with each tag. Concurrent workers share it.
type tagPositions struct {
	mu        sync.Mutex
	positions map[string]rowPosition
}

// rowPosition is the location of a row: the index of its file, its line, and the location as text.
type rowPosition struct {
	file int
	line int64
	text string
}

// record records the location of a row with a tag, and keeps the first location in input order.
func (p *tagPositions) record(tag string, position rowPosition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.positions == nil {
		p.positions = map[string]rowPosition{}
	}
	earlier, ok := p.positions[tag]
	if !ok || cmp.Or(cmp.Compare(position.file, earlier.file), cmp.Compare(position.line, earlier.line)) < 0 {
		p.positions[tag] = position
	}
}

// first returns the location of the first row with a tag.
func (p *tagPositions) first(tag string) string { return p.positions[tag].text }

// positionOf returns the location of a row among all files.
func (c *converter) positionOf(row *table.Row) rowPosition {
	return rowPosition{slices.Index(c.options.From, row.File), row.Line, row.Position()}
}

// inconsistentMarks is the key in [tagPositions] for rows with inconsistent marks.
const inconsistentMarks = ""

// noteInconsistentMarks reports rows with inconsistent marks in a note.
func (c *converter) noteInconsistentMarks() {
	if n := c.inconsistent.Load(); n > 0 {
		rows := "1 row has"
		if n > 1 {
			rows = fmt.Sprintf("%d rows have", n)
		}
		c.skipped.Note(fmt.Sprintf("column %s: %s a span without a begin or end tag, first at %s: "+
			"the adjacent tags delimit the span", c.options.Tags, rows, c.tagPositions.first(inconsistentMarks)))
	}
}
