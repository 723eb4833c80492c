package table

import (
	"io"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestCoNLL checks that a sentence is a row at the line of its first token. A bad sentence is
// reported with its line, and the next sentence is read.
func TestCoNLL(t *testing.T) {
	path := writeFile(t, "a.conll",
		"\ufeff-DOCSTART- -X- O\n\n# text = a b\n\na X O\r\nb\tY\tB-P\n   \n\n# Z O\n\nc X\n\n"+
			strings.Repeat("x", 99)+"\n\nd X O\n\n\xff X O\n\n\tX\tO\n\nlast X I-P")
	r := must.Get(Open(t.Context(), path, Options{Columns: []string{"token", "tag", "2"}, MaxField: 50}))(t)
	defer r.Close()
	var row Row
	for _, want := range []struct {
		line int64
		text string // text of the columns, or an error
	}{
		{5, "a b|O B-P|X Y"}, {9, "#|O|Z"}, {11, "line 11: expected 3 columns as in the first sentence, found 2"},
		{13, "line 13: the sentence has more than 50 bytes"},
		{15, "d|O|X"}, {17, "line 17: not UTF-8"}, {19, "line 19: column 1 is empty"}, {21, "last|I-P|X"},
	} {
		must.Succeed(t, r.Next(&row))
		got := ""
		if row.Err != nil {
			got = row.Err.Error()
		} else {
			got = row.Values[0].Text + "|" + row.Values[1].Text + "|" + row.Values[2].Text
		}
		if row.Line != want.line || got != want.text {
			t.Errorf("got line %d: %s, want %d: %s", row.Line, got, want.line, want.text)
		}
	}
	if err := r.Next(&row); err != io.EOF {
		t.Errorf("got error %v at the end, want io.EOF", err)
	}
	must.Fail(t, `column "word": expected token (the first column), tag (the last column)`)(Open(t.Context(), path,
		Options{Columns: []string{"word"}}))
}

// TestCoNLLU checks that a CoNLL-U file yields the form and part of speech of each word, and that multiword
// ranges and empty nodes are skipped.
func TestCoNLLU(t *testing.T) {
	path := writeFile(t, "a.conllu",
		"# text = one two three four five six seven eight\n1-2\tvamos\t_\t_\n1\tvamo\tir\tVERB\n2\ts\tnos\tPRON\n2.1\tno\tno\tADV\n# in between\n3\t#\t#\tSYM\n")
	r := must.Get(Open(t.Context(), path, Options{Columns: []string{"token", "tag"}}))(t)
	defer r.Close()
	var row Row
	if err := r.Next(&row); err != nil || row.Err != nil || row.Values[0].Text != "vamo s #" ||
		row.Values[1].Text != "VERB PRON SYM" {
		t.Errorf("got row %+v, error %v, want the tokens vamo s # with the tags VERB PRON SYM", row, err)
	}
}

// TestCoNLLColumns checks that a file that lacks a column is an error at its first token, with the
// line number.
func TestCoNLLColumns(t *testing.T) {
	for want, c := range map[string]struct{ text, column string }{
		"a.conll:2: expected a column 9, found 3 columns":         {"\na X O\n", "9"},
		"a.conll:1: expected a token and its tag, found 1 column": {"a\nb\n", "tag"},
	} {
		r := must.Get(Open(t.Context(), writeFile(t, "a.conll", c.text),
			Options{Columns: []string{"token", c.column}}))(t)
		var row Row
		if err := r.Next(&row); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
		r.Close()
	}
}

// TestCoNLLAmbiguous checks that a line that may be a token or a comment is an error of the sentence,
// with the line number.
func TestCoNLLAmbiguous(t *testing.T) {
	r := must.Get(Open(t.Context(), writeFile(t, "a.conll", "go VB\n\n#sentence 2\nnow RB\n\nstop VB\n"),
		Options{Columns: []string{"token", "tag"}}))(t)
	defer r.Close()
	var row Row
	for i, want := range []string{"",
		`line 3: found "#sentence 2", which begins with # like a comment but has the columns of a token and the unknown tag "2"`, ""} {
		must.Succeed(t, r.Next(&row))
		if (row.Err == nil) != (want == "") || want != "" && !strings.Contains(row.Err.Error(), want) {
			t.Errorf("row %d: got error %v, want %q", i, row.Err, want)
		}
	}
}

// TestCoNLLNumbers checks that the first column is rejected as the column of tokens if it numbers
// the words.
func TestCoNLLNumbers(t *testing.T) {
	path := writeFile(t, "a.conll", "1\tgo\tVB\n2\tnow\tRB\n\n1\tstop\tVB\n")
	must.Fail(t, "expected words in column 1, found word numbers as in CoNLL-X and CoNLL-U")(Open(t.Context(),
		path, Options{Columns: []string{"token", "tag"}}))
	must.Get(Open(t.Context(), path, Options{Columns: []string{"2", "3"}}))(t).Close()
	for _, text := range []string{"1 X\n2 X\n\n7 X\n", "1 X\n\n1 X\n"} {
		must.Get(Open(t.Context(), writeFile(t, "a.conll", text),
			Options{Columns: []string{"token", "tag"}}))(t).Close()
	}
}

// TestCoNLLComments checks that a line that begins with #, before a sentence, is a token only if it
// has a token's shape and a known tag or a span tag.
func TestCoNLLComments(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"tabs": {"# id = 1\na\tN\tX\tO\n\n# id = 2\nb\tN\tX\tO\n\n#\tN\tX\tO\n", "a|b|#"},
		"hashtag": {"#Liverpool\tB-team\nwon\tO\n\n#MUFC\tB-club\nlost\tO\n\n#Liverpool\tB-team\nagain\tO\n",
			"#Liverpool won|#MUFC lost|#Liverpool again"},
		"first of file": {"#MUFC B-club\nlost O\n\n# text = #MUFC B-club\n#newdoc\n#a B-other\n", "#MUFC lost|#a"},
		"parts": {"# global.columns = word tag\n#go VB\n# go\nnow RB\n\n# newdoc id\n#go RB\ngo VB\n\n#\tRB\n",
			"#go # now|#go go"},
		"four columns": {"#tag\tNN\tI-NP\tS-PER\nis\tVB\tI-VP\tO\n\n# a\tb\tc\td e\n#x\t\tI-NP\tO\nit\tNN\tI-NP\tB-PER\n", "#tag is|it"},
		"spaces":       {"# newdoc\na O\n\n# newdoc\nb O\n\n# O\nc O\n", "a|b|# c"},
	} {
		r, err := Open(t.Context(), writeFile(t, "a.conll", c.text), Options{Columns: []string{"token", "tag"}})
		must.Succeed(t, err)
		var row Row
		var found []string
		for err = r.Next(&row); err == nil; err = r.Next(&row) {
			if row.Err != nil {
				t.Fatalf("%s: %v", name, row.Err)
			}
			found = append(found, row.Values[0].Text)
		}
		if got := strings.Join(found, "|"); err != io.EOF || got != c.want {
			t.Errorf("%s: got %q, want %q, error %v", name, got, c.want, err)
		}
		r.Close()
	}
}

// TestCoNLLTagColumn checks that the last column is rejected as the tag column if it has no span tags and
// exactly one other column consists of span tags.
func TestCoNLLTagColumn(t *testing.T) {
	for text, want := range map[string]string{
		"EU B-ORG 0.99\nwon O 0.98\n":                "expected span tags in the last column (3), found them only in column 2: select column 2 (--tags 2) or the last column (--tags 3)",
		"B-ORG EU\nO won\n":                          "expected span tags in the last column (2), found them only in column 1",
		"EU NNP B-NP B-ORG\nwon VBD B-VP O\n":        "",
		"EU NNP B-NP\nwon VBD B-VP\n":                "",
		"EU B-NP B-ORG x\nwon B-VP O y\n":            "", // two columns could have the tags
		"EU NNP\nwon VBD\n":                          "",
		"EU B-ORG 0.99\nB-12 O 0.98\nwon VBD 0.97\n": "",
	} {
		path := writeFile(t, "a.conll", text)
		r, err := Open(t.Context(), path, Options{Columns: []string{"token", "tag"}})
		if want == "" {
			must.Succeed(t, err)
			r.Close()
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want %q", text, err, want)
		}
		for _, column := range []string{"2", "3"} {
			if column == "2" || strings.Contains(text, "0.99") {
				must.Get(Open(t.Context(), path, Options{Columns: []string{"1", column}}))(t).Close()
			}
		}
	}
}

// TestCoNLLWhiteSpace checks that white space other than spaces and tabs is part of a token.
func TestCoNLLWhiteSpace(t *testing.T) {
	r := must.Get(Open(t.Context(), writeFile(t, "a.conll", "5\u00a0000 B-NUM\nkm\u3000x  O\n"),
		Options{Columns: []string{"token", "tag"}}))(t)
	defer r.Close()
	var row Row
	must.Succeed(t, r.Next(&row))
	if row.Err != nil || row.Values[0].Text != "5\u00a0000 km\u3000x" || row.Values[1].Text != "B-NUM O" {
		t.Errorf("got %v, error %v, want two tokens that contain U+00A0 and U+3000, with the tags B-NUM O",
			row.Values, row.Err)
	}
}
