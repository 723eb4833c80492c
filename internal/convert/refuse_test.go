package convert

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestInvalidOptions checks the errors for invalid options and unusable rows, which must leave no directory,
// for an existing data set, and for a cancelled context, which must leave no files.
func TestInvalidOptions(t *testing.T) {
	from := writeFile(t, "a.csv", "text,label\na,1\n,2\n")
	for want, change := range map[string]func(*Options){
		"expected at least one file":                    func(o *Options) { o.From = nil },
		"expected one input (a text column":             func(o *Options) { o.Text = "" },
		"expected two columns":                          func(o *Options) { o.Text, o.Pair = "", []string{"text"} },
		"--tokens requires --vocab N":                   func(o *Options) { o.Text, o.Tokens = "", "text" },
		`column "txt": expected one of "text", "label"`: func(o *Options) { o.Text = "txt" },
		"no/file.csv":                                   func(o *Options) { o.From = append(o.From, "no/file.csv") },
		`tokenizer type "x": expected one of`:           func(o *Options) { o.Tokenizer = []byte(`{"type":"x"}`) },
		"expected a sum of 1, found 0.5": func(o *Options) {
			o.SplitFractions = []SplitFraction{{Split: "train",
				Fraction: 0.5}}
		},
		"validation fraction": func(o *Options) { o.Val = 1 },
		"expected a valid name and a fraction": func(o *Options) {
			o.SplitFractions = []SplitFraction{{Split: "../x",
				Fraction: 1}}
		},
		"a.csv:3: empty text":                      func(o *Options) { o.Strict = true },
		`found "1" twice`:                          func(o *Options) { o.Labels = []string{"1", "2", "1"} },
		"expected names that are not empty":        func(o *Options) { o.Labels = []string{"1", ""} },
		"no row can be used\n1 of 2 rows left out": func(o *Options) { o.Labels = []string{"3"} },
	} {
		o := textOptions(t, from)
		change(&o)
		must.Fail(t, want)(Convert(context.Background(), o))
		must.Fail(t, "", want, "the directory remains")(os.Stat(o.To))
	}
	o := textOptions(t, from)
	mustConvert(t, o)
	must.FailWith(t, seq.ErrExists)(Convert(context.Background(), o))
	o.Replace = true
	mustConvert(t, o)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o.To = t.TempDir()
	must.FailWith(t, context.Canceled)(Convert(ctx, o))
	if files, _ := os.ReadDir(o.To); len(files) != 0 {
		t.Errorf("got files %v, want none", files)
	}
}

// TestNoRows checks that the error for a file without rows names the file.
func TestNoRows(t *testing.T) {
	for name, text := range map[string]string{"h.csv": "text,label\n", "e.jsonl": "", "e.conll": ""} {
		path := writeFile(t, name, text)
		o := textOptions(t, path)
		if name == "e.conll" {
			o.Text, o.Label, o.Tags, o.Tokenizer = "token", "", "tag", []byte(`{"type":"words"}`)
		}
		_, _, err := Convert(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "rows") {
			t.Errorf("%s: got error %v, want one with the path and \"rows\"", name, err)
		}
	}
}

// TestOtherEncoding checks that a note suggests iconv for files that are not UTF-8, and only for them.
func TestOtherEncoding(t *testing.T) {
	for name, text := range map[string]string{
		"a.csv":   "text,label\ncaf\xe9,x\ncafe,y\n",
		"a.jsonl": "{\"text\":\"caf\xe9\",\"label\":\"x\"}\n{\"text\":\"cafe\",\"label\":\"y\"}\n",
		"b.csv":   "text,label\ncafe,x\ncafe,y\n",
	} {
		_, skipped := mustConvert(t, textOptions(t, writeFile(t, name, text)))
		if got := strings.Contains(skipped.String(), "iconv -f latin1 -t utf-8"); got != (name != "b.csv") {
			t.Errorf("%s: got %s, want a note on iconv: %t", name, skipped, name != "b.csv")
		}
	}
}
