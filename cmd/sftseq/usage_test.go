package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/lra"
)

// TestUsage checks that an error in a command line states its cause, exits with status 2, prints nothing on
// standard output and leaves no output directory. An unknown column exits with status 1.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	from, to := writeText(t, filepath.Join(dir, "x.csv"), "text,label\na,b\n"), filepath.Join(dir, "to")
	unknown := writeText(t, filepath.Join(dir, "x.xyz"), "a\n")
	convert := func(more ...string) []string {
		return append([]string{"data", "convert", "--from", from, "--to", to}, more...)
	}
	text := func(more ...string) []string { return append(convert("--text", "text"), more...) }
	generate := func(task string, more ...string) []string {
		return append([]string{"data", "generate", task, "--out", to}, more...)
	}
	refuseAll(t, exitUsage, nil, []refusal{
		{"expected a command: generate, convert, files, info, head, stats, baselines; see sftseq data --help",
			[]string{"data"}},
		{"expected a command: listops, pathfinder, shape-parts, shapes, graphs; see sftseq data generate --help",
			[]string{"data", "generate"}},
		{"expected a command: ", []string{"train"}},
		{"expected a command: ", []string{"bench"}},

		{"--split \"90,5,5\": split \"train\" with fraction 90: expected", text("--split", "90,5,5")},
		{"--split \"0.5,0.2,0.2\": fractions of the splits: expected a sum of 1", text("--split", "0.5,0.2,0.2")},
		{`--split "0.9,0.1": expected three numbers, the fractions of train, val and test, found 2`,
			text("--split", "0.9,0.1")},
		{"exclude each other", text("--split", "1,0,0", "--split-column", "label")},
		{`--max-row "much"`, text("--max-row", "much")},
		{"--tokenizer \"bytes\": expected one of auto, audio-vq, byte, dna, listops, mulaw, pixel, words:N, " +
			"ids:N, hf:FILE or from:DIR; see",
			text("--tokenizer", "bytes")},
		{"--max-length -3: expected 0", text("--max-length", "-3")},
		{"--text and --tokens exclude each other", text("--tokens", "label")},
		{"--text and --pair exclude each other", text("--pair", "text,label")},
		{"expected --text, --tokens, --series, --features or --pair with the column", convert()},
		{"--pair \"text\": expected two columns", convert("--pair", "text")},
		{"--pair \"text,\": expected two columns", convert("--pair", "text,")},
		{"--tokens needs --vocab N with the number of token ids", convert("--tokens", "text")},
		{"--vocab -1: expected the number of token ids", convert("--tokens", "text", "--vocab", "-1")},
		{"--vocab 3000000000: expected the number of token ids for --tokens, 1 to 2147483647",
			convert("--tokens", "text", "--vocab", "3000000000")},
		{"--vocab needs --tokens", text("--vocab", "5")},
		{"--tokens and --tokenizer exclude each other",
			convert("--tokens", "text", "--vocab", "5", "--tokenizer", "byte")},
		{"--labels needs --label, --tags, --spans or --intervals", text("--labels", "a,b")},
		{"--labels \"a,a\": expected distinct names, found \"a\" twice", text("--label", "label", "--labels", "a,a")},
		{"--labels \"a,\": expected names that are not empty, found \"a\", \"\"",
			text("--label", "label", "--labels", "a,")},
		{"--labels \"\": expected names separated by commas", text("--label", "label", "--labels", "")},
		{"--labels \"a\\nb\": expected names separated by commas, with double quotes around a name that contains a comma: " +
			"found 2 lines",
			text("--label", "label", "--labels", "a\nb")},
		{"expected distinct names, found \"a, b\" twice", text("--label", "label", "--labels", `"a, b", "a, b"`)},
		{"--label-pattern \"(\": error parsing regexp: missing closing ): `(`",
			text("--label", "label", "--label-pattern", "(")},
		{"--label-pattern needs --label", text("--label-pattern", "x")},
		{"--split-pattern \"*\": error parsing regexp", text("--split-column", "label", "--split-pattern", "*")},
		{"--split-pattern needs --split-column", text("--split-pattern", "x")},
		{"--delimiter \";;\": expected one ASCII character other than a quote, such as ; or |, or one of",
			text("--delimiter", ";;")},
		{"--format \"xls\": expected one of csv, tsv", text("--format", "xls")},
		{"--val-part needs --split-column", text("--val-part", "0.1")},
		{"--val-part 2: expected 0 or more", text("--split-column", "label", "--val-part", "2")},
		{"--to is missing: expected --to DIR (write the data set to DIR)",
			[]string{"data", "convert", "--from", from, "--to", "", "--text", "text"}},
		{"--from is missing", []string{"data", "convert", "--from", "", "--to", to, "--text", "text"}},
		{"--data is missing", []string{"data", "baselines"}},
		{"found \"" + to + "\": pass the input with --data", []string{"data", "baselines", to}},
		{"expected a task (image, listops, modelnet40, pascalvoc-sp, pathfinder, peptides-func, peptides-struct, retrieval, shapenetpart, text, cloud, graph) or flags only", []string{"data", "convert", "xyzzy"}},
		{"--from is missing", []string{"data", "convert", "image", "--to", to}},
		{"--to is missing", []string{"data", "convert", "image", "--from", from}},
		{"expected flags only, found \"" + from + "\": pass the input with --from",
			[]string{"data", "convert", "image", from, "--to", to}},
		{"found \"" + from + "\": pass the input with --from", []string{"data", "convert", from, "--to", to}},
		{`found "imdb": choose one of these tasks, or omit "imdb" to convert a table`,
			[]string{"data", "convert", "imdb", "--from", from, "--to", to}},

		{"expected flags only, found \"" + from + "\": pass the input with --data",
			[]string{"train", "custom", "--members", "sft", from}},
		{"expected flags only, found \"" + from + "\": pass the input with --data",
			[]string{"eval", goldenPath("pre"), from}},
		{"expected flags only, found \"" + from + "\": pass the input with --model",
			[]string{"info", goldenPath("pre"), from}},
		{"expected flags only, found \"" + to + "\": pass the output path with --out",
			[]string{"data", "generate", "listops", to}},
		{"expected flags only, found \"x\"; see", []string{"version", "x"}},
		{"--data is missing", []string{"train", "custom"}},
		{"--data is missing", []string{"train", "image"}},
		{"--data is missing", []string{"eval", "--model", goldenPath("pre")}},
		{"--model is missing", []string{"predict"}},
		{"--threads: expected a value, found none", []string{"predict", "--model", goldenPath("pre"), "x", "--threads"}},
		{`expected at most one FILE, found "y" after "x"`, []string{"predict", "x", "y", "--model", goldenPath("pre")}},
		{"--input: " + unknown + ": unknown format",
			[]string{"predict", "--model", goldenPath("pre"), "--input", unknown}},
		{"--max-line 0", []string{"predict", "--model", goldenPath("pre"), "--max-line", "0"}},
		{"--input is missing", []string{"grads", "--model", goldenPath("pre")}},
		{"unknown shell", []string{"completion", "tcsh"}},

		{"--out is missing", []string{"data", "generate", "listops"}},
		{"--min-length 9 --max-length 3: lengths: expected",
			generate("listops", "--min-length", "9", "--max-length", "3")},
		{"--max-depth 0: depth: expected", generate("listops", "--max-depth", "0")},
		{"--max-args 1: arguments: expected", generate("listops", "--max-args", "1")},
		{"--contour 2000: dashes", generate("pathfinder", "--contour", "2000")},
		{"--distractors 101: ", generate("pathfinder", "--distractors", "101")},
		{"--test -1: expected 0 or more", generate("pathfinder", "--test", "-1")},
		{"--contour 9 --train-shortest 10: dashes of the shortest contour: expected 1 to 9, or 0",
			generate("pathfinder", "--contour", "9", "--train-shortest", "10")},
		{"--train-shortest -1: expected 0 or more", generate("pathfinder", "--train-shortest", "-1")},

		{"expected one FILE or DIR, found 0 arguments", []string{"data", "info"}},
		{"expected one FILE or DIR, found 2 arguments", []string{"data", "info", from, from}},
		{"--verify: expected the directory", []string{"data", "info", "--verify", from}},
		{"expected one FILE or DIR, found 0 arguments", []string{"data", "head"}},
		{"--rows -1", []string{"data", "head", "--rows", "-1", from}},
		{"expected one FILE or DIR, found 0 arguments", []string{"data", "stats"}},
		{"--plot \"x.gif\": expected a name that ends in .svg", []string{"data", "stats", "--plot", "x.gif", from}},
		{"--output \"x.gif\": expected a name that ends in .svg", []string{"plot", "--output", "x.gif", dir}},
		{"--plot \"x.gif\": expected a name that ends in .svg", []string{"bench", "runtime", "--plot", "x.gif"}},
		{"--plot \"x.gif\": expected a name that ends in .svg",
			[]string{"bench", "model", "--config", goldenPath("pre"), "--length", "16,32", "--batch",
				"1", "--plot", "x.gif"}},
		{"no run directory given: expected one or several directories of sftseq train", []string{"plot"}},
		{"no run directory given", []string{"report"}},

		{"--preset \"slow\": expected one of quick, hour, paper",
			[]string{"train", "listops", "--out", to, "--preset", "slow"}},
		{"--stages \"5\": expected STEPS:LENGTH, STEPS:firstROWS or STEPS:lastROWS",
			[]string{"train", "listops", "--out", to, "--stages", "5"}},
		{"--convolutions \"5x\": expected none, TAPS or TAPS:DILATION", []string{"train", "listops", "--out", to,
			"--convolutions", "5x"}},
		{"--convolutions \"5,4:32\": taps of \"4:32\": expected an odd number", []string{"train", "listops", "--out", to,
			"--convolutions", "5,4:32"}},
		{"sftseq: --points 0: expected 1 to 1048576 points, found 0", []string{"data", "generate", "shapes",
			"--points", "0", "--out", to}},
		{"--convolutions \"7:0\": dilation of \"7:0\": expected 1 to", []string{"bench", "model", "--convolutions", "7:0"}},
		{"sftseq: --threads -3: expected 0 (all) to 4096",
			[]string{"predict", "--model", goldenPath("pre"), "--threads", "-3"}},
		{"sftseq: --threads 9223372036854775807: expected 0 (all) to 4096",
			[]string{"predict", "--model", goldenPath("pre"), "--threads", "9223372036854775807"}},
		{"batch 4611686018427387904: expected 1 to 16777216",
			[]string{"train", "listops", "--batch", "4611686018427387904", "--out", filepath.Join(t.TempDir(), "run")}},
		{"--out is empty: expected a run directory", []string{"train", "listops", "--out", ""}},
		{"sftseq: --precision \"fp8\": expected one of: fp32",
			[]string{"predict", "--model", goldenPath("pre"), "--precision", "fp8"}},
		{"sftseq: --device \"tpu\": expected one of: auto, cpu",
			[]string{"predict", "--model", goldenPath("pre"), "--device", "tpu"}},
	})
	refuse(t, exitError, `column "txt": expected one of "text", "label"`, "", convert("--text", "txt")...)
	refuseAll(t, exitUsage, text(), []refusal{
		{`--tokenizer "words:0": number after the colon: expected 1 to 50000, found 0; see`,
			[]string{"--tokenizer", "words:0"}},
		{`--tokenizer "dna:12": number after the colon: expected 1 to 11, found 12; see`, []string{"--tokenizer",
			"dna:12"}},
		{`--tokenizer "byte:3": expected byte without a number; see`,
			[]string{"--tokenizer", "byte:3"}},
	})
	for _, target := range []string{"label", "tags", "numbers"} {
		refuse(t, exitUsage, "--text and --"+target+` both name the column "text": expected different columns for the `+
			"input and the target; see", "", convert("--text", "text", "--"+target, "text")...)
	}
	noFile(t, to)
}

// TestSuggestions checks that errors suggest only similar names.
func TestSuggestions(t *testing.T) {
	refuseAll(t, exitUsage, nil, []refusal{
		{`unknown command "evaluate". Did you mean "eval"? See`, []string{"evaluate"}},
		{`unknown command "conv". Did you mean "convert"? See`, []string{"data", "conv"}},
		{`unknown command "lisps". Did you mean "listops"? See`, []string{"data", "generate", "lisps"}},
		{`unknown command "listop". Did you mean "listops"? See sftseq train --help`,
			[]string{"train", "listop", "--preset", "quick"}},
		{`unknown command "shapess". Did you mean "shapes"? See sftseq train --help`,
			[]string{"train", "shapess", "--data", "x"}},
		{`unknown command "trian". Did you mean "train"? See sftseq --help`,
			[]string{"trian", "listops", "--seed", "1"}},
		{`unknown task "peptides". Did you mean "peptides-func"? See sftseq data convert --help`,
			[]string{"data", "convert", "peptides", "--from", "x"}},
		{`unknown command "imdb": expected one of listops, pathfinder, shape-parts, shapes, graphs; see`,
			[]string{"data", "generate", "imdb"}},
		{`unknown command "foo": expected one of generate, convert, files, info, head, stats, baselines; see`,
			[]string{"data", "foo"}},
		{`unknown command "nothing": expected one of data, train,`, []string{"nothing"}},
		{`No help topic for 'trian'. Did you mean "train"?`, []string{"help", "trian"}},
		{"No help topic for 'foo'\n", []string{"help", "foo"}},
		{`No help topic for 'convrt'. Did you mean "convert"?`, []string{"help", "data", "convrt"}},
		{"unknown flag --epoch. Did you mean --epochs? See sftseq train listops --help",
			[]string{"train", "listops", "--epoch", "3"}},
		{"unknown flag --modle. Did you mean --model? See", []string{"predict", "--modle", "x"}},
		{"unknown flag --label-column. Did you mean --label-columns? See",
			[]string{"data", "convert", "--label-column", "x"}},
		{"unknown flag --text-column. Did you mean --text? See", []string{"data", "convert", "--text-column", "x"}},
		{"unknown flag --point-rotation: listops has no --point-rotation (a flag of ",
			[]string{"train", "listops", "--point-rotation", "z"}},
		{"unknown flag --token-deletion: modelnet40 has no --token-deletion (a flag of ",
			[]string{"train", "modelnet40", "--token-deletion", "0.1"}},
		{"unknown flag --class-weights: peptides-struct has no --class-weights (a flag of ",
			[]string{"train", "peptides-struct", "--class-weights", "balanced"}},
		{"unknown flag --data: give the directory as an argument: sftseq data head DIR; see",
			[]string{"data", "head", "--data", "x"}},
		{"unknown flag --data: give the directory as an argument: sftseq data stats DIR; see",
			[]string{"data", "stats", "--data", "x"}},
		{"-: expected the path of a file or folder, because files are sampled at several positions",
			[]string{"files", "-"}},
		{"unknown flag --zzz; see sftseq data convert --help", []string{"data", "convert", "--zzz"}},
		{"unknown flag --zzz; see sftseq --help", []string{"--zzz"}},
	})
}

// TestPresetHelp checks that the help of --preset names quick, hour, paper and paper-invariant exactly if
// the task has the preset.
func TestPresetHelp(t *testing.T) {
	for _, task := range append(lra.Tasks(), lra.Files) {
		help := succeed(t, "", "train", task.Name, "--help-all")
		_, line, _ := strings.Cut(help, "--preset NAME")
		line, _, _ = strings.Cut(line, "\n   --")
		for _, name := range []string{"quick", "hour", "paper", "paper-invariant"} {
			_, err := task.Preset(name)
			if listed := slices.ContainsFunc(strings.Split(line, ", "),
				func(part string) bool { return slices.Contains(strings.Fields(part), name) }); listed != (err == nil) {
				t.Errorf("%s: preset %s is in the help: %t, want %t: %s", task.Name, name, listed, err == nil, line)
			}
		}
	}
}
