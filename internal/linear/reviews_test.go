package linear_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
)

// TestReviews checks that the default model of words has an accuracy of at least 91.5% on IMDb's
// official test split.
func TestReviews(t *testing.T) {
	testenv.Long(t, "converts a whole data set")
	testenv.NoRace(t, "other tests cover the same code with fewer rows")
	archive := filepath.Join(testenv.NeedData(t, "imdb"), "aclImdb_labeled.tar.gz")
	set := must.Get(lra.Text.Convert(context.Background(), archive, t.TempDir(), lra.ConvertOptions{}))(t)
	spec := set.Spec()
	start := time.Now()
	open := func(split string) *seq.File { return must.Get(set.Open(split))(t) }
	words := ngram.Options{Units: ngram.Words, MinN: 1, MaxN: 3, Slots: 1 << 22, MinCount: 2}
	config := must.Get(linear.NewConfig(&spec, words))(t)
	m, report := must.Get2(linear.Fit(context.Background(), config, open("train"), open("val"),
		linear.Options{Seed: 1}))(t)
	took := time.Since(start)
	test, rows := open("test"), []seq.Example{}
	for i := range test.Len() {
		rows = append(rows, must.Get(test.Example(i))(t))
	}
	start = time.Now()
	p, right := m.NewPredictor(), 0
	for i := range rows {
		if z := p.Logits(&rows[i]); z[1] > z[0] == (rows[i].Label == 1) {
			right++
		}
	}
	got := float64(right) / float64(len(rows))
	rate := float64(len(rows)) / time.Since(start).Seconds()
	t.Logf("%d features, %+v, %v; accuracy %.4f, %.0f rows/s on one thread", m.Features(), report, took, got, rate)
	if got < 0.915 {
		t.Errorf("accuracy %.4f, want at least 0.915", got)
	}
}

// TestFilmPairs checks that the model of pairs has an accuracy of at least 86.5% on the test split
// of film pairs.
func TestFilmPairs(t *testing.T) {
	testenv.Long(t, "converts a whole data set")
	testenv.NoRace(t, "other tests cover the same code with fewer rows")
	dir := testenv.NeedData(t, "imdb")
	set := must.Get(lra.Retrieval.Convert(context.Background(), dir, t.TempDir(),
		lra.ConvertOptions{Documents: filepath.Join(dir, "aclImdb_labeled.tar.gz")}))(t)
	spec := set.Spec()
	open := func(split string) *seq.File { return must.Get(set.Open(split))(t) }
	words := ngram.Options{Units: ngram.Words, MinN: 1, MaxN: 3, Slots: 1 << 22, MinCount: 2}
	m, report := must.Get2(linear.Fit(context.Background(), must.Get(linear.NewConfig(&spec, words))(t), open("train"),
		open("val"), linear.Options{Seed: 1}))(t)
	test, p, right := open("test"), m.NewPredictor(), 0
	for i := range test.Len() {
		e := must.Get(test.Example(i))(t)
		if z := p.Logits(&e); z[1] > z[0] == (e.Label == 1) {
			right++
		}
	}
	got := float64(right) / float64(test.Len())
	t.Logf("%d features, %+v, accuracy %.4f", m.Features(), *report.Pairs, got)
	if got < 0.865 {
		t.Errorf("accuracy %.4f, want at least 0.865", got)
	}
}
