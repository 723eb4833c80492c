package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// pairFile writes random pairs of random documents. Some documents are equal within a window of 12
// tokens. pairFile also returns the pairs truncated to this window, as the model of [windowed] reads them.
func pairFile(t *testing.T, rows, documents int) (path string, read []seq.Example) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, uint64(rows)))
	all := make([][]int32, documents)
	for i := range all {
		all[i] = make([]int32, 3+random.IntN(20))
		for j := range all[i] {
			all[i][j] = 1 + random.Int32N(256)
		}
		if i%10 == 9 { // begins with the same tokens as the previous document
			all[i] = append(slices.Clone(all[i-1][:min(12, len(all[i-1]))]), 5)[:min(13, len(all[i-1])+1)]
		}
	}
	var written []seq.Example
	for range rows {
		e := seq.Example{A: all[random.IntN(documents)], B: all[random.IntN(documents)], Label: random.Int32N(2)}
		written = append(written, e)
		e.A, e.B = e.A[:min(12, len(e.A))], e.B[:min(12, len(e.B))]
		read = append(read, e)
	}
	return writeSequences(t, seq.Spec{Task: seq.Retrieval, VocabSize: 257}, written...), read
}

// windowed returns the directory of a copy of the golden model of pairs, with an input window of 12
// tokens for each sequence.
func windowed(t *testing.T) string {
	return withConfig(t, "retrieval", "input_window", config.InputWindow{Length: 12, Policy: "head"})
}

// rankingOf runs eval and returns the ranking of its report.
func rankingOf(t *testing.T, args ...string) *metrics.Ranking {
	t.Helper()
	r := decode[struct{ Ranking *metrics.Ranking }](t, succeed(t, "", append([]string{"eval", "--json"}, args...)...))
	return r.Ranking
}

// TestEvalRanking compares the MRR and the recall of eval with those computed from predict's scores of each
// query with all documents.
func TestEvalRanking(t *testing.T) {
	path, pairs := pairFile(t, 60, 30)
	model := windowed(t)
	got := rankingOf(t, "--model", model, "--data", path)

	var documents []string
	related := map[string][]string{}
	for _, e := range pairs {
		a, b := fmt.Sprint(e.A), fmt.Sprint(e.B)
		documents = append(documents, a, b)
		if e.Label == 1 && a != b && !slices.Contains(related[a], b) {
			related[a] = append(related[a], b)
		}
	}
	slices.Sort(documents)
	documents = slices.Compact(documents)
	if len(documents) == 30 {
		t.Fatal("no two documents are equal within the window")
	}
	want := metrics.Ranking{Queries: len(related), AllQueries: len(related), Documents: len(documents)}
	var recall [len(metrics.Cutoffs)]float64
	for query, relevant := range related {
		var lines strings.Builder
		for _, d := range documents {
			fmt.Fprintf(&lines, "{\"tokens_a\":%s,\"tokens_b\":%s}\n", strings.ReplaceAll(query, " ", ","),
				strings.ReplaceAll(d, " ", ","))
		}
		score := map[string]float64{}
		for i, r := range replyLines(t, succeed(t, lines.String(), "predict", "--model", model)) {
			score[documents[i]] = float64(r.Logits[1]) - float64(r.Logits[0])
		}
		order := slices.DeleteFunc(slices.Clone(documents), func(d string) bool { return d == query })
		slices.SortFunc(order, func(a, b string) int { return cmp.Compare(score[b], score[a]) })
		for i := range order[1:] {
			if score[order[i]] == score[order[i+1]] {
				t.Fatal("two scores are equal")
			}
		}
		first := slices.IndexFunc(order, func(d string) bool { return slices.Contains(relevant, d) })
		want.MRR += 1 / float64(first+1) / float64(len(related))
		for c, k := range metrics.Cutoffs {
			for _, d := range order[:min(k, len(order))] {
				if slices.Contains(relevant, d) {
					recall[c] += 1 / float64(len(relevant)) / float64(len(related))
				}
			}
		}
	}
	same := got.Queries == want.Queries && got.AllQueries == want.AllQueries && got.Documents == want.Documents &&
		math.Abs(got.MRR-want.MRR) < 1e-12
	for i, r := range got.Recall {
		same = same && r.K == metrics.Cutoffs[i] && math.Abs(r.Recall-recall[i]) < 1e-12 &&
			math.Abs(r.Chance-min(1, float64(r.K)/float64(len(documents)-1))) < 1e-12
	}
	if !same || len(got.Recall) != len(recall) || want.Queries < 15 {
		t.Errorf("%+v, want %+v with recall %v", got, want, recall)
	}
}

// TestEvalRankingDeterministic checks that the report is identical for any number of threads, and that
// the ranking does not change the rest of the report.
func TestEvalRankingDeterministic(t *testing.T) {
	path, _ := pairFile(t, 700, 400)
	args := []string{"eval", "--json", "--model", windowed(t), "--data", path}
	one := succeed(t, "", append(args, "--threads", "1")...)
	for _, threads := range []string{"2", "3", "8"} {
		equal(t, succeed(t, "", append(args, "--threads", threads)...), one, threads)
	}
	var with, without map[string]any
	if err := errors.Join(json.Unmarshal([]byte(one), &with),
		json.Unmarshal([]byte(succeed(t, "", append(args, "--queries", "0")...)), &without)); err != nil {
		t.Fatal(err)
	}
	ranking := with["ranking"]
	delete(with, "ranking")
	if ranking == nil || len(with) < 10 || !reflect.DeepEqual(with, without) {
		t.Errorf("the report is %v without the ranking, and %v with the ranking %v", without, with, ranking)
	}
}

// TestEvalRankingChance checks that the MRR of an untrained model is within four standard deviations of
// chance, and that equal scores have the MRR and the recall of chance.
func TestEvalRankingChance(t *testing.T) {
	path, _ := pairFile(t, 1500, 600)
	got := rankingOf(t, "--model", windowed(t), "--data", path)
	// A query's reciprocal rank is at most 1, so its variance is at most its mean.
	if deviation := math.Sqrt(got.ChanceMRR / float64(got.Queries)); got.Queries < 300 ||
		math.Abs(got.MRR-got.ChanceMRR) > 4*deviation {
		t.Errorf("%+v differs by more than 4·%v from chance", got, deviation)
	}
	constant := windowed(t) // a model with the same score for all pairs
	file := filepath.Join(constant, "model.safetensors")
	tensors, metadata := must.Get2(safetensors.Read(file))(t)
	for _, x := range tensors {
		if x.Name == "head.out.weight" {
			clear(x.Data)
		}
	}
	must.Succeed(t, safetensors.Write(file, tensors, metadata))
	got = rankingOf(t, "--model", constant, "--data", path)
	for _, r := range got.Recall {
		if got.MRR != got.ChanceMRR || math.Abs(r.Recall-r.Chance) > 1e-12 ||
			math.Abs(r.Chance-float64(r.K)/float64(got.Documents-1)) > 1e-12 {
			t.Errorf("%+v: the MRR or recall of equal scores differs from chance", got)
		}
	}
}

// TestEvalRankingSample checks that --queries samples queries, and that the sample does not depend
// on the order of rows.
func TestEvalRankingSample(t *testing.T) {
	path, _ := pairFile(t, 200, 150)
	model := windowed(t)
	all := rankingOf(t, "--model", model, "--data", path)
	some := rankingOf(t, "--model", model, "--data", path, "--queries", "20")
	if some.Queries != 20 || some.AllQueries != all.Queries || some.Documents != all.Documents ||
		some.MRR == all.MRR || all.Queries < 40 {
		t.Errorf("sample %+v, all queries %+v: expected another MRR", some, all)
	}
	f := must.Get(seq.OpenFile(path))(t)
	defer f.Close()
	var rows []seq.Example
	for i := range f.Len() {
		rows = append(rows, must.Get(f.Example(f.Len()-1-i))(t))
	}
	reversed := writeSequences(t, *f.Spec(), rows...)
	equal(t, rankingOf(t, "--model", model, "--data", reversed, "--queries", "20"), some)
	table := succeed(t, "", "eval", "--model", model, "--data", path, "--queries", "20")
	contains(t, table, "MRR", "recall@100", "chance", fmt.Sprintf("20 of %d queries among %d documents, by class 1\n",
		all.Queries, all.Documents))
}

// TestEvalRankingAbsent checks that eval prints no ranking if no rows can be ranked, and that it refuses
// --queries for a model that cannot rank, and a negative number.
func TestEvalRankingAbsent(t *testing.T) {
	// A pair of equal documents is not a query.
	path := writeSequences(t, seq.Spec{Task: seq.Retrieval, VocabSize: 257},
		seq.Example{A: []int32{1}, B: []int32{2}}, seq.Example{A: []int32{3}, B: []int32{3}, Label: 1})
	equal(t, rankingOf(t, "--model", goldenPath("retrieval"), "--data", path), nil)
	in, _ := sequences(t, 10)
	equal(t, rankingOf(t, "--model", goldenPath("pre"), "--data", in), nil)
	refuse(t, 2, "has the task classification and 10 outputs, expected retrieval with 2 classes", "", "eval", "--model",
		goldenPath("pre"), "--data", in, "--queries", "5")
	refuse(t, 2, "--queries -1: expected 0 or more", "", "eval", "--model", goldenPath("retrieval"),
		"--data", path, "--queries", "-1")
}
