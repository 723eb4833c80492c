package baseline

import (
	"context"
	"hash/fnv"

	"github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// Names of the models that count.
const (
	TokenNGrams = "token n-grams, logistic regression"
	WordNGrams  = "word n-grams, logistic regression"
	Cosine      = "cosine of bags of tokens and neighbours"
	WordsCosine = "TF-IDF cosine of words"
)

// counted is what of a row goes into a bag, or has n-grams.
type counted struct {
	name, cosine string // the models' names
	tokens       int64  // tokens for each that is counted, about
	of           func(tokens []int32) []int32
	words        bool
	units        string  // units of n-grams
	rate         float64 // learning rate of the linear model; 0 is the default of the units
}

var (
	tokensThemselves = counted{TokenNGrams, Cosine, 1, asTheyAre, false, ngram.Tokens, 0}
	bytesThemselves  = counted{TokenNGrams, Cosine, 1, asTheyAre, false, ngram.Bytes, 0}
	wordTokens       = counted{WordNGrams, WordsCosine, 1, asTheyAre, true, ngram.Tokens, linear.WordsRate}
	wordsOfBytes     = counted{WordNGrams, WordsCosine, bytesOfWord, hashedWords, true, ngram.Words, 0}
)

func asTheyAre(tokens []int32) []int32 { return tokens }

// Of prose a word takes some five bytes with the space behind it. Where words are much
// longer, as in DNA or in languages that write no spaces, hardly one comes again.
const (
	bytesOfWord = 4
	longWord    = 16
	fewWords    = 2       // words of a text: of names, each a word of its own, hardly one comes again
	tried       = 1 << 16 // bytes of training that show which it is
)

// countedOf is words where tokens are, or where text is stored as bytes and has some;
// otherwise tokens, or bytes.
func countedOf(ctx context.Context, set *seq.Dataset, tokenizer string) (counted, error) {
	switch tokenizer {
	case new(tokenizers.Words).Type():
		return wordTokens, nil
	case tokenizers.Byte{}.Type():
	default:
		return tokensThemselves, nil
	}
	bytes, words, sequences := 0, 0, 0
	w := &work{ctx: ctx, set: set}
	_, err := w.read("train", 0, tried, func(rows []seq.Example) {
		for _, e := range rows {
			bytes += e.Length()
			words += len(hashedWords(e.A)) + len(hashedWords(e.B))
			if sequences++; e.B != nil {
				sequences++
			}
		}
	})
	if bytes > longWord*words || words < fewWords*sequences {
		return bytesThemselves, err
	}
	return wordsOfBytes, err
}

// hashedWords cuts bytes into words as the tokenizer of words does. Each becomes a hash.
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
