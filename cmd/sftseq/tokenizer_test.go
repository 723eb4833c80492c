package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestTokenizerFrom checks that rows with another tokenizer than the model's are refused, even if
// the vocabularies have the same size. With --tokenizer from:, data convert makes rows that are
// accepted.
func TestTokenizerFrom(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var first, second strings.Builder
	first.WriteString("text,label\n")
	second.WriteString("text,label\n")
	for i := range 200 {
		label := []string{"bad", "good"}[i%2]
		fmt.Fprintf(&first, "%s film number %d,%s\n", label, i%50, label)
		fmt.Fprintf(&second, "another %s one %d,%s\n", label, i%50, label)
	}
	a, b := writeText(t, at("a.csv"), first.String()), writeText(t, at("b.csv"), second.String())
	convert := func(from, to, tokenizer string) []string {
		return []string{"data", "convert", "--from", from, "--to", at(to), "--text", "text", "--label", "label",
			"--split", "0.5,0.2,0.3", "--tokenizer", tokenizer}
	}
	train := func(data, out string) []string {
		return []string{"train", "custom", "--members", "sft", "--data", at(data), "--out", at(out),
			"--steps", "2", "--batch", "8",
			"--hidden", "8", "--k", "4"}
	}
	const other = "has another vocabulary or other settings than the model's"
	for _, c := range []struct {
		args []string
		want string // part of the error; "" expects success
	}{
		{convert(a, "a", "words:9"), ""},
		{convert(b, "b", "words:9"), ""},
		{train("a", "model"), ""},
		{[]string{"eval", "--model", at("model"), "--data", at("a")}, ""},
		{[]string{"eval", "--model", at("model"), "--data", at("b")}, other},
		{[]string{"predict", "--model", at("model"), "--input", at("b/test.arrow"), "--output", at("x.arrow")}, other},
		{append(train("b", "tuned"), "--init-from", at("model")), other},
		{[]string{"report", "--out", at("model/config.json"), at("model")},
			"this would overwrite a file of the run"},
		{append(train("a", "none"), "--steps", "0"), "--steps 0: expected at least 1"},
		{[]string{"report", "--data", at("b"), "--out", at("x.html"), at("model")}, other},
		{convert(b, "c", "from:"+at("model")), ""},
		{[]string{"eval", "--model", at("model"), "--data", at("c")}, ""},
		{[]string{"predict", "--model", at("model"), "--input", at("c/test.arrow"), "--output", at("y.arrow")}, ""},
		{append(train("c", "tuned"), "--init-from", at("model")), ""},
		{convert(b, "d", "from:"+at("a")), ""},
		{convert(b, "e", "byte"), ""},
		{[]string{"predict", "--model", at("model"), "--input", at("e/test.arrow"), "--output", at("z.arrow")},
			"expected the tokenizer words, found byte"},
		{[]string{"eval", "--model", at("model"), "--data", at("e")},
			"expected the tokenizer words, found byte (use the model's tokenizer with data convert --tokenizer " +
				"from:MODEL)\n"},
		{append(train("e", "none"), "--init-from", at("model")),
			"expected the tokenizer words, found byte (use the model's tokenizer with data convert --tokenizer " +
				"from:MODEL"},
		{convert(b, "none", "mulaw"),
			"omit --tokenizer mulaw to choose a tokenizer for these rows, or use rows that the tokenizer mulaw " +
				"accepts\n"},
		{convert(b, "f", "from:"+dir), "found neither config.json nor dataset.json"},
	} {
		status, out, errs := program(nil, c.args...)
		if c.want == "" && status != 0 || c.want != "" && (status == 0 || !strings.Contains(errs, c.want)) {
			t.Errorf("%q: status %d, expected %q\n%s\n%s", c.args, status, c.want, out, errs)
		}
	}
	// The text of a row with unknown words is lost: head prints the row's token ids.
	if out := mustRunData(t, "head", "-n", "1", at("c")); strings.Contains(out, "text") ||
		!strings.Contains(out, `"tokens":[`) {
		t.Errorf("head prints %q, want it to contain %q and not %q", out, `"tokens":[`, "text")
	}
	contains(t, mustRunData(t, "head", "-n", "1", at("a")), `film number`)
}

// TestTokenizerOfEnsemble checks that an ensemble has the tokenizer of its first member. A member outside
// the ensemble's folder is not read. The folder itself and an empty name are not members.
func TestTokenizerOfEnsemble(t *testing.T) {
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "one"), 0o777))
	writeText(t, filepath.Join(dir, "one", "config.json"), `{"tokenizer":{"type":"byte"}}`)
	writeText(t, filepath.Join(dir, "config.json"), `{"members":["one","two"]}`)
	if got := string(must.Get(readTokenizer(dir))(t)); got != `{"type":"byte"}` {
		t.Errorf("got the tokenizer %s, want the one of the first member", got)
	}
	outside := filepath.Join(dir, "one", "ensemble")
	must.Succeed(t, os.Mkdir(outside, 0o777))
	for _, member := range []string{"../../one", ".", ""} {
		writeText(t, filepath.Join(outside, "config.json"), `{"members":["`+member+`"]}`)
		must.Fail(t, "has no tokenizer")(readTokenizer(outside))
	}
}
