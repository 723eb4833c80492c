package convert

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/tokenizers"
)

// learnTokenizer makes the tokenizer from its JSON, and learns it from rows if necessary. Without
// JSON it chooses a tokenizer by looking at rows.
func (c *converter) learnTokenizer(ctx context.Context) error {
	if c.options.Tokenizer == nil {
		if err := c.chooseTokenizer(ctx); err != nil {
			return err
		}
	}
	learner, err := tokenizers.NewLearner(c.options.Tokenizer)
	if err == nil && learner != nil {
		err = c.learn(ctx, learner)
	}
	if err != nil {
		return err
	}
	c.tokenizer, err = tokenizers.New(c.options.Tokenizer)
	return err
}

// learn reads the rows of the training split to learn a tokenizer. The conversion reads them again.
func (c *converter) learn(ctx context.Context, learner tokenizers.Learner) error {
	read, trained := 0, 0
	for _, path := range c.options.From {
		if table.ReadOnce(path) {
			return fmt.Errorf("%s: learning a tokenizer reads the rows twice: "+
				"expected a file, found standard input or a pipe", path)
		}
		n, err := c.learnFile(ctx, learner, path)
		if err != nil {
			return err
		}
		read, trained = read+n[0], trained+n[1]
	}
	round := c.options.Learning
	if round == nil {
		round = func(int, int) {}
	}
	spec, err := learner.Learn(ctx, round)
	if err != nil {
		missing := strings.TrimRight("\n"+c.skipped.String(), "\n") // note about columns that no row has
		if c.unread != nil {
			missing += "\nfirst unreadable row: " + c.unread.Error()
		}
		if c.unlearned != nil {
			missing += "\nthe tokenizer cannot learn from " + c.unlearned.Error()
		}
		return fmt.Errorf("tokenizer: %w: %d of %d rows of %s are in the training split%s", err, trained,
			read, strings.Join(c.options.From, ", "), missing)
	}
	c.options.Tokenizer = spec
	return nil
}

// learnFile passes the training texts of a file to learner. It returns the number of readable rows,
// and the number of rows that are for training.
func (c *converter) learnFile(ctx context.Context, learner tokenizers.Learner, path string) (n [2]int, err error) {
	t, err := table.Open(ctx, path, c.table(c.options.Reading))
	if err != nil {
		return n, err
	}
	defer t.Close()
	var row table.Row
	w := worker{converter: c}
	for ctx.Err() == nil {
		err := t.Next(&row)
		if err == io.EOF {
			break
		}
		if err != nil {
			return n, err
		}
		if c.words(&row); row.Err != nil {
			if c.unread == nil {
				c.unread = fmt.Errorf("%s: %w", row.Position(), row.Err)
			}
			continue
		}
		n[0]++
		if split, why := w.split(&row); why == nil && split == "train" {
			n[1]++
			for _, v := range c.texts(&row) {
				if err := learner.Add(v.Text); err != nil && c.unlearned == nil {
					c.unlearned = fmt.Errorf("%s: %w", row.Position(), err)
				}
			}
		}
	}
	return n, ctx.Err()
}

// checkTokens returns a skip reason if a token is outside the vocabulary.
func (c *converter) checkTokens(tokens []int32) *source.SkipReason {
	for i, id := range tokens {
		if id < 0 || int(id) >= c.spec.VocabSize {
			return source.Skip("a token outside the vocabulary",
				fmt.Errorf("index %d: expected 0 to %d, found %d", i, c.spec.VocabSize-1, id))
		}
	}
	return nil
}
