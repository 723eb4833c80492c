package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/shard"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
)

// recordLines returns the rows of Arrow files or streams as JSON, and the names of the columns.
func recordLines(t *testing.T, texts ...string) (rows, columns []string) {
	t.Helper()
	for _, text := range texts {
		s := must.Get(arrowipc.NewFileOrStream(strings.NewReader(text), nil))(t)
		columns = nil
		for _, f := range s.Schema().Fields() {
			columns = append(columns, f.Name)
		}
		for {
			record, err := s.Next()
			if err == io.EOF {
				break
			}
			must.Succeed(t, err)
			text := must.Get(record.MarshalJSON())(t)
			for line := range strings.Lines(strings.NewReplacer("},{", "}\n{", "[{", "{", "}\n]",
				"}").Replace(string(text))) {
				if line = strings.Trim(line, "\n,[]"); line != "" {
					rows = append(rows, line)
				}
			}
		}
	}
	return rows, columns
}

// partRows returns the rows of all parts in a directory, in shard order.
func partRows(t *testing.T, dir string) (rows, columns []string) {
	t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(dir, "part-*.arrow")))(t)
	var texts []string
	for _, path := range paths {
		texts = append(texts, readText(t, path))
	}
	return recordLines(t, texts...)
}

// shardInput writes a folder of JSON lines, Arrow and Parquet files with a column text. It returns
// the folder and the number of rows.
func shardInput(t *testing.T) (dir string, rows int) {
	t.Helper()
	dir = t.TempDir()
	var lines, end strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, `{"key":"a%d","text":"%s"}`+"\n", i, strings.Repeat("ab ", 1+i%20))
		fmt.Fprintf(&end, `{"key":"z%d","text":"%s"}`+"\r\n", i, strings.Repeat("zy ", 1+i%7))
	}
	writeText(t, filepath.Join(dir, "a.jsonl"), lines.String())
	writeText(t, filepath.Join(dir, "z.jsonl"), strings.TrimSuffix(end.String(), "\r\n"))
	for _, format := range []string{"arrow", "parquet"} {
		var out bytes.Buffer
		w := must.Get(table.NewWriter(&out, format, []table.OutputColumn{{Name: "text"}, {Name: "key"}}))(t)
		for i := range 5000 { // more rows than a record batch
			must.Succeed(t, w.Write([]any{"row " + fmt.Sprint(i%13), fmt.Sprint(format, i)}))
		}
		must.Succeed(t, w.Close())
		writeText(t, filepath.Join(dir, "m."+format), out.String())
	}
	return dir, 2*300 + 2*5000
}

// TestShards checks that the concatenated parts of 2 and 5 shards have the rows of a single shard. It
// tests predict with the positions of rows as ids, and embed with ids from a column.
func TestShards(t *testing.T) {
	model := moodModel(t)
	in, total := shardInput(t)
	for _, c := range []struct {
		args []string
		want string // names of the columns
	}{
		{[]string{"predict", "--keep", "key"}, "id key label probability_bad probability_good"},
		{[]string{"embed", "--id", "key", "--on-error", "column"}, "id embedding error"},
	} {
		var one []string
		for _, n := range []int{1, 2, 5} {
			dir := filepath.Join(t.TempDir(), "parts")
			args := func(i int) []string {
				return append(c.args, "--model", model, "--input", in, "--text", "text", "--shard",
					fmt.Sprintf("%d/%d", i, n), "--output", dir)
			}
			for _, i := range rand.Perm(n) { // in any order
				succeed(t, "", args(i)...)
			}
			rows, columns := partRows(t, dir)
			if one == nil {
				one = rows
			}
			if len(rows) != total || !slices.Equal(rows, one) || strings.Join(columns, " ") != c.want {
				t.Errorf("%s: %d shards: %d rows, want %d; equal to the rows of one shard: %v; columns %q, want %q",
					c.args[0], n, len(rows), total, slices.Equal(rows, one), columns, c.want)
			}
			before := readText(t, filepath.Join(dir, fmt.Sprintf("part-00000-of-%05d.arrow", n)))
			if out := succeed(t, "", args(0)...); !regexp.MustCompile(`^part-00000-of-0000\d.arrow exists: \d+ rows, nothing to do\n$`).MatchString(out) {
				t.Errorf("second run: got %q, want part-00000-of-%05d.arrow exists: … nothing to do", out, n)
			}
			equal(t, readText(t, filepath.Join(dir, fmt.Sprintf("part-00000-of-%05d.arrow", n))), before)
			verify := []string{c.args[0], "--verify", "--output", dir, "--model", model, "--input", in, "--shard",
				fmt.Sprintf("auto/%d", n)}
			equal(t, succeed(t, "", verify...),
				fmt.Sprintf("%d of %d parts, %d rows, 0 of them with an error: _manifest.json\n", n, n, total))
			refuse(t, exitError, "options: expected", "", append(args(0), "--max-line", "1000")...)
			refuse(t, exitError, fmt.Sprintf("expected parts of %d shards", n+1), "",
				append(args(0), "--shard", fmt.Sprintf("0/%d", n+1))...)
			other := editedModel(t, "pre", func(config, weights []byte) ([]byte, []byte) { return config, weights })
			refuse(t, exitError, "not part of the job: model (SHA-256): expected", "", "predict", "--verify",
				"--output", dir, "--model", other)
			os.Remove(filepath.Join(dir, fmt.Sprintf("part-00000-of-%05d.arrow", n)))
			if n > 1 {
				refuse(t, exitError, fmt.Sprintf("1 of %d parts is missing: shard 0\n", n), "", "predict",
					"--verify", "--output", dir)
			}
		}
	}
}

// TestShardStream checks that predict writes a shard, or the rows of standard input, to standard output
// as an Arrow stream with the rows of the parts.
func TestShardStream(t *testing.T) {
	model := moodModel(t)
	in, total := shardInput(t)
	flags := []string{"predict", "--model", model, "--text", "text", "--id", "key"}
	var streams []string
	for i := range 3 {
		out := succeed(t, "", append(flags, "--input", filepath.Join(in, "*.*"), "--shard",
			fmt.Sprintf("%d/3", i), "--output", "-")...)
		streams = append(streams, out)
		if !strings.HasPrefix(out, arrowipc.Continuation) || !strings.HasSuffix(out, arrowipc.EndMarker) {
			t.Errorf("not an Arrow stream: %.20q", out)
		}
	}
	dir := filepath.Join(t.TempDir(), "parts") + "/"
	succeed(t, "", append(flags, "--input", in, "--output", dir)...) // 0/1, because no job sets a shard
	want, _ := partRows(t, dir)
	if got, _ := recordLines(t, streams...); len(got) != total || !slices.Equal(got, want) {
		t.Errorf("%d rows, want the %d rows of the parts", len(got), total)
	}
	from := must.Get(os.Open(filepath.Join(in, "m.arrow")))(t)
	defer from.Close()
	// --input - reads os.Stdin, not the reader that tests pass to the program.
	stdin := os.Stdin
	os.Stdin = from
	defer func() { os.Stdin = stdin }()
	out := succeed(t, "", append(flags, "--input", "-", "--format", "arrow", "--shard", "0/1", "--output", "-")...)
	if got, _ := recordLines(t, out); !slices.Equal(got, want[300:5300]) {
		t.Errorf("standard input: got %d rows, want the 5,000 rows of m.arrow", len(got))
	}
}

// TestShardErrors checks both modes for a row that cannot be predicted: the shard stops and leaves
// no part, or the row is kept with an error.
func TestShardErrors(t *testing.T) {
	model, dir := moodModel(t), t.TempDir()
	in := writeText(t, filepath.Join(dir, "in.jsonl"),
		"{\"text\":\"aab\"}\n{\"text\":\"\"}\nbroken\n{\"text\":\"xyz\"}\n")
	parts := filepath.Join(dir, "parts")
	flags := []string{"predict", "--model", model, "--input", in, "--text", "text", "--output", parts, "--shard"}
	refuse(t, exitError, in+"@16: column text: expected at least 1 token", "", append(flags, "0/1")...)
	if entries, err := os.ReadDir(parts); err != nil || len(entries) > 0 {
		t.Errorf("got the files %v in --output, error %v, want none", entries, err)
	}
	status, out, errs := program(nil, append(flags, "0/1", "--on-error", "column")...)
	if status != exitOK || out != "part-00000-of-00001.arrow: 4 rows\n" ||
		!strings.Contains(errs, "warning: 2 of 4 rows have an error, the first: in.jsonl@16: ") {
		t.Errorf("got status %d, %s, %s, want status %d and a warning about 2 of 4 rows", status, out, errs, exitOK)
	}
	rows, _ := partRows(t, parts)
	for i, want := range []string{`{"error":null,"id":"in.jsonl@1","label":"`,
		`{"error":"in.jsonl@16: column text: expected at least 1 token, found an empty sequence","id":"in.jsonl@16","label":null,`, `{"error":"in.jsonl@28: `, `{"error":null,"id":"in.jsonl@35",`} {
		if i >= len(rows) || !strings.HasPrefix(rows[i], want) {
			t.Errorf("row %d: expected %s, found %q", i, want, rows)
		}
	}
	contains(t, succeed(t, "", "predict", "--verify", "--output", parts), "4 rows, 2 of them with an error")
	status, _, errs = program(nil, append(flags, "0/1", "--on-error", "column", "--id", "key", "--output", "-")...)
	if want := `in.jsonl: no row has the column "key"`; status != exitOK || !strings.Contains(errs, "warning: ") ||
		!strings.Contains(errs, want) || strings.Count(errs, "warning: ") != 2 {
		t.Errorf("a stream: status %d, %s, want %s", status, errs, want)
	}
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	var err error
	if os.Stdin, err = os.Open(in); err != nil {
		t.Fatal(err)
	}
	defer os.Stdin.Close()
	status, _, errs = program(nil, append(flags, "0/1", "--on-error", "column", "--id", "key", "--input", "-",
		"--format", "jsonl", "--output", "-")...)
	if want := `standard input: no row has the column "key"`; status != exitOK || !strings.Contains(errs, want) {
		t.Errorf("standard input: status %d, %s, want %s", status, errs, want)
	}
	_, errs = exits(t, exitError, "", append(flags[:7:7], "--shard", "0/1", "--output", "-")...)
	contains(t, errs, "@16: ")
}

// TestShardJobs checks that the shard is read from the environment variables of job schedulers.
func TestShardJobs(t *testing.T) {
	model := moodModel(t)
	in, _ := shardInput(t)
	parts := filepath.Join(t.TempDir(), "parts") + "/"
	flags := []string{"predict", "--model", model, "--input", filepath.Join(in, "a.jsonl"), "--text",
		"text", "--output", parts}
	t.Setenv("JOB_COMPLETION_INDEX", "1")
	refuse(t, exitUsage, "expected --shard auto/N", "", flags...)
	hasPrefix(t, succeed(t, "", append(flags, "--shard", "auto/4")...), "part-00001-of-00004.arrow: ")
	for name, value := range map[string]string{"SLURM_ARRAY_TASK_ID": "13", "SLURM_ARRAY_TASK_COUNT": "4",
		"SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_MAX": "13"} {
		t.Setenv(name, value)
	}
	hasPrefix(t, succeed(t, "", flags...), "part-00003-of-00004.arrow: ")
	refuse(t, exitError, "2 of 4 parts are missing: shards 0,2", "", "predict", "--verify", "--output", parts)
	file := filepath.Join(t.TempDir(), "all.csv")
	for _, to := range [][]string{{"--output", file}, {"--output", "-"}, nil} {
		args := append(flags[:7:7], to...)
		refuse(t, exitUsage, "SLURM_ARRAY_TASK_ID is set, but --output is not a directory, so each task would "+
			"process the whole input: expected --output DIR/ for parts, or --shard 0/1", "", args...)
		succeed(t, "", append(args, "--shard", "0/1")...)
	}
	occurs(t, readText(t, file), "\n", 301)
	succeed(t, `{"text":"aab"}`, "predict", "--model", model) // JSON lines through a pipe do not need a shard
}

// TestShardUsage checks the errors for invalid, missing and conflicting flags, and for outputs in the
// folder of the input.
func TestShardUsage(t *testing.T) {
	model := moodModel(t)
	in, _ := shardInput(t)
	file, out := filepath.Join(in, "a.jsonl"), filepath.Join(t.TempDir(), "parts")
	refuseAll(t, exitUsage, []string{"predict", "--model", model}, []refusal{
		{"--output is missing", []string{"--input", file, "--text", "text", "--shard", "0/2"}},
		{"I from 0 to N-1", []string{"--input", file, "--text", "text", "--shard", "2/2", "--output", out}},
		{`--on-error "skip": expected fail or column`, []string{"--input", file, "--text", "text", "--on-error",
			"skip", "--output", out}},
		{"expected a directory of parts, found the name of a file", []string{"--input", file, "--text", "text",
			"--shard", "0/2", "--output", out + ".arrow"}},
		{"expected a directory of parts, found the name of a file", []string{"--input", file, "--text", "text",
			"--shard", "0/2", "--output", out + ".json"}},
		{"expected a directory of parts, found the name of a file", []string{"--input", file, "--text", "text",
			"--shard", "0/2", "--output", out + ".zip"}},
		{"expected a file name that ends in .jsonl",
			[]string{"--input", file, "--text", "text", "--shard", "0/1", "--output", out + ".json"}},
		{`--shard "": expected I/N such as 0/8, auto or auto/N`, []string{"--input", file, "--text", "text",
			"--shard", "", "--output", out}},
		{`--shard "": expected I/N such as 0/8, auto or auto/N`, []string{"--input", file, "--text", "text", "--shard",
			"", "--output", out + ".csv"}},
		{"expected a directory of parts, found a file", []string{"--input", file, "--text", "text", "--shard",
			"0/2", "--output", file}},
		{"standard input cannot be split into " +
			"shards", []string{"--input", "-", "--format", "jsonl", "--text", "text", "--shard",
			"0/2", "--output", "-"}},
		{"standard input cannot be split into " +
			"shards", []string{"--input", "-", "--format", "jsonl", "--text", "text", "--shard",
			"0/1", "--output", out}},
		{"--output needs --input", []string{"--shard", "0/2", "--output", out}},
		{"need --input", []string{"--shard", "0/2"}},
		{"--verify needs --output", []string{"--verify"}},
		{"expected --text, --tokens or --pair with the " +
			"column", []string{"--input", file, "--shard", "0/2", "--output", out}},
	})
	refuse(t, exitError, "which is also the input: choose another folder", "", "predict", "--model", model, "--input",
		in, "--text", "text", "--shard", "0/2", "--output", filepath.Join(in, "parts"))
	parts := filepath.Join(filepath.Dir(out), "other") + "/"
	for _, name := range []string{"x.jsonl", "below/x.jsonl"} {
		os.MkdirAll(filepath.Join(parts, "below"), 0o777)
		path := writeText(t, filepath.Join(parts, name), `{"text":"aab"}`)
		refuse(t, exitError, path+": this input file is in --output", "", "predict", "--model", model,
			"--input", filepath.Join(filepath.Dir(parts), filepath.Dir(name), "*.jsonl"), "--text",
			"text", "--output", parts)
	}
	refuse(t, exitError, "Arrow, Parquet or JSON lines", "", "predict", "--model", model, "--input",
		filepath.Join(model, "*"), "--text", "text", "--shard", "0/2", "--output", out)
	if made, err := filepath.Glob(out + "*"); err != nil || len(made) > 0 {
		t.Errorf("%q were written, want no parts", made)
	}
	exits(t, exitOK, "", "predict", "--model", model, "--input", file, "--text", "text", "--shard", "0/1",
		"--output", out+".json/")
}

// TestVerifyUsage checks that --verify refuses flags that it does not use, and invalid values of the others.
func TestVerifyUsage(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []refusal{
		{"--text does not apply to --verify, which compares --output with --shard, --model and --input: omit --text",
			[]string{"predict", "--text", "a"}},
		{"--model and --input: omit --on-error", []string{"embed", "--on-error", "column"}},
		{"--model and --data: omit --threads", []string{"eval", "--threads", "1"}},
		{"--model and --data: omit --on-error", []string{"eval", "--on-error", "fail"}},
		{"--errors does not apply to shards", []string{"eval", "--errors", "x.csv"}},
		{"--format needs --input", []string{"predict", "--format", "arrow"}},
		{"x.jsonl: expected --input before more files", []string{"predict", "x.jsonl"}},
		{"--split needs --data", []string{"eval", "--split", "val"}},
		{`--shard "3/8": expected auto/N with the number of shards, because --verify checks all of them`,
			[]string{"predict", "--shard", "3/8"}},
		{`--shard "8": expected auto/N`, []string{"predict", "--shard", "8"}},
		{`--shard "": expected auto/N`, []string{"predict", "--shard", ""}},
	} {
		refuse(t, exitUsage, c.want, "", append([]string{c.args[0], "--verify", "--output", dir}, c.args[1:]...)...)
	}
	t.Setenv(deviceVariable, "cpu") // a scheduler may set the variable for its workers
	refuse(t, exitError, "expected parts such as part-00000-of-00008.arrow, found none", "", "predict",
		"--verify", "--output", dir)
	refuse(t, exitError, "config.json: no such file", "", "predict", "--verify", "--output", dir, "--model",
		filepath.Join(dir, "none"))
}

// TestEvalShards checks that the report on all parts equals the report of one run. Rows with errors
// are excluded.
func TestEvalShards(t *testing.T) {
	data := customData(t, "--label", "mood")
	model := moodModel(t)
	want := succeed(t, "", "eval", "--model", model, "--data", data, "--split", "train", "--json")
	for _, n := range []int{1, 3, 50} {
		dir := filepath.Join(t.TempDir(), "parts")
		for i := range n {
			succeed(t, "", "eval", "--model", model, "--data", data, "--split", "train", "--shard",
				fmt.Sprintf("%d/%d", i, n), "--output", dir)
		}
		got := succeed(t, "", "eval", "--model", model, "--verify", "--output", dir, "--json")
		// --verify does not know the file and the baselines.
		numbers := func(text string) string {
			_, text, _ = strings.Cut(text, `"rows"`)
			text, _, _ = strings.Cut(text, `"baseline"`)
			return strings.TrimRight(text, " ,\n}")
		}
		if numbers(got) != numbers(want) || !strings.Contains(want, `"accuracy"`) {
			t.Errorf("%d shards: %s\nexpected %s", n, got, want)
		}
		if n == 3 {
			refuse(t, exitError, "input (fingerprint): expected", "", "eval", "--model", model, "--verify", "--output",
				dir, "--data", data, "--split", "val")
			os.Remove(filepath.Join(dir, "part-00001-of-00003.arrow"))
			refuse(t, exitError, "1 of 3 parts is missing: shard 1", "", "eval", "--model", model,
				"--verify", "--output", dir)
		}
	}
	in := writeText(t, filepath.Join(t.TempDir(), "long.csv"),
		"review,mood\naab,good\n"+strings.Repeat("long ", 300)+",bad\nxyz,bad\n")
	to := filepath.Join(t.TempDir(), "data")
	succeed(t, "", "data", "convert", "--from", in, "--to", to, "--text", "review", "--label",
		"mood", "--split", "0,0,1")
	dir := filepath.Join(t.TempDir(), "parts")
	flags := []string{"eval", "--model", model, "--data", to, "--shard", "0/1", "--output", dir}
	refuse(t, exitError, "the sequence has", "", flags...)
	if status, _, errs := program(nil, append(flags, "--on-error", "column")...); status != exitOK ||
		!strings.Contains(errs, "warning: 1 of 3 rows have an error") {
		t.Errorf("got status %d, %s, want status %d and a warning about 1 of 3 rows", status, errs, exitOK)
	}
	out, errs := exits(t, exitOK, "", "eval", "--model", model, "--verify", "--output", dir, "--json")
	contains(t, out, `"rows": 2,`)
	contains(t, errs, "warning: 1 of 3 rows have an error and were left out")
	dir = filepath.Join(t.TempDir(), "one")
	hasPrefix(t, succeed(t, "", "eval", "--model", model, "--data", data, "--split", "train", "--output", dir),
		"part-00000-of-00001.arrow: ")
	refuse(t, exitUsage, "--errors does not apply to shards", "", append(flags, "--errors", "x.csv")...)
}

// fullDisk is a writer for a limited number of bytes. A write beyond the limit fails and calls full.
type fullDisk struct {
	left int // bytes that can still be written
	full func()
}

var errFull = errors.New("no space left on device")

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.left -= len(b); d.left < 0 {
		d.full()
		return 0, errFull
	}
	return len(b), nil
}

// TestEvalShardFullDisk checks that scoring stops after a row could not be written.
func TestEvalShardFullDisk(t *testing.T) {
	data, _ := sequences(t, 10000) // more rows than a record batch
	m := must.Get(sft.Load(goldenPath("pre")))(t)
	d := cpu.New(1)
	defer d.Close()
	scorer := must.Get(sft.NewScorer(m, d))(t)
	in := must.Get(shard.Find(t.Context(), []string{data}, ""))(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := cli.NewContext(cli.NewApp(), flag.NewFlagSet("eval", flag.ContinueOnError), nil)
	c.Context = ctx
	j := &shardJob{Shard: shard.Shard{Index: 0, Count: 1}, strict: true}
	// Scoring after the failed write would return an error of the context.
	if _, err := j.eval(c, scorer, in, &fullDisk{10000, cancel}, nil); err == nil || !errors.Is(err, errFull) ||
		errors.Is(err, context.Canceled) {
		t.Errorf("%v, expected %v", err, errFull)
	}
}

// TestKillsShards kills workers at random moments and runs them again. The parts have the rows of
// one run, and no part is written twice.
func TestKillsShards(t *testing.T) {
	model, binary := moodModel(t), built(t)
	in, total := shardInput(t)
	args := func(dir string, i, n int) []string {
		return []string{"predict", "--model", model, "--input", in, "--text", "text", "--shard",
			fmt.Sprintf("%d/%d", i, n), "--output", dir}
	}
	one := filepath.Join(t.TempDir(), "one")
	took := timed(t, binary, args(one, 0, 1)...)
	want, _ := partRows(t, one)
	const n = 3
	for k := newKiller(t, 31); k.wantsMore(t); {
		dir := filepath.Join(t.TempDir(), "parts")
		made := map[int]time.Time{} // modification times of the parts
		for len(made) < n {
			for i := range n {
				ended := k.run(t, took*3/2, binary, args(dir, i, n)...)
				info, err := os.Stat(filepath.Join(dir, fmt.Sprintf("part-%05d-of-%05d.arrow", i, n)))
				if before, there := made[i]; ended && err != nil || there &&
					(err != nil || !before.Equal(info.ModTime())) {
					t.Fatalf("part %d is missing or was written twice: %v", i, err)
				}
				if err == nil {
					made[i] = info.ModTime()
				}
			}
		}
		succeed(t, "", "predict", "--verify", "--output", dir)
		if rows, _ := partRows(t, dir); len(rows) != total || !slices.Equal(rows, want) {
			t.Fatalf("%d rows differ from the %d rows of one run", len(rows), total)
		}
	}
}
