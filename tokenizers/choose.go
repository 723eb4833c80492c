package tokenizers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// A Choice is a tokenizer for a kind of texts, and the reason.
type Choice struct {
	Name   string          // value for --tokenizer
	Spec   json.RawMessage // for [NewLearner] and [New]
	Reason string
}

// Choose selects the tokenizer that suits some texts: audio-vq if most are WAV files, dna for
// bases, words for texts of mostly repeated words, and byte for everything else. The reason counts
// texts of another kind.
func Choose(texts []string) Choice {
	sounds := count(texts, IsWAV)
	switch {
	case sounds*2 > len(texts):
		reason := "the rows are WAV files"
		if sounds < len(texts) { // a stray file makes the others neither text nor bytes
			reason = fmt.Sprintf("%d of the first %d rows are WAV files, and audio-vq leaves the others out", sounds,
				len(texts))
		}
		return Choice{"audio-vq", json.RawMessage(`{"type":"audio-vq"}`), reason}
	case nearlyAll(texts, isSeries):
		return Choice{"byte", json.RawMessage(`{"type":"byte"}`),
			"the texts are lists of numbers, which --series reads as numbers, instead of --text"}
	case nearlyAll(texts, isDNA):
		return Choice{"dna", json.RawMessage(`{"type":"dna"}`), "the texts are bases alone"}
	}
	w := countWords(texts)
	reason := "the texts are not prose"
	switch series, dna := count(texts, isSeries), count(texts, isDNA); {
	case sounds > 0:
		reason = fmt.Sprintf("%d of the first %d rows are WAV files, which audio-vq reads, and the others are not",
			sounds, len(texts))
	case series*2 > len(texts):
		reason = fmt.Sprintf("%d of the first %d texts are lists of numbers, which --series reads, and the others are not", series, len(texts))
	case dna*2 > len(texts):
		reason = fmt.Sprintf("%d of the first %d texts are bases, which dna reads, and the others are not", dna,
			len(texts))
	case nearlyAll(texts, hasBases):
		reason = fmt.Sprintf("the texts may be DNA, but more than one in a hundred has fewer than %d bases, as words such as tag do; dna reads them", minBases)
	case w.words < minWords:
		reason = "there is too little text to learn words from"
	case w.prose():
		return Choice{"words:20000", json.RawMessage(`{"type":"words","vocab":20000}`), fmt.Sprintf(
			"the texts are prose: %d%% of their characters are letters, and %d%% of the words in one half of a sample are in the other", w.percent(w.letters, w.signs), w.percent(w.known, w.looked))}
	case w.hasWords():
		reason = fmt.Sprintf("there are too few texts to learn words from: only %d%% of the words in one half of a sample are in the other", w.percent(w.known, w.looked))
	}
	return Choice{"byte", json.RawMessage(`{"type":"byte"}`), reason}
}

// nearlyAll reports whether at most one text in a hundred is of another kind.
func nearlyAll(texts []string, is func(string) bool) bool {
	others := len(texts) - count(texts, is)
	return len(texts) > 0 && others*100 <= len(texts)
}

// count returns the number of texts of a kind.
func count(texts []string, is func(string) bool) (n int) {
	for _, text := range texts {
		if is(text) {
			n++
		}
	}
	return n
}

// HeaderWAV is the number of bytes that [IsWAV] needs.
const HeaderWAV = 12

// IsWAV reports whether a text is a RIFF file of audio, by its first [HeaderWAV] bytes.
func IsWAV(text string) bool {
	return len(text) >= HeaderWAV && text[:4] == "RIFF" && text[8:HeaderWAV] == "WAVE"
}

// isSeries reports whether a text is a list of numbers with at least one decimal point: integers
// may be ids.
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

// minBases keeps short words such as "a" or "tag" from being taken for DNA.
const minBases = 12

// isDNA reports whether a text consists of bases, and has too many of them to be a word.
func isDNA(text string) bool {
	n, dna := bases(text)
	return dna && n >= minBases
}

// hasBases reports whether a text consists of bases, of any number.
func hasBases(text string) bool {
	_, dna := bases(text)
	return dna
}

// bases counts the bases of a text, and reports whether it consists of bases only: nine in ten are
// A, C, G, T, U or N, and every character is a valid code. Proteins have more letters than that.
func bases(text string) (n int, alone bool) {
	plain := 0
	for i := range len(text) {
		switch v := baseValues[text[i]]; {
		case v == otherByte:
			return n, false
		case v != noBase:
			n++
			if v < openBase || text[i]|0x20 == 'n' {
				plain++
			}
		}
	}
	return n, n > 0 && plain*10 >= n*9
}

// wordCount has statistics of the words of texts.
type wordCount struct {
	words          int // runs of letters and digits
	signs, letters int // characters except white space, and the letters among them
	looked, known  int // words of one half of the texts, and those that also occur in the other half
}

// The criteria of prose. Of film reviews 96% of the characters are letters, and 96% of the words
// recur; of ListOps, programs and logs fewer than 70% are letters. Languages without spaces have
// words as long as sentences, which do not recur.
const (
	minWords    = 2000
	minLetters  = 80 // percent
	minRepeated = 75 // percent
	longestMean = 12 // letters on average; longer ones are sentences without spaces, or proteins
)

func (w *wordCount) prose() bool {
	return w.mostlyLetters() && w.percent(w.known, w.looked) >= minRepeated
}

// hasWords reports whether the texts consist of words, whether or not these recur.
func (w *wordCount) hasWords() bool { return w.mostlyLetters() && w.letters <= longestMean*w.words }

func (w *wordCount) mostlyLetters() bool { return w.percent(w.letters, w.signs) >= minLetters }

func (*wordCount) percent(part, whole int) int { return 100 * part / max(1, whole) }

// countWords reads all texts. It looks for the words of every other text in the remaining ones.
func countWords(texts []string) (w wordCount) {
	known := map[string]bool{}
	for i, text := range texts {
		for _, r := range text {
			if !unicode.IsSpace(r) {
				w.signs++
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
				w.looked++
				if known[word] {
					w.known++
				}
			})
		}
	}
	return w
}
