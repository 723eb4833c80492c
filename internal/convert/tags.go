package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// outside is the tag of a token outside of all spans.
const outside = "O"

// noTag is the word in a text of tags that means no tag, like null in a JSON list. A text of only
// this word means that the row has no tags.
const noTag = "null"

// NoTags is the skip reason of a row without tags.
const NoTags = "no tags"

// isTagging reports whether each token has its own label.
func (o *Options) isTagging() bool { return o.Tags != "" || o.Spans != "" || o.Intervals != "" }

// taggedRange is a byte range [start, end) of a text with one tag: a word or a span.
type taggedRange struct {
	start, end int
	tag        string // tag of its first token; "" means no tag
	inner      string // tag of its other tokens
}

// innerTag returns the tag of the next token in the same span: I-X after B-X, otherwise the tag
// itself.
func innerTag(tag string) string {
	if kind, ok := strings.CutPrefix(tag, "B-"); ok {
		return "I-" + kind
	}
	return tag
}

// continuesSpan reports whether a tag continues the span of the previous tag. The previous tag may be
// I-X at the beginning of a span, as in the IOB1 scheme.
func continuesSpan(before, tag string) bool {
	return strings.HasPrefix(tag, "I-") && innerTag(before) == tag
}

// checkTags checks the options for tags. It adds the column of tags or spans to c.columns, or reads the
// file of intervals.
func (c *converter) checkTags() error {
	o := &c.options
	count := 0
	for _, name := range []string{o.Tags, o.Spans, o.Intervals} {
		if name != "" {
			count++
		}
	}
	switch {
	case count > 1:
		return fmt.Errorf("expected a tag column, a span column or a file of intervals, found %d of them", count)
	case o.Label != "" || o.Numbers != nil || o.Pair != nil:
		return errors.New("tags cannot be combined with a label, numbers or a pair")
	case o.Tokens+o.Features != "" && o.Tags == "":
		return errors.New("spans and intervals require text: token ids and features have no character positions")
	}
	if o.Intervals == "" {
		c.tagsAt = len(c.columns)
		c.columns = append(c.columns, o.Tags+o.Spans) // at most one of the two is not empty
		return nil
	}
	var err error
	if c.intervals, err = readIntervals(o.Intervals, o.IntervalTypes, o.Strands); err != nil {
		return err
	}
	for _, note := range []string{c.intervals.strandNote(), c.intervals.blockNote()} {
		if note != "" {
			c.skipped.Note(note)
		}
	}
	return nil
}

// joinWords joins a JSON list of words into a text, with a space between words. For a sequence with
// intervals it removes white space, because interval positions count only letters.
func (c *converter) joinWords(row *table.Row) {
	if c.options.Intervals != "" && len(row.Values) > 0 {
		v := &row.Values[firstText]
		v.Text = tokenizers.Letters(v.Text)
		return
	}
	if c.options.Tags == "" || c.options.Tokens != "" || row.Err != nil {
		return
	}
	v := &row.Values[firstText]
	if !v.JSON || !strings.HasPrefix(v.Text, "[") {
		return
	}
	var words []string
	if err := json.Unmarshal([]byte(v.Text), &words); err != nil {
		row.Err = fmt.Errorf("column %s: expected a text or a list of words, found %s", c.options.Text,
			jsonlines.Shorten(v.Text, 60))
		return
	}
	for i, word := range words {
		if word == "" || strings.ContainsRune(word, ' ') {
			row.Err = fmt.Errorf("column %s: word %d: expected a word that is not empty and has no space, found %q",
				c.options.Text, i, jsonlines.Shorten(word, 40))
			return
		}
	}
	*v = table.Value{Text: strings.Join(words, " "), IsWords: true}
}

// sequenceName returns the name of a row's sequence, by which intervals refer to it.
func (w *worker) sequenceName(row *table.Row) string {
	id, _ := w.names.ID(row, w.idAt)
	return id.Text
}

// tokenTags returns the provisional numbers of the tags of a row's tokens. The next call reuses
// their memory.
func (w *worker) tokenTags(row *table.Row, e *seq.Example) ([]int32, *source.SkipReason) {
	o, text := &w.options, row.Values[firstText]
	tokens := e.First()
	if w.bytes {
		tokens = len(text.Text)
	}
	if w.intervals != nil {
		found := w.intervals.bySequence[w.sequenceName(row)]
		parts := make([]taggedRange, 0, len(found))
		for _, x := range found {
			if x.end > len(text.Text) {
				return nil, &source.SkipReason{Kind: "an interval ends beyond its sequence", Fatal: true,
					Detail: fmt.Errorf("%s: interval %d to %d: expected an end of at most %d, the number of bases of %.80q",
						x.position(w.intervals.path), x.start, x.end, len(text.Text), w.sequenceName(row))}
			}
			parts = append(parts, spanOf(x.start, x.end, x.kind))
		}
		return w.tagParts(text.Text, tokens, parts, outside, false)
	}
	v := row.Values[w.tagsAt]
	if v.Null || v.Text == "" && v.Tokens == nil {
		return nil, source.Skip(NoTags, fmt.Errorf("column %s: found nothing", o.Tags+o.Spans))
	}
	if o.Spans != "" {
		parts, reason := spansOf(o.Spans, text.Text, v.Text)
		if reason != nil {
			return nil, reason
		}
		if hasMisalignedSpan(text.Text, parts) {
			w.anomalies |= anomalySpan
		}
		return w.tagParts(text.Text, tokens, parts, outside, false)
	}
	tags, reason := w.tagNames(row)
	if reason != nil {
		return nil, reason
	}
	for _, tag := range tags {
		if _, known := w.known[tag]; !known {
			w.tagPositions.record(strings.Clone(tag), w.positionOf(row))
		}
	}
	if !text.IsWords {
		if len(tags) != tokens {
			return nil, source.Skip("the numbers of tags and tokens differ",
				fmt.Errorf("expected %d tags, one for each token, found %d", tokens, len(tags)))
		}
		w.labelled = w.labelled[:0]
		for _, tag := range tags {
			if reason := w.appendTag(tag); reason != nil {
				return nil, reason
			}
		}
		return w.labelled, nil
	}
	words := strings.Split(text.Text, " ")
	if len(words) != len(tags) {
		return nil, source.Skip("the numbers of tags and words differ",
			fmt.Errorf("expected %d tags, one for each word, found %d", len(words), len(tags)))
	}
	parts, at, between := make([]taggedRange, len(words)), 0, outside
	for i, word := range words {
		if kind, _, ok := strings.Cut(tags[i], "-"); tags[i] != outside && !(ok && (kind == "B" || kind == "I")) {
			between = "" // tags such as parts of speech label words only, not the text between words
		}
		parts[i] = taggedRange{at, at + len(word), tags[i], innerTag(tags[i])}
		at += len(word) + 1
	}
	return w.tagParts(text.Text, tokens, parts, between, true)
}

// spanOf returns the tagged range of a span with the given label, in BIO.
func spanOf(start, end int, kind string) taggedRange {
	return taggedRange{start, end, "B-" + kind, "I-" + kind}
}

// tagParts tags the tokens of a text by its parts in order, which are words or, if the argument words
// is false, spans. Text between two words of the same span continues the span. Other text outside the
// parts has the tag in the argument between.
func (w *worker) tagParts(text string, tokens int, parts []taggedRange, between string,
	words bool) ([]int32, *source.SkipReason) {
	offsets, err := tokenizers.Offsets(w.tokenizer, text)
	if err == nil && len(offsets) != tokens {
		err = fmt.Errorf("expected positions of %d tokens, found %d", tokens, len(offsets))
	}
	if err != nil {
		return nil, &source.SkipReason{Kind: "tokens without positions", Detail: err, Fatal: true}
	}
	w.labelled = w.labelled[:0]
	at, begun := 0, false
	for _, t := range offsets {
		for at < len(parts) && parts[at].end <= t.Start {
			if !begun && !words {
				return nil, source.Skip("a span without a token",
					fmt.Errorf("bytes %d to %d", parts[at].start, parts[at].end))
			}
			at, begun = at+1, false
		}
		tag := between
		switch {
		case at < len(parts) && t.End > parts[at].start:
			p := parts[at]
			if t.Start < p.start || t.End > p.end {
				return nil, source.Skip("a span that begins or ends within a token",
					fmt.Errorf("bytes %d to %d, the token %q", p.start, p.end, text[t.Start:t.End]))
			}
			if tag = p.tag; begun {
				tag = p.inner
			}
			begun = true
		case words:
			if at > 0 && at < len(parts) && continuesSpan(parts[at-1].tag, parts[at].tag) {
				tag = parts[at].tag
			}
		}
		if reason := w.appendTag(tag); reason != nil {
			return nil, reason
		}
	}
	if rest := parts[min(at+1, len(parts)):]; !words && (len(rest) > 0 || at < len(parts) && !begun) {
		return nil, source.Skip("a span without a token", errors.New("the last span of the row"))
	}
	return w.labelled, nil
}

// appendTag appends the provisional number of a tag to w.labelled; "" means no tag.
func (w *worker) appendTag(tag string) *source.SkipReason {
	if tag == "" {
		w.labelled = append(w.labelled, seq.NoLabel)
		return nil
	}
	n, ok := w.known[tag]
	if !ok {
		var reason *source.SkipReason
		if n, reason = w.labels.number(tag); reason != nil {
			return reason
		}
		w.known[strings.Clone(tag)] = n
	}
	w.labelled = append(w.labelled, n)
	return nil
}

// tagNames returns the tags of a row, converted to BIO if they mark the ends of spans. It records rows
// with inconsistent marks.
func (c *converter) tagNames(row *table.Row) (tags []string, reason *source.SkipReason) {
	if tags, reason = c.writtenTags(row.Values[c.tagsAt]); c.hasEndMarks && toBIO(tags) >= 0 {
		c.inconsistent.Add(1)
		c.tagPositions.record(inconsistentMarks, c.positionOf(row))
	}
	return tags, reason
}

// writtenTags returns the tags in a value before conversion to BIO; "" means no tag. The value is a list of
// integers, a JSON list of names, numbers and null (no tag), or words separated by spaces. The integers -1
// and -100 mean no tag. Any other integer that is a valid index into the given label names, and not itself
// a name, stands for the name at that index.
func (c *converter) writtenTags(v table.Value) (tags []string, reason *source.SkipReason) {
	switch {
	case v.Tokens != nil:
		for _, n := range v.Tokens {
			tags = append(tags, strconv.Itoa(int(n)))
		}
	case strings.HasPrefix(v.Text, "[") && !v.IsWords:
		var list []any
		decoder := json.NewDecoder(strings.NewReader(v.Text))
		decoder.UseNumber()
		if err := decoder.Decode(&list); err != nil {
			return nil, source.Skip("no list of tags", fmt.Errorf("column %s: found %q", c.options.Tags,
				jsonlines.Shorten(v.Text, 40)))
		}
		for i, x := range list {
			switch x := x.(type) {
			case nil:
				tags = append(tags, "")
			case string:
				tags = append(tags, x)
			case json.Number:
				tags = append(tags, x.String())
			default:
				return nil, source.Skip("no list of tags",
					fmt.Errorf("column %s, index %d: expected a name, a number or null, found %.40v", c.options.Tags,
						i, x))
			}
		}
	case v.IsWords:
		tags = strings.Fields(v.Text)
	default:
		if tags = strings.Fields(v.Text); slices.Equal(tags, []string{noTag}) {
			return nil, source.Skip(NoTags, fmt.Errorf("column %s: found nothing", c.options.Tags))
		}
		for i, tag := range tags {
			if tag == noTag {
				tags[i] = ""
			}
		}
	}
	names := c.options.Labels
	for i, tag := range tags {
		if tag == strconv.Itoa(int(seq.NoLabel)) || tag == "-100" { // PyTorch's loss ignores the index -100
			tags[i] = ""
			continue
		}
		if n, err := strconv.Atoi(tag); err == nil && !slices.Contains(names, tag) && n >= 0 && n < len(names) {
			tags[i] = names[n]
		}
	}
	return tags, nil
}

// spansOf parses a JSON list of objects with the keys start and end, in characters of the text, and
// label. It returns the spans as byte ranges, in order.
func spansOf(column, text, list string) ([]taggedRange, *source.SkipReason) {
	skip := func(kind, format string, a ...any) *source.SkipReason {
		return source.Skip(kind, fmt.Errorf("column %s: "+format, append([]any{column}, a...)...))
	}
	var spans []struct {
		Start, End *int
		Label      string
		Text       *string // text of the span, which some files contain as well
	}
	if err := json.Unmarshal([]byte(list), &spans); err != nil {
		return nil, skip("no list of spans", `expected [{"start": 0, "end": 5, "label": "PER"}], found %q`,
			jsonlines.Shorten(list, 60))
	}
	if spans == nil { // the list is null
		return nil, skip(NoTags, "found nothing")
	}
	for i, s := range spans {
		if s.Start == nil || s.End == nil || s.Label == "" || *s.Start < 0 || *s.Start >= *s.End {
			return nil, skip("malformed span", "span %d: expected start, a larger end and a label, found %s",
				i, jsonlines.Shorten(list, 80))
		}
	}
	slices.SortStableFunc(spans, func(a, b struct {
		Start, End *int
		Label      string
		Text       *string
	}) int {
		return *a.Start - *b.Start
	})
	var out []taggedRange
	characters := tokenizers.NewCharacters(text)
	for i, s := range spans {
		if i > 0 && *s.Start < *spans[i-1].End {
			return nil, skip("spans overlap", "%d to %d and %d to %d, but a token has one tag", *spans[i-1].Start,
				*spans[i-1].End, *s.Start, *s.End)
		}
		start, _ := characters.Byte(*s.Start)
		end, ok := characters.Byte(*s.End)
		if !ok {
			return nil, skip("a span beyond its text", "%d to %d, but the text has %d characters", *s.Start, *s.End,
				utf8.RuneCountInString(text))
		}
		if s.Text != nil && !sameWords(*s.Text, text[start:end]) {
			return nil, skip("a span whose text differs",
				"%d to %d is %q, expected %q: offsets count characters from 0, the end is exclusive", *s.Start,
				*s.End, jsonlines.Shorten(text[start:end], 40), jsonlines.Shorten(*s.Text, 40))
		}
		out = append(out, spanOf(start, end, s.Label))
	}
	return out, nil
}

// sameWords reports whether two texts have the same words, whatever white space separates them.
func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// cutsWord reports whether a byte position is between two letters of spacedScripts.
func cutsWord(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return unicode.In(before, spacedScripts...) && unicode.In(after, spacedScripts...)
}

// spacedScripts are common scripts that separate words by spaces.
var spacedScripts = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic}

// hasMisalignedSpan reports whether a span begins or ends within a word, or with white space.
func hasMisalignedSpan(text string, spans []taggedRange) bool {
	return slices.ContainsFunc(spans, func(p taggedRange) bool {
		inner := text[p.start:p.end]
		return cutsWord(text, p.start) || cutsWord(text, p.end) || strings.TrimSpace(inner) != inner
	})
}
