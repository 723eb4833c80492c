package tokenizers

import (
	"encoding/json"
	"maps"
	"unicode"
)

// wordsPattern is the regular expression in tokenizer.json for a word, or for a single character that is neither in a
// word nor white space.
const wordsPattern = `[\p{L}\p{Nd}\p{M}]+|[^\p{L}\p{Nd}\p{M}\s]`

// TokenizerJSON returns the tokenizer in the format of Hugging Face's tokenizer.json. The ids equal
// those of Encode.
//
// Hugging Face's normalizer converts every character to lower case; Encode converts only the
// characters of words. Other characters with a lower case, such as Ⓐ, are therefore first replaced
// by private-use characters, if either case is in the vocabulary.
func (t *Words) TokenizerJSON() ([]byte, error) {
	type stage map[string]any
	replace := func(old, with string) stage {
		return stage{"type": "Replace", "pattern": stage{"String": old}, "content": with}
	}
	// Σ is replaced because JavaScript has another lower case for a Σ at the end of a word.
	normalizers := []stage{replace("İ", "i"), replace("Σ", "σ")}
	vocab := map[string]int32{"[PAD]": 0, "[UNK]": unknownWord}
	maps.Copy(vocab, t.ids)
	unusedCharacter := t.unusedCharacters()
	var unused string
	for _, char := range charsWithCase() {
		upper, lower := string(char), string(unicode.ToLower(char))
		if _, hasLower := t.ids[lower]; !hasLower && t.ids[upper] == 0 {
			continue // both cases are unknown words
		}
		if unused == "" {
			unused = unusedCharacter()
		}
		substitute := unusedCharacter()
		normalizers = append(normalizers, replace(substitute, unused), replace(upper, substitute))
		if id, ok := t.ids[upper]; ok {
			delete(vocab, upper)
			vocab[substitute] = id
		}
	}
	return json.MarshalIndent(map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": []any{},
		"normalizer": stage{"type": "Sequence", "normalizers": append(normalizers, stage{"type": "Lowercase"})},
		"pre_tokenizer": stage{"type": "Split", "pattern": stage{"Regex": wordsPattern}, "behavior": "Removed",
			"invert": true},
		"post_processor": nil, "decoder": nil,
		"model": stage{"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
	}, "", " ")
}

// unusedCharacters returns a function that returns another private-use character on each call. The
// characters are not in the vocabulary.
func (t *Words) unusedCharacters() func() string {
	const last = '\U0010FFFD'
	next := last + 1
	return func() string {
		for {
			next--
			if _, used := t.ids[string(next)]; !used {
				return string(next)
			}
		}
	}
}

// charsWithCase returns the symbols and letter numbers that have a lower case. Each is a word of its
// own.
func charsWithCase() (chars []rune) {
	for _, table := range []*unicode.RangeTable{unicode.So, unicode.Nl} {
		for _, x := range table.R16 {
			for r := rune(x.Lo); r <= rune(x.Hi); r += rune(x.Stride) {
				if unicode.ToLower(r) != r {
					chars = append(chars, r)
				}
			}
		}
	}
	return chars
}
