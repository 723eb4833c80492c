package tokenizers

import (
	"fmt"
	"strings"
)

// Ids of the ListOps vocabulary. Digit d has the id ListOpsDigit + d.
const (
	ListOpsPad     int32 = 0
	ListOpsDigit   int32 = 1
	ListOpsMin     int32 = 11
	ListOpsMax     int32 = 12
	ListOpsMed     int32 = 13
	ListOpsSm      int32 = 14
	ListOpsClose   int32 = 15
	ListOpsUnknown int32 = 16
)

// listOpsWords has the word of each id.
var listOpsWords = [...]string{
	"<pad>", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
	"[MIN", "[MAX", "[MED", "[SM", "]", "<unknown>",
}

// listOpsIDs maps words to ids. The Long Range Arena writes "X" for "]".
var listOpsIDs = func() map[string]int32 {
	ids := map[string]int32{"X": ListOpsClose}
	for id := ListOpsDigit; id < ListOpsClose; id++ {
		ids[listOpsWords[id]] = id
	}
	return ids
}()

// eachListOpsWord calls visit for each word of a text without parentheses. It splits like the Long
// Range Arena: a closing bracket becomes the word X, and words end at white space. In addition, a
// closing bracket is a word even without white space around it.
func eachListOpsWord(text string, visit func(word string)) {
	for part := range strings.FieldsSeq(text) {
		for more := true; more; {
			var word string
			if word, part, more = strings.Cut(part, "]"); word != "" {
				visit(word)
			}
			if more {
				visit("X")
			}
		}
	}
}

// withoutParentheses removes parentheses, like the Long Range Arena.
var withoutParentheses = strings.NewReplacer("(", "", ")", "")

// ListOps encodes the expressions of the Long Range Arena. It deletes parentheses and splits words
// at white space. 15 words have their own ids, and every other word has the id ListOpsUnknown.
type ListOps struct{}

// Type returns "listops".
func (ListOps) Type() string { return "listops" }

// VocabSize returns 17: pad, 15 words, unknown.
func (ListOps) VocabSize() int { return len(listOpsWords) }

// PadID returns 0.
func (ListOps) PadID() *int32 { return new(int32) }

// Encode returns one id for each word of text: "[MAX 2 9 ]" becomes 12 3 10 15.
func (ListOps) Encode(text string) ([]int32, error) {
	text = withoutParentheses.Replace(text)
	n := 0
	eachListOpsWord(text, func(string) { n++ })
	tokens := make([]int32, 0, n)
	eachListOpsWord(text, func(word string) {
		id, ok := listOpsIDs[word]
		if !ok {
			id = ListOpsUnknown
		}
		tokens = append(tokens, id)
	})
	return tokens, nil
}

// Decode returns the words with a space between them, and "]" for the closing word.
func (ListOps) Decode(tokens []int32) string {
	var text strings.Builder
	for i, id := range tokens {
		if i > 0 {
			text.WriteByte(' ')
		}
		if id < 0 || int(id) >= len(listOpsWords) {
			fmt.Fprintf(&text, "<%d>", id)
			continue
		}
		text.WriteString(listOpsWords[id])
	}
	return text.String()
}
