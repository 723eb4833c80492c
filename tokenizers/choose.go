package tokenizers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Choice is a tokenizer for texts, with the reason for the choice.
type Choice struct {
	Name   string          // value of --tokenizer
	Spec   json.RawMessage // argument of [NewLearner] and [New]
	Reason string
}

// Choose returns the tokenizer for texts: audio-vq if more than half are WAV files, dna if nearly
// all consist of bases, words for prose, whose words mostly recur, and byte otherwise.
func Choose(texts []string) Choice {
	sounds := count(texts, IsWAV)
	switch {
	case sounds*2 > len(texts):
		reason := "the rows are WAV files"
		if sounds < len(texts) {
			reason = fmt.Sprintf("%d of the first %d rows are WAV files; audio-vq skips the other rows", sounds,
				len(texts))
		}
		return Choice{"audio-vq", json.RawMessage(`{"type":"audio-vq"}`), reason}
	case nearlyAll(texts, isSeries):
		return Choice{"byte", json.RawMessage(`{"type":"byte"}`),
			"the texts are lists of numbers: use --series instead of --text to read the numbers"}
	case nearlyAll(texts, isDNA):
		return Choice{"dna", json.RawMessage(`{"type":"dna"}`), "at least 99% of the texts are DNA or RNA"}
	}
	w := countWords(texts)
	reason := "the texts are not prose"
	switch series, dna := count(texts, isSeries), count(texts, isDNA); {
	case sounds > 0:
		reason = fmt.Sprintf("audio-vq requires WAV files, but only %d of the first %d rows are WAV files",
			sounds, len(texts))
	case series*2 > len(texts):
		reason = fmt.Sprintf("--series requires lists of numbers, but only %d of the first %d texts are lists of numbers", series, len(texts))
	case dna*2 > len(texts):
		reason = fmt.Sprintf("dna requires DNA, but only %d of the first %d texts are DNA", dna,
			len(texts))
	case nearlyAll(texts, hasBases):
		reason = fmt.Sprintf("the texts may be DNA, but more than 1%% of them have fewer than %d bases and may be words: for DNA use dna", minBases)
	case w.words < minWords:
		reason = "the texts have too few words to learn a vocabulary from"
	case w.prose():
		return Choice{"words:20000", json.RawMessage(`{"type":"words","vocab":20000}`), fmt.Sprintf(
			"the texts are prose: %d%% of their characters are letters, and %d%% of the words in one half of a sample occur in the other half", w.percent(w.letters, w.chars), w.percent(w.recurring, w.tested))}
	case w.hasWords():
		reason = fmt.Sprintf("the texts repeat too few words to learn a vocabulary from: only %d%% of the words in one half of a sample occur in the other half", w.percent(w.recurring, w.tested))
	}
	return Choice{"byte", json.RawMessage(`{"type":"byte"}`), reason}
}

// nearlyAll reports whether there are texts and the predicate is false for at most one in a hundred.
func nearlyAll(texts []string, match func(string) bool) bool {
	others := len(texts) - count(texts, match)
	return len(texts) > 0 && others*100 <= len(texts)
}

// count returns the number of texts for which the predicate is true.
func count(texts []string, match func(string) bool) (n int) {
	for _, text := range texts {
		if match(text) {
			n++
		}
	}
	return n
}

// HeaderWAV is the number of bytes that [IsWAV] reads.
const HeaderWAV = 12

// IsWAV reports whether the first [HeaderWAV] bytes of a text are the header of a WAV file.
func IsWAV(text string) bool {
	return len(text) >= HeaderWAV && text[:4] == "RIFF" && text[8:HeaderWAV] == "WAVE"
}

// isSeries reports whether a text is a list of two or more numbers. At least one number must have a
// decimal point, as integers may be ids.
func isSeries(text string) bool {
	n := 0
	for word := range strings.FieldsFuncSeq(strings.Trim(text, "[] \r\n"),
		func(r rune) bool { return strings.ContainsRune(" \t\r\n,;", r) }) {
		if _, err := strconv.ParseFloat(word, 64); err != nil {
			return false
		}
		n++
	}
	return n > 1 && strings.Contains(text, ".")
}

// minBases is the minimum number of bases in DNA, so that words such as "a" or "tag" are not DNA.
const minBases = 12

// isDNA reports whether a text consists of bases only, besides gaps and white space, and has
// at least minBases.
func isDNA(text string) bool {
	n, dna := bases(text)
	return dna && n >= minBases
}

// hasBases reports whether a text consists of bases only, besides gaps and white space, and has
// at least one.
func hasBases(text string) bool {
	_, dna := bases(text)
	return dna
}

// bases returns the number of bases in a text, and whether the text consists of bases: every character
// must be a base, a gap or white space, and at least nine in ten bases must be A, C, G, T, U or N, which
// excludes proteins. If the text contains another character, the number is that of the bases before it.
func bases(text string) (n int, alone bool) {
	plain := 0
	for i := range len(text) {
		switch v := baseValues[text[i]]; {
		case v == otherByte:
			return n, false
		case v != noBase:
			n++
			if v < ambiguousBase || text[i]|0x20 == 'n' {
				plain++
			}
		}
	}
	return n, n > 0 && plain*10 >= n*9
}

// wordCount holds statistics of the words in texts.
type wordCount struct {
	words             int // words and punctuation, as EachWord splits a text
	chars, letters    int // characters except white space, and the letters and marks among them
	tested, recurring int // words in one half of the texts, and the words among them that also occur in the other half
}

// Criteria for prose. In film reviews 96% of the characters are letters, and 96% of the words
// recur. In ListOps, programs and logs fewer than 70% are letters. In languages without spaces, a
// sentence is a single long word, which does not recur.
const (
	minWords    = 2000
	minLetters  = 80 // minimum percentage of letters among the characters
	minRepeated = 75 // minimum percentage of words that recur
	longestMean = 12 // maximum mean letters per word in hasWords; above it, texts are proteins or lack spaces
)

func (w *wordCount) prose() bool {
	return w.mostlyLetters() && w.percent(w.recurring, w.tested) >= minRepeated
}

// hasWords reports whether the texts consist of words, which need not recur.
func (w *wordCount) hasWords() bool { return w.mostlyLetters() && w.letters <= longestMean*w.words }

func (w *wordCount) mostlyLetters() bool { return w.percent(w.letters, w.chars) >= minLetters }

func (*wordCount) percent(part, whole int) int { return 100 * part / max(1, whole) }

// countWords returns the statistics of texts. It counts how many words of every second text occur
// in the remaining texts.
func countWords(texts []string) (w wordCount) {
	known := map[string]bool{}
	for i, text := range texts {
		for _, r := range text {
			if !unicode.IsSpace(r) {
				w.chars++
				if unicode.IsLetter(r) || unicode.IsMark(r) {
					w.letters++
				}
			}
		}
		if i%2 == 0 {
			EachWord(text, func(word string) {
				w.words++
				known[strings.Clone(word)] = true
			})
		}
	}
	for i, text := range texts {
		if i%2 == 1 {
			EachWord(text, func(word string) {
				w.words++
				w.tested++
				if known[word] {
					w.recurring++
				}
			})
		}
	}
	return w
}
