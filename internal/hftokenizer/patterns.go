package hftokenizer

import (
	"sync"

	"github.com/dlclark/regexp2/v2"
)

// A tokenizer.json may contain any regular expression of Oniguruma. This package accepts only
// expressions whose matches have been compared with those of Hugging Face's library on all characters of
// Unicode: regexp engines differ in their digits, word characters and case folding, and an arbitrary
// expression may not terminate in reasonable time.

// gpt2 is the expression with which ByteLevel splits text.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// contraction is the library's case-insensitive expression, in which a long s (ſ) matches s.
// contractionRegexp2 is the equivalent for regexp2, whose case folding does not match ſ and s.
const (
	contraction        = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	contractionRegexp2 = `(?:'[sSſ]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`
)

// Parts that several expressions share.
const (
	letterWords     = `[^\r\n\p{L}\p{N}]?\p{L}+`
	upperThenLower  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`
	upperOnly       = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`
	symbolsAndLines = ` ?[^\s\p{L}\p{N}]+[\r\n]*`
	symbolsAndPaths = ` ?[^\s\p{L}\p{N}]+[\r\n/]*`
	lines           = `\s*[\r\n]+|\s+(?!\S)|\s+`
	deepSeek        = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)

// patterns maps the supported expressions to equivalent expressions for regexp2.
var patterns = map[string]string{
	gpt2: gpt2,
	// cl100k and Llama 3; Qwen 2 and 3
	contraction + `|` + letterWords + `|\p{N}{1,3}|` + symbolsAndLines + `|` + lines: contractionRegexp2 + `|` +
		letterWords + `|\p{N}{1,3}|` + symbolsAndLines + `|` + lines,
	contraction + `|` + letterWords + `|\p{N}|` + symbolsAndLines + `|` + lines: contractionRegexp2 + `|` +
		letterWords + `|\p{N}|` + symbolsAndLines + `|` + lines,
	// o200k
	upperThenLower + contraction + `?|` + upperOnly + contraction + `?|\p{N}{1,3}|` + symbolsAndPaths + `|` +
		lines: upperThenLower + contractionRegexp2 + `?|` + upperOnly + contractionRegexp2 + `?|\p{N}{1,3}|` +
		symbolsAndPaths + `|` + lines,
	// Mistral's Tekken
	upperThenLower + `|` + upperOnly + `|\p{N}|` + symbolsAndPaths + `|` + lines: upperThenLower + `|` + upperOnly +
		`|\p{N}|` + symbolsAndPaths + `|` + lines,
	// DeepSeek V3
	`\p{N}{1,3}`:   `\p{N}{1,3}`,
	`[一-龥぀-ゟ゠-ヿ]+`: `[一-龥぀-ゟ゠-ヿ]+`,
	deepSeek:       deepSeek,
	// words of this project's own tokenizers
	`[\p{L}\p{Nd}\p{M}]+|[^\p{L}\p{Nd}\p{M}\s]`: `[\p{L}\p{Nd}\p{M}]+|[^\p{L}\p{Nd}\p{M}\s]`,
}

// compiled caches compiled expressions by their text.
var compiled sync.Map

// expression returns the compiled equivalent of a file's expression, or nil if the expression is not
// supported.
func expression(pattern string) *regexp2.Regexp {
	translated, ok := patterns[pattern]
	if !ok {
		return nil
	}
	if e, ok := compiled.Load(translated); ok {
		return e.(*regexp2.Regexp)
	}
	e, _ := compiled.LoadOrStore(translated, regexp2.MustCompile(translated))
	return e.(*regexp2.Regexp)
}
