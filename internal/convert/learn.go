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

// learnTokenizer creates the tokenizer from its JSON, and learns it from rows if necessary. Without
// JSON, it chooses a tokenizer that suits the first rows.
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

// learn learns the tokenizer from the rows of the training split. The conversion reads the files again.
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
	round := c.options.TokenizerRounds
	if round == nil {
		round = func(int, int) {}
	}
	spec, err := learner.Learn(ctx, round)
	column := c.options.SplitColumn
	switch {
	case err != nil && read == 0 && c.firstUnreadable != nil:
		return fmt.Errorf("%w (no row of %s is readable)", c.firstUnreadable, strings.Join(c.options.From, ", "))
	case err != nil:
		details := strings.TrimRight("\n"+c.skipped.String(), "\n") // a note on missing columns may explain the error
		if c.firstUnreadable != nil {
			details += "\nfirst unreadable row: " + c.firstUnreadable.Error()
		}
		if c.firstUnsuitable != nil {
			details += "\nthe tokenizer cannot learn from " + c.firstUnsuitable.Error()
		}
		if trained == 0 && column != "" {
			flag := "--split-column " + column
			if c.options.SplitPattern != nil {
				flag += " with --split-pattern"
			}
			return fmt.Errorf("%s: expected the split train for some of the %d rows of %s, found it for none%s", flag,
				read, strings.Join(c.options.From, ", "), details)
		}
		return fmt.Errorf("tokenizer: %w: %d of %d rows of %s are in the training split%s", err, trained,
			read, strings.Join(c.options.From, ", "), details)
	}
	c.options.Tokenizer = spec
	return nil
}

// learnFile passes the training texts of a file to learner. n holds the number of readable rows and
// the number of training rows among them.
func (c *converter) learnFile(ctx context.Context, learner tokenizers.Learner, path string) (n [2]int, err error) {
	t, err := table.Open(ctx, path, c.tableOptions(c.options.TokenizerProgress))
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
		if c.joinWords(&row); row.Err != nil {
			if c.firstUnreadable == nil {
				c.firstUnreadable = fmt.Errorf("%s: %w", row.Position(), row.Err)
			}
			continue
		}
		n[0]++
		if split, reason := w.split(&row); reason == nil && split == "train" {
			n[1]++
			for _, v := range c.texts(&row) {
				if err := learner.Add(v.Text); err != nil && c.firstUnsuitable == nil {
					c.firstUnsuitable = fmt.Errorf("%s: %w", row.Position(), err)
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
