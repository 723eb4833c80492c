package lra

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// review is a review of IMDb and its position in the release.
type review struct {
	train    bool
	positive bool
	number   int // index of the review's film in the list of films
	text     []byte
	file     string // path in the release, such as train/pos/0_9.txt
}

// label returns 1 for a positive review and 0 for a negative review.
func (r *review) label() int32 {
	if r.positive {
		return 1
	}
	return 0
}

// imdb collects the reviews and the lists of films.
type imdb struct {
	from    string
	reviews []review
	films   map[bool][]string // film of each training review; the key is true for positive reviews
}

var (
	reviewName = regexp.MustCompile(`(?:^|/)(train|test)/(pos|neg)/(\d{1,9})_\d+\.txt$`)
	filmsName  = regexp.MustCompile(`(?:^|/)train/urls_(pos|neg)\.txt$`)
)

// maxReview is the maximum size of a review in bytes. The longest real review has 13,704 bytes.
const maxReview = 1 << 20

// validationFilms is the fraction of films whose training reviews become the validation split.
const validationFilms = 0.1

// convertText converts IMDb's release, a directory or an archive.
func convertText(ctx context.Context, spec seq.Spec, from, dir string, options ConvertOptions) (*seq.Dataset, error) {
	if options.Split != "" {
		return nil, errSplitOfDirectory(from, options.Split)
	}
	options.begin(SizeBelow(from))
	spec.IDs = true
	b, err := seq.CreateDataset(dir, spec, options.Replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	data := imdb{from: from, films: map[bool][]string{}}
	if err := walkFiles(ctx, from, options.Progress, data.read); err != nil {
		return nil, err
	}
	splits, err := data.splits()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"train", "val", "test"} {
		if err := writeSplit(b, name, data.rows(splits[name])); err != nil {
			return nil, err
		}
	}
	return b.Finish(map[string]any{"source": from,
		"validation": "training reviews of the films for which SHA-256(URL) / 2^256 is below 0.1"})
}

// read adds the content of a file. It ignores files other than labelled reviews and lists of films.
func (d *imdb) read(name string, r io.Reader) error {
	films, parts := filmsName.FindStringSubmatch(name), reviewName.FindStringSubmatch(name)
	if films == nil && parts == nil {
		return nil
	}
	limit := int64(maxReview)
	if films != nil {
		limit = 64 * maxReview
	}
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return fmt.Errorf("%s: %s: %w", d.from, name, err)
	}
	if int64(len(text)) > limit {
		return fmt.Errorf("%s: %s: expected at most %d bytes", d.from, name, limit)
	}
	if films != nil {
		if d.films[films[1] == "pos"] != nil {
			return fmt.Errorf("%s: %s: expected one list of films, found a second", d.from, name)
		}
		d.films[films[1] == "pos"] = strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		return nil
	}
	if len(text) == 0 {
		return fmt.Errorf("%s: %s: the review is empty", d.from, name)
	}
	number, _ := strconv.Atoi(parts[3])
	d.reviews = append(d.reviews, review{parts[1] == "train", parts[2] == "pos", number, text,
		strings.TrimPrefix(parts[0], "/")})
	return nil
}

// splits returns the reviews of each split. It sorts them, because an archive may have its files in
// any order.
func (d *imdb) splits() (map[string][]review, error) {
	slices.SortFunc(d.reviews, func(a, b review) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.label(), b.label()), cmp.Compare(a.file, b.file))
	})
	for i := range d.reviews {
		if i > 0 && d.reviews[i].file == d.reviews[i-1].file {
			return nil, fmt.Errorf("%s: %s: duplicate review", d.from, d.reviews[i].file)
		}
	}
	splits := map[string][]review{}
	for _, r := range d.reviews {
		split := "test"
		if r.train {
			films := d.films[r.positive]
			if r.number >= len(films) {
				polarity := "neg"
				if r.positive {
					polarity = "pos"
				}
				return nil, fmt.Errorf("%s: train/urls_%s.txt: expected the film of review %d, found %d films", d.from,
					polarity, r.number, len(films))
			}
			split = "train"
			if fractionOf(strings.TrimSuffix(films[r.number], "\r")) < validationFilms {
				split = "val"
			}
		}
		splits[split] = append(splits[split], r)
	}
	for _, name := range []string{"train", "val", "test"} {
		if len(splits[name]) == 0 {
			return nil, fmt.Errorf("%s: no reviews for the split %s: expected train/pos, train/neg, test/pos and test/neg with files such as 0_9.txt", d.from, name)
		}
	}
	return splits, nil
}

// rows returns the rows of reviews.
func (d *imdb) rows(reviews []review) rows {
	return func(yield func(seq.Example, error) bool) {
		for _, r := range reviews {
			tokens, err := tokenizers.Byte{}.Encode(string(r.text))
			if !yield(seq.Example{A: tokens, Label: r.label(), ID: r.file}, err) {
				return
			}
		}
	}
}

// fractionOf returns the first 64 bits of a text's SHA-256 as a number in [0, 1).
func fractionOf(text string) float64 {
	sum := sha256.Sum256([]byte(text))
	return float64(binary.BigEndian.Uint64(sum[:])) / (1 << 64)
}
