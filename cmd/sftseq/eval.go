package main

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

func evalCommand() *cli.Command {
	return &cli.Command{
		Name:  "eval",
		Usage: "measure a model on labelled sequences",
		UsageText: `sftseq eval --model DIR --data FILE|DIR [flags]

Example: sftseq eval --model runs/listops --data data/listops
         sftseq eval --model runs/reviews --data data/reviews --split val --errors wrong.csv`,
		Description: `Reads an Arrow file or stream, or a split of a data set directory, batch by batch
and reports accuracy, its mean over the classes, loss, macro F1, the area under the ROC curve (AUC;
of more than two classes the mean of each against the rest), the expected
calibration error over 15 bins, accuracy by length, precision, recall and F1 of each
class, and the confusion matrix. Of more than 20 classes those with the least F1 and
those with the most rows are printed; --json has all. Beside the accuracy it says what
simple models reach, where data convert has measured them.

Of a model that says whether two documents belong together (two classes), it also
reports how far in front the right ones stand: each query, the first document of a
pair of class 1, ranks all others of the file, and the mean reciprocal rank (MRR) and
recall@k say where those of its pairs of class 1 are, beside what is expected of any
order. Of more than --queries of them a sample is ranked, always the same.

Of a model of sftseq pretrain it reports with how many bits a masked token is told, beside
what the frequencies of the tokens of the training split need; the same tokens are masked
whenever it is asked.

Of a model of a regression it reports, for each number and in its own unit, the mean
absolute error (MAE; of several numbers also its mean), the root of the mean squared error (RMSE) and the coefficient of
determination (R²: 1 is exact, 0 is what the mean of the rows reaches), beside what the
mean of the training split reaches.

Of a model of several labels a row it reports micro F1 (of all pairs of a row and a label at
once), macro F1 (the mean of the labels), both with the thresholds that training chose on the
validation split, the mean average precision, how many rows have all labels right, and
precision, recall, F1 and average precision of each label, beside what the frequencies of the
labels in the training split reach.
Of a model of tagging it reports the accuracy of tokens, macro F1 over the tags and the F1 of
spans, all and by type (start, end and type must be right), beside what the most frequent tag
of each token of the training split reaches. Tokens with features make no spans. Where all tags
are called CATEGORY/PART it reports the accuracy of points and the intersection over union (IoU)
of parts, among the parts of each row's category: the mean over rows (instance IoU) and over
categories (class IoU).

--errors writes a row for each that is answered wrong: the id that it has in the data
set (data convert --id), if rows have any there, its number from 0, its label, the class predicted, and a
probability for each class. Of several labels a row it has the 1000 rows with the most
labels wrong, the largest loss first among equals; of numbers the 1000 rows that are
furthest off, in deviations of the training split; of tagging each span that is missed or
answered wrongly, with its place in tokens and its text, or each token with features.

With --shard I/N --output DIR shard I of N, from 0 to N-1, of the rows is scored into the
part DIR/part-0000I-of-0000N.arrow (id, row, length and the label and logits; of several labels
a row labels and logits, of numbers numbers and logits, of tagging labels, tags and loss, and tags among the
parts of the category), which appears when it is
complete and is left as it is when it is there. Then --verify --output DIR reports on all
parts what one run reports, but for rankings and simple models, or lists those that are
missing. Without --shard a Slurm array or a Kubernetes Indexed Job says which. With
--on-error column a row that cannot be measured is kept with an error, and the exit status
is 0.`,
		Flags: append(append(append(modelFlags(modelsFlag()), rankFlags()...),
			&cli.StringFlag{Name: "data", Usage: "labelled `FILE|DIR` (required)", TakesFile: true},
			&cli.StringFlag{Name: "split", Value: "test", Usage: "of a data set, the split `NAME`"},
			&cli.IntFlag{Name: "queries", Value: defaultQueries, Usage: "rank the documents of pairs for `N` queries; 0 is none, and keeps no document"},
			&cli.StringFlag{Name: "errors", Usage: "write the rows that are answered wrong to `FILE`: .jsonl, .csv, .tsv, .parquet or .arrow", TakesFile: true},
			&cli.StringFlag{Name: "output", Usage: "`DIR` of the parts of shards", TakesFile: true},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
		), shardFlags()...),
		Action: together(eval),
	}
}

func eval(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return usageError{err}
	}
	if c.Bool("verify") || c.IsSet("shard") || c.IsSet("on-error") || c.IsSet("output") {
		return evalShards(c)
	}
	if c.String("data") == "" {
		return usage(c, "--data is missing, an Arrow file or a data set directory was expected")
	}
	if info, err := os.Stat(c.String("data")); c.IsSet("split") && (err != nil || !info.IsDir()) {
		return usage(c, "--split %s: expected --data to be a data set directory, found %s", c.String("split"), c.String("data"))
	}
	queries := c.Int("queries")
	if queries < 0 {
		return usage(c, "--queries %d, expected 0 or more", queries)
	}
	single := ""
	if c.IsSet("queries") && queries > 0 { // documents are ranked by embeddings, which are of one model
		single = "--queries"
	}
	m, err := loadModels(c, single)
	if err != nil {
		return err
	}
	if m.Config.Task == sft.FillMask {
		return evalMasked(c, m)
	}
	if m.Config.Tags() {
		return evalTags(c, m)
	}
	if m.Config.Predicts() {
		return evalNumbers(c, m)
	}
	if m.Config.LabelsHold() {
		return evalLabels(c, m)
	}
	trained := trainedIn(c.String("model")) // now: a run that goes on has other weights later
	if !evaluation.CanRank(m.Config) {
		if c.IsSet("queries") && queries > 0 {
			return usage(c, "--queries %d: the model %s is of task %s with %d classes, expected %s with 2",
				queries, c.String("model"), m.Config.Task, m.Config.NumLabels, sft.Retrieval)
		}
		queries = 0
	}
	if !m.alone() {
		queries = 0
	}
	in, path, total, err := testData(c.String("data"), c.String("split"))
	if err != nil {
		return err
	}
	defer in.Close()
	if err := fits(m.Config, in.Spec()); err != nil {
		return fmt.Errorf("%s does not fit the model %s: %w", path, c.String("model"), err)
	}
	scorer, release, err := openScorer(c, m)
	if err != nil {
		return err
	}
	defer release()
	ranks := ranksOf(c)
	if err := ranks.compare(scorer, path); err != nil {
		return err
	}
	var wrong *evalErrors
	if ranks.first() {
		if wrong, err = newEvalErrors(c, m.Config, path, in.Spec()); err != nil {
			return err
		}
	}
	score, embed := ranks.scoring(scorer)
	tally := metrics.NewTally(m.Config.NumLabels)
	e := &evaluation.Evaluation{Name: path, Scorer: scorer, Score: score, Measure: evaluation.Classes{Tally: tally}}
	defer wrong.abort()
	e.Seen = wrong.seen()
	documents := evaluation.NewDocuments(scorer, embed)
	if queries > 0 {
		e.Score = documents.Score
	}
	p := newProgress(total, "evaluating", "rows")
	err = e.Run(c.Context, in, p.Add)
	p.Finish()
	if err != nil {
		return err
	}
	r := tally.Report()
	if r == nil {
		return fmt.Errorf("%s: no rows, at least 1 was expected", path)
	}
	result := newEvalResult(evaluated{Model: c.String("model"), Data: path, trained: trained}, r, m.Config.LabelNames)
	if path != c.String("data") {
		result.Split = c.String("split")
	}
	if result.Ranking, err = rank(c.Context, documents, queries); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := wrong.commit(c); err != nil {
		return err
	}
	result.Baseline = testBaseline(c, c.String("data"), c.String("split"))
	return show(c, result, result.write)
}

// testData opens the file that --data stands for, and says its rows where known.
func testData(path, split string) (in *seq.Reader, file string, rows int64, err error) {
	if err := refuseTable(path); err != nil {
		return nil, "", 0, fmt.Errorf("--data %w", err)
	}
	if info, err := os.Stat(path); path == "-" || err != nil || !info.IsDir() {
		in, err = seq.Open(path)
		return in, path, 0, err
	}
	set, err := seq.OpenDataset(path)
	if err != nil {
		return nil, "", 0, err
	}
	if file, err = set.Path(split); err != nil {
		return nil, "", 0, err
	}
	in, err = set.Reader(split)
	return in, file, set.Manifest.Splits[split].Rows, err
}

// testBaseline is what simple models reach on the rows that --data stands for, where its
// conversion has measured them.
func testBaseline(c *cli.Context, path, split string) *baseline.Result {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil
	}
	set, err := seq.OpenDataset(path)
	if err != nil {
		return nil // the rows have been read: it was replaced meanwhile
	}
	return storedBaseline(c, set, split, leftOut)
}

// defaultQueries is how many queries are ranked: with a thousand, a share has a
// standard error of at most 1.6%, and documents of a few hundred tokens take longer to
// be encoded than to be ranked.
const defaultQueries = 1000

// rank ranks documents, with progress.
func rank(ctx context.Context, documents *evaluation.Documents, queries int) (*metrics.Ranking, error) {
	var p *progress
	r, err := documents.Rank(ctx, queries, func(n int) func() {
		p = newProgress(int64(n), "ranking", "queries")
		return func() { p.Add(1) }
	})
	if p != nil {
		p.Finish()
	}
	return r, err
}
