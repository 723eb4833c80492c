package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/internal/testenv"
)

// sentences returns n sentences as JSON lines and as CoNLL. Each has tagged names of one or two
// words.
func sentences(n int) (lines, conll string) {
	random := rand.New(rand.NewPCG(4, 4))
	pick := func(s ...string) string { return s[random.IntN(len(s))] }
	var jsonl, columns strings.Builder
	for range n {
		words := []struct{ text, kind string }{{pick("today", "so", "then"), ""},
			{pick("Ann Lee", "Zoë", "Émile Zola"), "PER"}, {pick("saw", "left", "likes"), ""},
			{pick("New York", "Oslo", "Paris"), "LOC"}, {pick(".", "!", "again ."), ""}}
		text, spans := "", []string{}
		for _, w := range words {
			if text != "" {
				text += " "
			}
			if w.kind != "" {
				from := len([]rune(text))
				spans = append(spans, fmt.Sprintf(`{"start":%d,"end":%d,"label":%q}`, from,
					from+len([]rune(w.text)), w.kind))
			}
			text += w.text
			for i, part := range strings.Fields(w.text) {
				tag := "O"
				if w.kind != "" {
					tag = map[bool]string{true: "B-", false: "I-"}[i == 0] + w.kind
				}
				fmt.Fprintf(&columns, "%s\tX\t%s\n", part, tag)
			}
		}
		columns.WriteByte('\n')
		fmt.Fprintf(&jsonl, "{\"text\":%q,\"spans\":[%s]}\n", text, strings.Join(spans, ","))
	}
	return jsonl.String(), columns.String()
}

// TestTagging checks that a model trained on tagged sentences predicts spans for lines, tables and
// Arrow files, and that eval compares it with baselines. Texts with spans are converted and used for
// training. --init-from states why a head is not copied, and unsupported flags are refused.
func TestTagging(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover; its baselines are slow")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	jsonl, conll := sentences(300)
	writeText(t, in("a.jsonl"), jsonl)
	writeText(t, in("a.conll"), conll)
	done(t, "", "data", "convert", "--from", in("a.jsonl"), "--to", in("bytes"), "--text", "text", "--spans", "spans")
	contains(t, done(t, "", "data", "convert", "--from", in("a.conll"), "--to", in("words"), "--split", "0.7,0.1,0.2"),
		"labels: B-LOC, B-PER, I-LOC, I-PER, O")
	contains(t, done(t, "", "data", "info", in("words")), "labels of tokens", "first row   tags O, B-PER")
	contains(t, done(t, "", "data", "head", in("words"), "--rows", "1"), `"tags":["O","B-PER"`)
	if output := done(t, "", "data", "stats", in("words")); !strings.Contains(output, "label B-LOC") ||
		strings.Contains(output, "(100.0%)") {
		t.Errorf("unexpected output:\n%s", output)
	}
	model := in("model")
	if output := runCustom(t, in("words"), model, "--epochs", "5", "--device", "cpu", "--class-weights",
		"balanced"); !strings.Contains(output, "validation token accuracy") ||
		!strings.Contains(output, "selected by span-f1") {
		t.Errorf("train: got %s, want the validation token accuracy and the selection by span-f1", output)
	} else {
		checkBaselines(t, output, model, in("words"), tagBaselinesLine)
	}
	var result task.TagsResult
	if err := json.Unmarshal([]byte(done(t, "", "eval", "--model", model, "--data", in("words"), "--json")),
		&result); err != nil || result.Spans.F1 < 0.9 || len(result.ByType) != 2 ||
		len(result.Baselines) != 2 || *result.Baselines[0].SpanF1 != 0 || *result.Baselines[1].SpanF1 < 0.9 {
		t.Errorf("got result %+v, error %v, want a span F1 of 0.9 or more, two types, and two baselines with a "+
			"span F1 of 0 and of 0.9 or more", result, err)
	}
	if output := done(t, "", "eval", "--model", model, "--data", in("words")+"/test.arrow"); !strings.Contains(output,
		"PER") || strings.Contains(output, "most frequent") {
		t.Errorf("unexpected output:\n%s", output)
	}

	const want = `{"id":"x","spans":[{"start":6,"end":9,"label":"PER"`
	if output := done(t, `{"id":"x","text":"today Zoë saw New York ."}`+"\n", "predict", "--model",
		model); !strings.HasPrefix(output, want) || !strings.Contains(output, `{"start":14,"end":22,"label":"LOC"`) ||
		!strings.Contains(output, `"unit":"characters","length":6}`) {
		t.Errorf("unexpected output:\n%s", output)
	}
	contains(t, done(t, `{"tokens":[2,3]}`+"\n", "predict", "--model", model), `"unit":"tokens"`)
	done(t, "", "predict", "--model", model, "--input", in("a.conll"), "--text", "token", "--output", in("o.csv"))
	done(t, "", "predict", "--model", model, "--input", in("a.conll"), "--output", in("new/folder/o.csv"))
	equal(t, readText(t, in("new/folder/o.csv")), readText(t, in("o.csv")))
	if lines := strings.Split(readText(t, in("o.csv")), "\n"); len(lines) != 302 || lines[0] != "id,spans,unit,error" ||
		!strings.Contains(lines[1], `""label"":""PER""`) {
		t.Errorf("got %d lines, the first %q, want 302, a header and the label PER", len(lines), lines[:2])
	}
	done(t, "", "predict", "--model", model, "--input", in("a.jsonl"), "--text", "text", "--keep", "text",
		"--output", in("o.jsonl"))
	occurs(t, readText(t, in("o.jsonl")), `"spans":[{`, 300)
	done(t, "", "predict", "--model", model, "--input", in("a.jsonl"), "--text", "text", "--output", in("o.bed"))
	if lines, spans := strings.Split(strings.TrimSpace(readText(t, in("o.bed"))), "\n"),
		strings.Count(readText(t, in("o.jsonl")), `"start":`); len(lines) != spans || spans < 300 ||
		!strings.HasPrefix(lines[0], "a.jsonl:1\t") || len(strings.Split(lines[0], "\t")) != 6 {
		t.Errorf("got %d lines, the first %q, want one of six fields for each of the %d spans", len(lines), lines[0],
			spans)
	}
	done(t, "", "predict", "--model", model, "--input", in("words")+"/test.arrow", "--output", in("o.arrow"))
	contains(t, done(t, `{"text":"Zoë"}`+"\n", "embed", "--model", model), `"embedding":[`)
	contains(t, runCustom(t, in("words"), in("seeds"), "--seeds", "1,2", "--steps", "2", "--device", "cpu"),
		"validation span-f1 over 2 seeds: mean 0.")
	checkExplain(t, model, "today Zoë saw Oslo .", false)
	checkEvalShards(t, model, in("words"))
	runCustom(t, in("words"), in("poor"), "--epochs", "1", "--device", "cpu")
	checkSpanErrors(t, in("poor"), in("words"))
	done(t, "", "report", model, "--out", in("report.html"))
	page := readText(t, in("report.html"))
	contains(t, page, "<b>PER, found</b></mark>", "<b>LOC, right</b></mark>", "most frequent tag of each token",
		fmt.Sprintf("%.4f", result.Spans.F1), fmt.Sprintf("%d tokens with a label", result.Tokens))
	done(t, "", "pretrain", "--data", in("bytes"), "--out", in("pre"), "--steps", "2", "--device", "cpu")
	contains(t, runCustom(t, in("words"), in("accurate"), "--steps", "2", "--device", "cpu", "--select",
		"accuracy"), "selected by accuracy")
	runCustom(t, in("words"), in("accurate"), "--resume", "--steps", "3", "--select", "accuracy", "--device", "cpu")
	contains(t, runCustom(t, in("bytes"), in("on"), "--init-from", in("pre"), "--steps", "2", "--device",
		"cpu"), "parameters from")

	notContains(t, runCustom(t, in("words"), in("again"), "--init-from", model, "--steps", "2",
		"--device", "cpu"), "fresh")

	writeText(t, in("c.csv"), "text,label\na,x\nb,y\nc,x\nd,y\ne,x\nf,x\ng,y\nh,x\n")
	done(t, "", "data", "convert", "--from", in("c.csv"), "--to", in("classes"), "--text", "text", "--label", "label",
		"--tokenizer", "from:"+model, "--split", "0.5,0.25,0.25", "--no-baselines")
	rows := func(name, text string, args ...string) {
		t.Helper()
		done(t, "", append([]string{"data", "convert", "--from", writeText(t, in(name+".csv"), text), "--to", in(name),
			"--text", "text", "--tokenizer", "from:" + model, "--split", "0.5,0.25,0.25",
			"--no-baselines"}, args...)...)
	}
	rows("several", "text,label\na,x|y\nb,y\nc,x\nd,y\ne,x\nf,x\ng,y\nh,x\n", "--label", "label",
		"--label-separator", "|")
	rows("numbers", "text,size\na,1\nb,2\nc,3\nd,1\ne,5\nf,2\ng,4\nh,1\n", "--numbers", "size")
	rows("others", "text,label\na,x\nb,z\nc,x\nd,z\ne,w\nf,x\ng,z\nh,x\n", "--label", "label", "--labels", "x,z,w")
	rows("reordered", "text,label\na,x\nb,y\nc,x\nd,y\ne,x\nf,x\ng,y\nh,x\n", "--label", "label", "--labels", "y,x")
	convert := func(args ...string) []string {
		return append([]string{"data", "convert", "--from", in("a.jsonl"), "--to", in("no")}, args...)
	}
	for _, x := range []struct{ data, from, want string }{
		{"classes", model, "head.out.bias (its task is classification, the initial model's is tagging)"},
		{"several", model, "head.out.bias (its task is multi-label, the initial model's is tagging)"},
		{"numbers", in("from-classes"), "head.out.bias (its task is regression, the initial model's is " +
			"classification)"},
		{"words", in("from-numbers"), "head.out.bias (its task is tagging, the initial model's is regression)"},
		{"others", in("from-classes"), "head.out.bias (of its 3 classes, 1 are among the initial model's 2)"},
		{"reordered", in("from-classes"),
			"head.out.bias (its 2 classes are among the initial model's 2: to keep the head, convert the data with " +
				"--labels x,y)"},
	} {
		if output := runCustom(t, in(x.data), in("from-"+x.data), "--init-from", x.from, "--steps", "2", "--device",
			"cpu"); !strings.Contains(output, x.want) {
			t.Errorf("%s from %s: %q is missing in\n%s", x.data, x.from, x.want, output)
		}
	}

	for want, args := range map[string][]string{
		"write spans as BED with --output FILE.bed": {"predict", "--model", model, "--input", in("a.jsonl"),
			"--text", "text", "--format", "bed"},
		"its task is classification": {"eval", "--model", model, "--data", in("classes")},
		"--select loss: the run was started with other settings (": {"train", "custom", "--members", "sft",
			"--data", in("words"), "--out",
			in("accurate"), "--resume", "--select", "loss"},
		`--select "auc": expected a metric of task tagging, one of accuracy (`: {
			"train", "custom", "--members", "sft", "--data", in("words"), "--select", "auc", "--out", in("no")},
		"baselines need one label per row":      {"data", "baselines", "--data", in("words")},
		"--tags and --spans exclude each other": convert("--text", "text", "--tags", "a", "--spans", "spans"),
		"--spans excludes --label":              convert("--text", "text", "--label", "a", "--spans", "spans"),
		"--types needs --intervals":             convert("--text", "text", "--spans", "spans", "--types", "a"),
		"--spans needs text":                    convert("--tokens", "text", "--vocab", "9", "--spans", "spans"),
		"token offsets are not supported": convert("--text", "text", "--spans",
			"spans", "--tokenizer", "ids:9"),
		"overlapping tokens": convert("--text", "text", "--spans",
			"spans", "--tokenizer", "dna:3"),
	} {
		contains(t, failing(t, "", args...), want)
	}
}
