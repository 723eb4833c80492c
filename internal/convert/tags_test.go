package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// tagOptions returns the options for a table of tags. All rows are in one split.
func tagOptions(t *testing.T, from string, change func(*Options)) Options {
	o := Options{From: []string{from}, To: filepath.Join(t.TempDir(), "set"), Name: "own", Text: "text",
		SplitFractions: []SplitFraction{{Split: "train", Fraction: 1}}}
	change(&o)
	return o
}

// tagRows returns each row of a data set as its tokens with their tags; "-" means no tag.
func tagRows(t *testing.T, d *seq.Dataset) (rows []string) {
	t.Helper()
	must.Succeed(t, d.Verify())
	f := must.Get(d.Open("train"))(t)
	defer f.Close()
	tokenizer := must.Get(tokenizers.New(d.Manifest.Tokenizer))(t)
	for i := range f.Len() {
		e := must.Get(f.Example(i))(t)
		var out []string
		for at, label := range e.Labels {
			tag := "-"
			if label != seq.NoLabel {
				tag = d.Manifest.LabelNames[label]
			}
			out = append(out, tokenizer.Decode(e.A[at:at+1])+"/"+tag)
		}
		rows = append(rows, strings.Join(out, " "))
	}
	return rows
}

// TestTags checks that every token gets the right tag, for each kind of input.
func TestTags(t *testing.T) {
	words := func(o *Options) { o.Tags, o.Tokenizer = "tags", []byte(`{"type":"words"}`) }
	spans := func(o *Options) { o.Spans, o.Tokenizer = "spans", []byte(`{"type":"words"}`) }
	intervals := func(name, text string) func(o *Options) {
		return func(o *Options) {
			o.Text, o.Tokenizer, o.Intervals = "sequence", []byte(`{"type":"dna"}`), writeFile(t, name, text)
		}
	}
	for _, c := range []struct {
		name, text string
		change     func(*Options)
		want       string
	}{
		{"a.conll", "-DOCSTART- -X- O\n\nU.S. NNP B-LOC\r\nwins VB O\n\n\n# 1 a comment\nNew NN B-LOC\nYork NN I-LOC",
			func(o *Options) { words(o); o.Text, o.Tags = "token", "tag" },
			"u/B-LOC ./I-LOC s/I-LOC ./I-LOC wins/O|new/B-LOC york/I-LOC"},
		{"a.conll", "is\tVB\tO\nall\tDT\tO\n",
			func(o *Options) { words(o); o.Text, o.Tags = "1", "2" }, "is/VB all/DT"},
		{"a.jsonl", `{"text":["Jo","O'Neil"],"tags":["B-P","I-P"]}` + "\n" + `{"text":["a","b"],"tags":[null,-100]}`,
			words, "jo/B-P o/I-P '/I-P neil/I-P|a/- b/-"},
		{"a.jsonl", `{"text":["a","b"],"tags":[1,0]}`, func(o *Options) { words(o); o.Labels = []string{"O", "B-X"} },
			"a/B-X b/O"},
		{"a.jsonl", `{"text":["a","bc","d"],"tags":["B-X","I-X","O"]}`, func(o *Options) {
			o.Tags, o.Tokenizer = "tags",
				[]byte(`{"type":"byte"}`)
		},
			"a/B-X  /I-X b/I-X c/I-X  /O d/O"},
		{"a.iob", "to O\nEk I-PER\nde I-PER\nX B-PER\n", func(o *Options) {
			o.Text, o.Tags, o.Tokenizer = "token",
				"tag", []byte(`{"type":"byte"}`)
		},
			"t/O o/O  /O E/I-PER k/I-PER  /I-PER d/I-PER e/I-PER  /O X/B-PER"},
		{"a.jsonl", `{"text":["a","b"],"tags":["B-ORG","I-LOC"]}` + "\n" + `{"text":["a","b"],"tags":[null,"I-LOC"]}`,
			func(o *Options) { o.Tags, o.Tokenizer = "tags", []byte(`{"type":"byte"}`) },
			"a/B-ORG  /O b/I-LOC|a/-  /- b/I-LOC"},
		{"a.jsonl", `{"text":["a","b"],"tags":["noun","verb"]}`, func(o *Options) {
			o.Tags, o.Tokenizer = "tags",
				[]byte(`{"type":"byte"}`)
		}, "a/noun  /- b/verb"},
		{"a.jsonl", `{"text":"ACG","tags":["x","x","y"]}`, func(o *Options) {
			o.Tags, o.Tokenizer = "tags",
				[]byte(`{"type":"dna"}`)
		}, "A/x C/x G/y"},
		{"a.jsonl", `{"text":[1,2],"tags":["x","y"]}`, func(o *Options) {
			o.Text, o.Tokens, o.Vocab, o.Tags = "",
				"text", 5, "tags"
		}, "1/x 2/y"},
		{"a.jsonl", `{"text":"Zoë met Ann Lee.","spans":[{"start":8,"end":15,"label":"PER"},{"start":0,"end":3,"label":"PER"}]}` + "\n" + `{"text":"no one","spans":[]}`, spans,
			"zoë/B-PER met/O ann/B-PER lee/I-PER ./O|no/O one/O"},
		{"a.csv", "text,spans\nab,\"[{\"\"start\"\":1,\"\"end\"\":2,\"\"label\"\":\"\"X\"\"}]\"\n",
			func(o *Options) { o.Spans, o.Tokenizer = "spans", []byte(`{"type":"byte"}`) }, "a/O b/B-X"},
		{"a.csv", "text,tags\na b,X null\nc d,null Y\n", words, "a/X b/-|c/- d/Y"},
		{"a.fa", ">s\nAC\nGT\n>u\nAA\n", intervals("x.bed", "track x\ns\t1\t3\tgene\n"),
			"A/O C/B-gene G/I-gene T/O|A/O A/O"},
		{"a.fa", ">track_3\nACGT\n>browser\nAA\n",
			intervals("x.bed", "browser position chr1:1-9\ntrack\tname=\"x\"\ntrack\ntrack_3\t1\t4\tg\nbrowser\t0\t1\tg\n"),
			"A/O C/B-g G/I-g T/I-g|A/B-g A/O"},
		{"a.fa", ">s\nACGT\n", intervals("x.bed", "s\t0\t2\tgene\ns\t1\t1\tcut\ns\t4\t4\tcut\n"),
			"A/B-gene C/I-gene G/O T/O"},
		{"a.fa", ">s\nACGT\n", intervals("x.gff3",
			"##gff-version 3\ns\t.\tgene\t1\t2\t.\t+\t.\t.\ns\t.\texon\t3\t3\t.\t+\t.\t.\n"),
			"A/B-gene C/I-gene G/B-exon T/O"},
		{"a.conll", "New B-LOC\nYork I-LOC\nCity E-LOC\nsaw O\nBob S-PER\nBill S-PER\n",
			func(o *Options) { words(o); o.Text, o.Tags = "token", "tag" },
			"new/B-LOC york/I-LOC city/I-LOC saw/O bob/B-PER bill/B-PER"},
		{"a.bio", "Bob U-PER\nBill L-PER\nNew B-LOC\nYork L-LOC\nOslo I-LOC\n",
			func(o *Options) { o.Text, o.Tags, o.Tokenizer = "token", "tag", []byte(`{"type":"byte"}`) },
			"B/B-PER o/I-PER b/I-PER  /O B/B-PER i/I-PER l/I-PER l/I-PER  /O N/B-LOC e/I-LOC w/I-LOC  /I-LOC Y/I-LOC o/I-LOC r/I-LOC k/I-LOC  /O O/B-LOC s/I-LOC l/I-LOC o/I-LOC"},
		{"a.jsonl", `{"text":["a","b","c","d"],"tags":["B-X","M-X","E-X","W-X"]}`, words, "a/B-X b/I-X c/I-X d/B-X"},
		{"a.jsonl", `{"text":["a","b","c"],"tags":["S-X",null,"S-Y"]}` + "\n" + `{"text":["a","b"],"tags":["S-X","O"]}`,
			words, "a/B-X b/- c/B-Y|a/B-X b/O"},
		{"a.jsonl", `{"text":["a","b","c","d"],"tags":[2,4,3,0]}`,
			func(o *Options) { words(o); o.Labels = []string{"O", "B-X", "U-X", "L-X", "I-X"} },
			"a/B-X b/B-X c/I-X d/O"},
		{"a.csv", "text,tags\na b c,S-PER S-PER O\n", words, "a/B-PER b/B-PER c/O"},
		{"a.jsonl", `{"text":["a","b","c"],"tags":["B-X","E-mail","S-bahn"]}`, words, "a/B-X b/E-mail c/S-bahn"},
		{"a.jsonl", `{"text":["a","b","c"],"tags":["S-shirt","M-shirt","L-shirt"]}`, words,
			"a/S-shirt b/M-shirt c/L-shirt"},
		{"a.fa", ">s1 x\nACG TAC\n>s2\nA\tA A\n", intervals("x.bed", "\ufeffs1\t3\t5\tgene\ns2\t1\t3\trep\n"),
			"A/O C/O G/O T/B-gene A/I-gene C/O|A/O A/B-rep A/I-rep"},
		{"a.fa", ">s1\tx\nACG\n",
			intervals("x.GTF", "\ufeff#!genome\n \ns1\tsrc\tgene\t1\t2\t.\t-\t.\tgene_id \"g1\";\n"),
			"A/B-gene C/I-gene G/O"},
		{"a.jsonl", `{"sequence":"AC GT\nA","id":"s"}`, func(o *Options) {
			intervals("x.gff2", "s\t.\tgene\t3\t5\t.\t+\t.\t.\n")(o)
			o.ID = "id"
		}, "A/O C/O G/B-gene T/I-gene A/I-gene"},
		{"a.fa", ">s\nACGT\n", func(o *Options) {
			intervals("x.gff", "s\t.\tgene\t1\t4\t.\t+\t.\t.\ns\t.\texon\t3\t3\t.\t+\t.\t.\n")(o)
			o.IntervalTypes = []string{"exon"}
		}, "A/O C/O G/B-exon T/O"},
	} {
		d, skipped := mustConvert(t, tagOptions(t, writeFile(t, c.name, c.text), c.change))
		if got := strings.Join(tagRows(t, d), "|"); got != c.want || skipped.Left() != 0 {
			t.Errorf("%s %q: got\n%s, want\n%s\n%s", c.name, c.text, got, c.want, skipped)
		}
	}
}

// TestMarkedEnds checks that tags that mark the ends of spans are converted in all chunks of rows and
// reported in one note. If only later rows mark ends, conversion must fail unless the options name
// the tags.
func TestMarkedEnds(t *testing.T) {
	var bioes, late strings.Builder
	for i := range 20_000 { // more than a chunk of rows
		fmt.Fprintf(&bioes, "{\"text\":[\"a\",\"b%d\"],\"tags\":[\"S-X\",\"%s-X\"]}\n", i, []string{"S", "B"}[i%2])
		fmt.Fprintf(&late, "{\"text\":[\"a\",\"b%d\"],\"tags\":[\"O\",\"%s-X\"]}\n", i, []string{"B", "S"}[i/19_999])
	}
	words := func(o *Options) { o.Tags, o.Tokenizer = "tags", []byte(`{"type":"words"}`) }
	d, skipped := mustConvert(t, tagOptions(t, writeFile(t, "a.jsonl", bioes.String()), words))
	if got := skipped.String(); !slices.Equal(d.Manifest.LabelNames, []string{"B-X"}) ||
		strings.Count(got, "the tags mark the ends of spans (BIOES, BILOU)") != 1 {
		t.Errorf(`got labels %q and report %s; want ["B-X"] and one note "the tags mark the ends of spans (BIOES, …)"`,
			d.Manifest.LabelNames, got)
	}
	path := writeFile(t, "a.jsonl", late.String())
	_, _, err := Convert(t.Context(), tagOptions(t, path, words))
	if err == nil || !strings.Contains(err.Error(),
		"expected BIO tags as in the first rows, found tags that mark the ends of spans") {
		t.Errorf("got error %v, want one on tags that mark the ends of spans", err)
	}
	d, _ = mustConvert(t, tagOptions(t, path, func(o *Options) { words(o); o.Labels = []string{"O", "B-X", "S-X"} }))
	if !slices.Equal(d.Manifest.LabelNames, []string{"O", "B-X"}) {
		t.Errorf("got labels %q, want O and B-X", d.Manifest.LabelNames)
	}
}

// TestSkippedTags checks that a row with invalid tags or spans is left out and reported with its location
// and the reason, and that invalid intervals are errors.
func TestSkippedTags(t *testing.T) {
	byteSpans := func(o *Options) { o.Spans, o.Tokenizer = "spans", []byte(`{"type":"byte"}`) }
	good := `{"text":"ok","spans":[],"tags":["x","y"]}` + "\n"
	for _, c := range []struct {
		name, text string
		change     func(*Options)
		want       string
	}{
		{"a.jsonl", `{"text":"ab","spans":[{"start":1,"end":3,"label":"X"}]}`, byteSpans,
			"a span beyond its text\n  a.jsonl:2: column spans: 1 to 3, but the text has 2 characters"},
		{"a.jsonl", `{"text":"abc","spans":[{"start":0,"end":2,"label":"X"},{"start":1,"end":3,"label":"Y"}]}`,
			byteSpans, "spans overlap\n  a.jsonl:2: column spans: 0 to 2 and 1 to 3"},
		{"a.jsonl", `{"text":"abc","spans":[{"start":2,"end":2,"label":"X"}]}`, byteSpans,
			"malformed span\n  a.jsonl:2: column spans: span 0: expected start, a larger end and a label"},
		{"a.jsonl", `{"text":"abc","spans":7}`, byteSpans, `no list of spans`},
		{"a.jsonl", `{"text":"abc"}`, byteSpans, "no tags\n  a.jsonl:2: column spans: found nothing"},
		{"a.csv", "text,spans\nok,[]\nab,null\n", byteSpans, "no tags\n  a.csv:3: column spans: found nothing"},
		{"a.csv", "text,tags\na b,X Y\nc,null\n", func(o *Options) {
			o.Tags, o.Tokenizer = "tags",
				[]byte(`{"type":"words"}`)
		}, "no tags\n  a.csv:3: column tags: found nothing"},
		{"a.jsonl", `{"text":"abc d","spans":[{"start":1,"end":3,"label":"X"}]}`,
			func(o *Options) { o.Spans, o.Tokenizer = "spans", []byte(`{"type":"words","words":["abc"]}`) },
			"begins or ends within a token"},
		{"a.jsonl", `{"text":"a  b","spans":[{"start":1,"end":2,"label":"X"}]}`,
			func(o *Options) { o.Spans, o.Tokenizer = "spans", []byte(`{"type":"words","words":["abc"]}`) },
			"a span without a token"},
		{"a.jsonl", `{"text":["a","b"],"tags":["O"]}`, func(o *Options) {
			o.Tags, o.Tokenizer = "tags",
				[]byte(`{"type":"byte"}`)
		}, "the numbers of tags and words differ\n  a.jsonl:2: expected 2 tags, one for each word, found 1"},
		{"a.jsonl", `{"text":"ab","tags":["O"]}`, func(o *Options) {
			o.Tags, o.Tokenizer = "tags",
				[]byte(`{"type":"byte"}`)
		}, "the numbers of tags and tokens differ\n  a.jsonl:2: expected 2 tags, one for each token, found 1"},
		{"a.jsonl", `{"text":["a b"],"tags":["O"]}`, func(o *Options) {
			o.Tags, o.Tokenizer = "tags",
				[]byte(`{"type":"byte"}`)
		}, `word 0: expected a word that is not empty and has no space, found "a b"`},
		{"a.jsonl", `{"text":"ab","tags":["x","z"]}`, func(o *Options) {
			o.Tags, o.Tokenizer, o.Labels = "tags", []byte(`{"type":"byte"}`), []string{"x", "y"}
		}, "the label is not in --labels\n  a.jsonl:2: expected one of x, y, found \"z\""},
		{"a.conll", "a O\nb O\n\nc X O\n", func(o *Options) {
			o.Text, o.Tags, o.Tokenizer = "token", "tag",
				[]byte(`{"type":"byte"}`)
		}, "line 4: expected 2 columns as in the first sentence, found 3"},
	} {
		path, text := writeFile(t, c.name, c.text), c.text
		if c.name == "a.jsonl" {
			text = good + text
			must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
		}
		d, skipped := mustConvert(t, tagOptions(t, path, c.change))
		reported := strings.ReplaceAll(skipped.String(), filepath.Dir(path)+"/", "")
		if d.Manifest.Splits["train"].Rows != 1 || skipped.Left() != 1 || !strings.Contains(reported, c.want) {
			t.Errorf("%s: got %s, want %s", c.text, reported, c.want)
		}
	}
	for _, c := range []struct{ intervals, text, k, want string }{
		{"x.bed", "s\t1\t5\tgene\n", "1",
			"x.bed:1: interval 1 to 5: expected an end of at most 4, the number of bases of \"s\""},
		{"x.bed", "s\t1\t2\tgene\nnone\t1\t2\tgene\n", "1", `x.bed:2: found no sequence named "none", expected one of "s"`},
		{"x.bed", "s\t2\t2\tgene\n", "1", "expected intervals, found none in 1 lines"},
		{"x.bed", "s\t2\t1\tgene\n", "1", "x.bed:1: expected a start, an end not before the start"},
		{"x.gff", "s\t.\tgene\t2\t1\n", "1", "x.gff:1: expected a start, an end not before the start"},
		{"x.bed", "#\ns\t1\t2\n", "1", "x.bed:2: expected the tab-separated columns chrom, start, end, name, " +
			"found 3 columns: add a fourth column with the label of each interval, such as gene"},
		{"x.gff3", "s\t.\tgene\t1\t3\t.\ns\t.\texon\t2\t3\t.\n", "1", "x.gff3:2: exon overlaps gene on line 1"},
		{"x.bed", "# nothing\n", "1", "expected intervals, found none in 1 lines"},
		{"x.txt", "", "1", "expected a file name that ends in .bed, .gff, .gff2, .gff3 or .gtf"},
		{"x.bed", "s\t1\t2\tgene\n", "3", "tokenizer dna:3: overlapping tokens of 3 bases"},
	} {
		o := tagOptions(t, writeFile(t, "a.fa", ">s\nACGT\n"), func(o *Options) {
			o.Text, o.Tokenizer, o.Intervals = "sequence", []byte(`{"type":"dna","k":`+c.k+`}`),
				writeFile(t, c.intervals, c.text)
		})
		must.Fail(t, c.want, c.text)(Convert(context.Background(), o))
		must.Fail(t, "", c.text, "the directory exists")(os.Stat(o.To))
	}
}

// TestHuggingFaceTags checks that integer tags of a data set saved by Hugging Face's datasets library get
// their names.
func TestHuggingFaceTags(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "tokens", Type: arrow.ListOf(arrow.BinaryTypes.String)},
		{Name: "ner_tags", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)}}, nil)
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema,
		strings.NewReader(`[{"tokens":["Jo","Lee","ran"],"ner_tags":[1,2,0]},{"tokens":["a","b"],"ner_tags":[-1,0]}]`))
	must.Succeed(t, err)
	defer record.Release()
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	must.Succeed(t, errors.Join(w.Write(record), w.Close()))
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.arrow":    stream.String(),
		"state.json": `{"_data_files":[{"filename":"a.arrow"}]}`,
		"dataset_info.json": `{"features":{"tokens":{"feature":{"dtype":"string","_type":"Value"},"_type":"Sequence"},
			"ner_tags":{"feature":{"names":["O","B-PER","I-PER"],"_type":"ClassLabel"},"_type":"Sequence"}}}`,
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	d, skipped := mustConvert(t,
		tagOptions(t, dir, func(o *Options) {
			o.Text, o.Tags, o.Tokenizer = "tokens", "ner_tags",
				[]byte(`{"type":"words"}`)
		}))
	if got, want := strings.Join(tagRows(t, d), "|"), "jo/B-PER lee/I-PER ran/O|a/- b/O"; got != want ||
		skipped.Left() != 0 {
		t.Errorf("got %s, want %s\n%s", got, want, skipped)
	}
}

// TestMixedTags checks that a tag without a BIO prefix among BIO tags is an error with its location,
// unless the options name all tags. Inconsistent prefixes and other spellings of BIO must get a note.
func TestMixedTags(t *testing.T) {
	conll := func(o *Options) { o.Text, o.Tags, o.Tokenizer = "token", "tag", []byte(`{"type":"words"}`) }
	good := "Ann S-PER\nsaw O\nNew B-LOC\nYork E-LOC\n\n"
	for name, text := range map[string]string{
		`x.conll:6: tag "s-per": expected O or a span tag (B-X, I-X), as for 3 other tags`: good +
			"Bob s-per\nran O\n\n",
		`x.conll:1: tag "tag": expected O or a span tag`: "word tag\n" + good,
		`x.conll:1: tag "PER": expected O`:               "Ann PER\n\nBob B-PER\nLee I-PER\n\n",
	} {
		_, _, err := Convert(t.Context(), tagOptions(t, writeFile(t, "x.conll", text), conll))
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
	named := func(o *Options) { conll(o); o.Labels = []string{"O", "PER", "B-PER", "I-PER"} }
	mustConvert(t, tagOptions(t, writeFile(t, "x.conll", "Ann PER\n\nBob B-PER\nLee I-PER\n\n"), named))
	for text, want := range map[string]string{
		"Ann b-per\nLee i-per\nran O\n\n": "tags such as b-per resemble BIO but are not read as spans",
		"Ann PER-B\nLee PER-I\nran O\n\n": "tags such as PER-B resemble BIO",
		"Ann b-per\nLee i-per\nran o\n\n": "tags such as b-per resemble BIO",
		"Ann B_PER\nLee I_PER\n\n":        "tags such as B_PER resemble BIO",
		"the DT\ncat NN\n\n":              "",
		good:                              "",
		"Ann B-PER\nLee E-LOC\n\n" +
			good: "1 row has a span without a begin or end tag, first at ",
		good + "Lee E-LOC\n\nran O\n\nLee E-LOC\n\n":  "2 rows have a span without a begin or end tag, first at ",
		good + "Ann B-PER\nsaw O\n\n":                 "1 row has a span without a begin or end tag",
		good + "Ann B-PER\n\n":                        "1 row has a span without a begin or end tag",
		good + "Ann B-PER\nvan M-PER\nLee E-PER\n\n":  "",
		"Ann B-PER\nsaw O\n\nsaw O\nLee I-PER\n\n":    "", // valid BIO if read as IOB1
		good + "New B-LOC\nYork E-LOC\nLee I-PER\n\n": "1 row has a span without a begin or end tag, first at ",
	} {
		_, skipped := mustConvert(t, tagOptions(t, writeFile(t, "x.conll", text), conll))
		notes := strings.ReplaceAll(skipped.String(),
			"column tag: the tags mark the ends of spans (BIOES, BILOU): E-X, L-X and M-X become I-X; S-X, U-X and W-X become B-X", "")
		if want == "" && strings.Contains(notes, "column tag") || !strings.Contains(notes, want) {
			t.Errorf("%q: got %s, want %q", text, notes, want)
		}
	}
}

// TestOneLongSentence checks that a file without empty lines is read as a single row. If no training row
// is left to learn a tokenizer, the error must mention the missing empty lines.
func TestOneLongSentence(t *testing.T) {
	o := tagOptions(t, writeFile(t, "x.conll", strings.Repeat("Ann B-PER\nsaw O\n", 300)), func(o *Options) {
		o.Text, o.Tags, o.Tokenizer, o.SplitFractions = "token", "tag", []byte(`{"type":"words"}`),
			[]SplitFraction{{Split: "train", Fraction: 0}, {Split: "val", Fraction: 1}}
	})
	_, _, err := Convert(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "0 of 1 rows of "+o.From[0]+" are in the training split") ||
		!strings.Contains(err.Error(),
			"x.conll: found one sentence of 600 tokens: expected an empty line after each sentence") {
		t.Errorf("got error %v, want one on the training split and on missing empty lines", err)
	}
}
