package hftokenizer

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is an entry of the file's added_tokens: a text that is always a token of its own.
type addedToken struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"` // includes white space before the token
	RStrip     bool   `json:"rstrip"` // includes white space after the token
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// maxAddedBytes is the maximum length of an added token in bytes. It limits the search time per
// position of a text.
const maxAddedBytes = 1024

// matcher finds added tokens in a text.
type matcher struct {
	words  prefixes
	tokens []addedToken
}

// section is an added token, or the text between two added tokens.
type section struct {
	text  string
	id    int32
	added bool
	first bool // whether this is text, not an added token, at the start of the whole text
}

// newMatcher returns a matcher for tokens. contents are their texts, normalized if the matcher
// searches normalized text.
func newMatcher(tokens []addedToken, contents []string) *matcher {
	m := &matcher{tokens: tokens}
	var words []string
	var ids []int32
	for i, content := range contents {
		if content != "" {
			words, ids = append(words, content), append(ids, int32(i))
		}
	}
	m.words = newPrefixes(words, ids)
	return m
}

// sections splits a text at added tokens. If several tokens match at a position, it takes the
// longest.
func (m *matcher) sections(text string) iter.Seq[section] {
	return func(yield func(section) bool) {
		done := 0 // end of the sections so far
		for at := 0; at < len(text); {
			longest, found := 0, int32(0)
			m.words.each(text[at:], func(length int, i int32) { longest, found = length, i })
			if longest == 0 {
				at++
				continue
			}
			token, from, to := &m.tokens[found], at, at+longest
			at = to
			if token.LStrip {
				from = len(strings.TrimRightFunc(text[:from], unicode.IsSpace))
			}
			if from = max(from, done); token.RStrip {
				to += len(text[to:]) - len(strings.TrimLeftFunc(text[to:], unicode.IsSpace))
			}
			if done < from && !yield(section{text: text[done:from], first: done == 0}) {
				return
			}
			if !yield(section{id: int32(token.ID), added: true}) {
				return
			}
			at, done = max(at, to), to
		}
		if done < len(text) {
			yield(section{text: text[done:], first: done == 0})
		}
	}
}

// readAdded checks the added tokens against the vocabulary, whose size is vocab. It sets t.raw and
// t.normalized to matchers for the tokens that are searched in raw and in normalized text.
func (t *Tokenizer) readAdded(tokens []addedToken, vocab int) error {
	next, ids := int64(vocab), map[string]int64{}
	var raw, normalized []addedToken
	var rawContents, normalizedContents []string
	for i, token := range tokens {
		at := fmt.Sprintf("added_tokens[%d] %.40q", i, token.Content)
		want, known := next, false
		if id, ok := t.model.id(token.Content); ok {
			want, known = int64(id), true
		} else if id, ok := ids[token.Content]; ok {
			want, known = id, true
		}
		switch {
		case token.Content == "" || len(token.Content) > maxAddedBytes || !utf8.ValidString(token.Content):
			return fmt.Errorf("%s: expected 1 to %d bytes of text", at, maxAddedBytes)
		case token.SingleWord:
			return fmt.Errorf("%s: single_word is not supported", at)
		case token.ID != want:
			return fmt.Errorf("%s: expected the id %d, found %d", at, want, token.ID)
		}
		if !known {
			next++
		}
		ids[token.Content] = want
		if !token.Normalized {
			raw, rawContents = append(raw, token), append(rawContents, token.Content)
			continue
		}
		content, err := t.normalize.normalize(token.Content)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		normalized, normalizedContents = append(normalized, token), append(normalizedContents, content)
	}
	t.raw, t.normalized = newMatcher(raw, rawContents), newMatcher(normalized, normalizedContents)
	for content, id := range ids {
		if err := t.recordToken(content, id); err != nil {
			return err
		}
		t.added[int32(id)] = true
	}
	return nil
}
