package baseline

import (
	"context"
	"hash/fnv"

	"github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// Names of the baselines on n-grams and bags.
const (
	TokenNGrams = "token n-grams, logistic regression"
	WordNGrams  = "word n-grams, logistic regression"
	Cosine      = "cosine of token unigrams and bigrams"
	WordsCosine = "TF-IDF cosine of words"
)

// counted describes the units of a row that are counted in a bag or as n-grams.
type counted struct {
	name, cosine string // names of the n-gram baseline and of the cosine baseline
	tokens       int64  // approximate tokens per unit
	unitsOf      func(tokens []int32) []int32
	words        bool
	units        string  // units of n-grams
	rate         float64 // learning rate of the linear model; 0 means the default for the units
}

var (
	tokenUnits    = counted{TokenNGrams, Cosine, 1, identity, false, ngram.Tokens, 0}
	byteUnits     = counted{TokenNGrams, Cosine, 1, identity, false, ngram.Bytes, 0}
	wordUnits     = counted{WordNGrams, WordsCosine, 1, identity, true, ngram.Tokens, linear.WordsRate}
	byteWordUnits = counted{WordNGrams, WordsCosine, bytesOfWord, hashedWords, true, ngram.Words, 0}
)

func identity(tokens []int32) []int32 { return tokens }

// A word of prose has about five bytes, including the space. Much longer words, as in DNA or
// languages without spaces, hardly recur.
const (
	bytesOfWord = 4       // bytes per word, a low estimate; scales the limits of tokens
	longWord    = 16      // maximum mean bytes per word
	fewWords    = 2       // minimum mean words per text; single words, such as names, hardly recur
	probeBytes  = 1 << 16 // maximum bytes of the training split that countedOf reads to choose the units
)

// countedOf returns words as units if tokens are words or if the stored bytes are text with words.
// Otherwise it returns tokens as units.
func countedOf(ctx context.Context, set *seq.Dataset, tokenizer string) (counted, error) {
	switch tokenizer {
	case new(tokenizers.Words).Type():
		return wordUnits, nil
	case tokenizers.Byte{}.Type():
	default:
		return tokenUnits, nil
	}
	bytes, words, sequences := 0, 0, 0
	w := &work{ctx: ctx, set: set}
	_, err := w.read("train", seq.Window{}, probeBytes, func(rows []seq.Example) {
		for _, e := range rows {
			bytes += e.Length()
			words += len(hashedWords(e.A)) + len(hashedWords(e.B))
			if sequences++; e.B != nil {
				sequences++
			}
		}
	})
	if bytes > longWord*words || words < fewWords*sequences {
		return byteUnits, err
	}
	return byteWordUnits, err
}

// hashedWords splits bytes into words as the tokenizer of words does, and returns a hash per word.
func hashedWords(tokens []int32) []int32 {
	var out []int32
	h := fnv.New32a()
	tokenizers.EachWord(tokenizers.Byte{}.Decode(tokens), func(word string) {
		h.Reset()
		_, _ = h.Write([]byte(word)) // it never fails
		out = append(out, int32(h.Sum32()))
	})
	return out
}
