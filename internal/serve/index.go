package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/sftseq/sftseq/internal/index"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/tokenizers"
)

// openIndex opens the index file named by the options, for the server's model.
func (s *Server) openIndex(ctx context.Context) error {
	m := s.current()
	tokenizer := ""
	if text := m.config.Tokenizer; text != nil {
		tokenizer = string(compact(text))
	}
	o := index.Options{Model: m.loaded.Hash, Tokenizer: tokenizer, Size: m.config.HiddenSize}
	if tokenizers.TypeOf(m.config.Tokenizer) == (tokenizers.Byte{}).Type() {
		o.Units = ngram.Words
	}
	if s.options.Reembed {
		last := time.Now()
		o.Progress = func(done, total int) {
			if done == total || time.Since(last) > logEvery {
				last = time.Now()
				s.log.Info("recomputing the index", "items", done, "of", total)
			}
		}
		o.Embed = func(tokens [][]int32) ([][]float32, error) { return m.Scorer.Embeddings(ctx, tokens) }
	}
	o.Failed = func(err error) {
		s.log.Error("the index has failed: searches still work, but changes are refused until the server restarts",
			"error", err)
	}
	var err error
	if s.index, err = index.Open(s.options.Index, o); err != nil {
		return err
	}
	if n, kept := s.index.Dropped(); n > 0 {
		s.log.Warn("dropped the incomplete, unacknowledged last group of the index (usual after a crash)",
			"bytes", n, "kept", kept)
	}
	return nil
}

// logEvery is the minimum time between two log lines about a long operation. The last line is written
// without delay.
const logEvery = 2 * time.Second

// itemID parses the id of an item: a string, or a number, whose text becomes the id.
func itemID(path string, value []byte) (string, error) {
	if value == nil {
		return "", badParam(path, "expected a string or a number, found none")
	}
	var id string
	if value[0] != '"' {
		if value[0] != '-' && (value[0] < '0' || value[0] > '9') {
			return "", badParam(path, "expected a string or a number, found %s", jsonlines.Kind(value))
		}
		id = string(value)
	} else if err := unmarshal(path, value, &id, "a string"); err != nil {
		return "", err
	}
	if len(id) == 0 || len(id) > maxID {
		return "", badParam(path, "expected 1 to %d bytes, found %d", maxID, len(id))
	}
	return id, nil
}

// indexFailed returns the error of a request whose change the index could not store.
func indexFailed(err error) error {
	return fail(codeFailed, nil, "%v", fmt.Errorf("the index: %w", err))
}
