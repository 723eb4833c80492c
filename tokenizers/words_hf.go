package tokenizers

import (
	"encoding/json"
	"unicode"
)

// wordsPattern is the expression of a word or another character in a tokenizer.json.
const wordsPattern = `[\p{L}\p{Nd}\p{M}]+|[^\p{L}\p{Nd}\p{M}\s]`

// TokenizerJSON returns the tokenizer in the format of Hugging Face's tokenizer.json, whose ids are those of Encode.
//
// Its normalizer lowers every character, and ours only those of words. Signs that have a lower case, such as Ⓐ, are
// therefore replaced before by characters for private use, if one of the two is in the vocabulary.
func (t *Words) TokenizerJSON() ([]byte, error) {
	type stage map[string]any
	replace := func(old, with string) stage {
		return stage{"type": "Replace", "pattern": stage{"String": old}, "content": with}
	}
	// Σ is replaced because JavaScript lowers the last one of a word to another letter.
	normalizers := []stage{replace("İ", "i"), replace("Σ", "σ")}
	vocab := map[string]int32{"[PAD]": 0, "[UNK]": unknownWord}
	for word, id := range t.ids {
		vocab[word] = id
	}
	private := t.private()
	var unused string
	for _, char := range charsWithCase() {
		upper, lower := string(char), string(unicode.ToLower(char))
		if _, hasLower := t.ids[lower]; !hasLower && t.ids[upper] == 0 {
			continue // both are unknown
		}
		if unused == "" {
			unused = private()
		}
		own := private()
		normalizers = append(normalizers, replace(own, unused), replace(upper, own))
		if id, ok := t.ids[upper]; ok {
			delete(vocab, upper)
			vocab[own] = id
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

// private returns a function that returns characters for private use that are not in the vocabulary.
func (t *Words) private() func() string {
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

// charsWithCase are the characters that have a lower case and are not part of words.
func charsWithCase() (signs []rune) {
	for _, table := range []*unicode.RangeTable{unicode.So, unicode.Nl} {
		for _, x := range table.R16 {
			for r := rune(x.Lo); r <= rune(x.Hi); r += rune(x.Stride) {
				if unicode.ToLower(r) != r {
					signs = append(signs, r)
				}
			}
		}
	}
	return signs
}
