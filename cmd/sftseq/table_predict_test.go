package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/internal/testenv"
)

// moodModel trains a small classifier of texts of up to 1,000 bytes with the classes bad and good, and
// returns its directory.
func moodModel(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	args := []string{"train", "custom", "--members", "sft", "--data", customData(t, "--label", "mood"),
		"--out", dir, "--steps", "2",
		"--hidden", "8", "--layers", "1", "--k", "2", "--batch", "8"}
	done(t, "", args...)
	config := map[string]any{}
	must.Succeed(t, json.Unmarshal([]byte(readText(t, filepath.Join(dir, "config.json"))), &config))
	config["max_position_embeddings"] = 1000
	// The tests predict rows that are longer than the training rows.
	config["extra"].(map[string]any)["longest_row"] = 1000
	writeText(t, filepath.Join(dir, "config.json"), string(must.Get(json.Marshal(config))(t)))
	return dir
}

// csvRows returns the rows of a CSV file as maps from column to field.
func csvRows(t *testing.T, path string) (out []map[string]string) {
	t.Helper()
	rows := must.Get(csv.NewReader(strings.NewReader(readText(t, path))).ReadAll())(t)
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, name := range rows[0] {
			if _, twice := m[name]; twice {
				t.Fatalf("%s: column %s occurs twice", path, name)
			}
			m[name] = row[i]
		}
		out = append(out, m)
	}
	return out
}

// TestJoin predicts a table of 50,000 rows, some malformed, and joins predictions and table by id.
// Each row occurs once and has its own prediction.
func TestJoin(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover; its baselines are slow")
	model, dir := moodModel(t), t.TempDir()
	const rows = 50000
	var text strings.Builder
	text.WriteString("key,stars,text\n")
	bad := map[int]string{} // error messages by row
	nameless := map[int]string{}
	line := 2
	for i := range rows {
		field := fmt.Sprintf("text %d", i%977)
		switch i % 1000 {
		case 17:
			bad[i], field = "expected at least 1 token", ""
		case 100:
			bad[i], field = "not UTF-8", "\xff"
		case 500:
			bad[i], field = "expected 3 columns, found 4", "a,b"
		case 501:
			bad[i], field = "column 1", "\"a\" b"
		case 900:
			bad[i], field = "the sequence has", strings.Repeat("long", 300)
		case 901:
			field = "\"two\nlines, and \"\"quotes\"\"\""
		}
		key := fmt.Sprintf("k%d", i)
		if i%1000 == 300 {
			key = ""
		}
		if key == "" {
			nameless[i] = fmt.Sprintf("big.csv:%d", line)
		}
		fmt.Fprintf(&text, "%s,%d,%s\n", key, i%10, field)
		line += 1 + strings.Count(field, "\n")
	}
	from, to := writeText(t, filepath.Join(dir, "big.csv"), text.String()), filepath.Join(dir, "scored.csv")
	status, out, errs := program(nil, "predict", "--model", model, "--input", from, "--text", "text", "--id", "key",
		"--keep", "stars", "--output", to)
	failed := fmt.Sprintf("%d of %d rows failed, the first: %s:19: column text: expected at least 1 token", len(bad),
		rows, from)
	if status != exitError || out != "" || !strings.Contains(errs, failed) {
		t.Fatalf("got status %d, output %q, standard error %q; want %d, \"\", one that contains %q", status, out, errs,
			exitError, failed)
	}
	byID := map[string]map[string]string{}
	scored := csvRows(t, to)
	for _, row := range scored {
		if byID[row["id"]] != nil {
			t.Fatalf("id %s occurs twice", row["id"])
		}
		byID[row["id"]] = row
	}
	if len(scored) != rows {
		t.Fatalf("%d rows, want %d", len(scored), rows)
	}
	seen := map[string]string{} // probability by text
	for i := range rows {
		id := fmt.Sprintf("k%d", i)
		if nameless[i] != "" {
			id = nameless[i]
		}
		row := byID[id]
		if row == nil || scored[i]["id"] != id {
			t.Fatalf("row %d: id %s is missing or in another row: %v", i, id, scored[i])
		}
		if why := bad[i]; why != "" {
			if !strings.Contains(row["error"], why) || row["label"] != "" || row["probability_good"] != "" ||
				!strings.HasPrefix(row["error"], from+":") {
				t.Fatalf("row %d: %v, want an error with %q", i, row, why)
			}
			if row["stars"] != fmt.Sprint(i%10) { // the column before the text
				t.Fatalf("row %d: %v, want %d stars", i, row, i%10)
			}
			continue
		}
		good, err := strconv.ParseFloat(row["probability_good"], 32)
		worse, err2 := strconv.ParseFloat(row["probability_bad"], 32)
		want := map[bool]string{true: "good", false: "bad"}[good > worse]
		if err != nil || err2 != nil || row["label"] != want || row["stars"] != fmt.Sprint(i%10) ||
			row["error"] != "" || good+worse < 0.999 || good+worse > 1.001 {
			t.Fatalf("row %d: %v, want label %s, %d stars, probabilities of sum 1 and no error", i, row, want, i%10)
		}
		of := fmt.Sprint(i % 977)
		if i%1000 == 901 {
			of = "two"
		}
		if before, ok := seen[of]; ok && before != row["probability_good"] {
			t.Fatalf("row %d: %v; another row of the same text has %s", i, row, before)
		}
		seen[of] = row["probability_good"]
	}
	if len(seen) != 978 || len(bad) != 250 {
		t.Errorf("%d texts and %d bad rows, want 978 and 250", len(seen), len(bad))
	}
	// Compare a few predictions with those for JSON lines.
	var lines strings.Builder
	for i := range 5 {
		fmt.Fprintf(&lines, "{\"text\":\"text %d\"}\n", i)
	}
	for i, r := range replyLines(t, succeed(t, lines.String(), "predict", "--model", model)) {
		if got := scored[i]["probability_good"]; got != fmt.Sprint(r.Probabilities[1]) ||
			scored[i]["label"] != r.Label {
			t.Errorf("row %d: %v, want %v", i, scored[i], r)
		}
	}
}

// TestUnevenRows checks rows with too many fields, too few fields or a stray quote. The columns
// before the text are kept. A column after the text may be misaligned and is ignored.
func TestUnevenRows(t *testing.T) {
	model, dir := moodModel(t), t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"before.csv": {"key,text,n\nk1,a,b,2\nk2,a\nk3,a \"b\",2\nk4,\"a\"b,2\nk5,ab,2\n", "[k1  k2  k3  k4  k5 2]"},
		"before.tsv": {"key\ttext\tn\nk1\ta\tb\t2\nk5\tab\t2\n", "[k1  k5 2]"},
		"behind.csv": {"text,key,n\na,b,k1,2\nab,k5,2\n", "[behind.csv:2  k5 2]"},
	} {
		from, to := writeText(t, filepath.Join(dir, name), c.text), filepath.Join(dir, "out-"+name+".csv")
		exits(t, exitError, "", "predict", "--model", model, "--input", from, "--text", "text", "--id", "key",
			"--keep", "n", "--output", to)
		var got []string
		for _, row := range csvRows(t, to) {
			got = append(got, row["id"], row["n"])
		}
		equal(t, fmt.Sprint(got), c.want, name, got)
	}
}

// TestKeptNested checks that --keep copies JSON lists and objects as compact JSON.
func TestKeptNested(t *testing.T) {
	model, dir := moodModel(t), t.TempDir()
	from := writeText(t, filepath.Join(dir, "a.jsonl"),
		`{"doc":{"t":"aab"},"tags":["x", "y"],"meta":{"a" : [1.5, null]},"n":[1, 2]}`+"\n")
	args := []string{"predict", "--model", model, "--input", from, "--text", "doc.t", "--keep", "tags,meta,n,meta.a"}
	to := filepath.Join(dir, "out.csv")
	succeed(t, "", append(args, "--output", to)...)
	if row := csvRows(t, to)[0]; row["tags"] != `["x","y"]` || row["meta"] != `{"a":[1.5,null]}` ||
		row["n"] != "[1,2]" || row["meta.a"] != "[1.5,null]" || row["label"] == "" {
		t.Errorf("got row %v, want a label, and the lists and objects as compact JSON", row)
	}
	contains(t, succeed(t, "", args...),
		`"tags":["x","y"],"meta":{"a":[1.5,null]},"n":[1,2],"meta.a":[1.5,null],"label":"`)
}

// TestTableFormats checks that predictions do not depend on the format of the input, and checks the
// rows and the columns of each output format.
func TestTableFormats(t *testing.T) {
	model, dir := moodModel(t), t.TempDir()
	at := func(name, text string) string { return writeText(t, filepath.Join(dir, name), text) }
	folder := filepath.Join(dir, "folder")
	for i, text := range []string{"aab", "xyz"} {
		os.MkdirAll(filepath.Join(folder, "c"), 0o777)
		writeText(t, filepath.Join(folder, "c", fmt.Sprintf("%d.wav", i)), text)
	}
	saved := filepath.Join(dir, "saved", "test")
	os.MkdirAll(saved, 0o777)
	writeText(t, filepath.Join(dir, "saved", "dataset_dict.json"), `{"splits":["test"]}`)
	writeText(t, filepath.Join(saved, "dataset_info.json"),
		`{"features":{"l":{"_type":"ClassLabel","names":["no","yes"]}}}`)
	writeText(t, filepath.Join(saved, "state.json"), `{"_data_files":[{"filename":"data.arrow"}]}`)
	var records strings.Builder
	w := must.Get(table.NewWriter(&records, "arrow",
		[]table.OutputColumn{{Name: "t"}, {Name: "l", Kind: table.IntColumn}}))(t)
	must.Succeed(t, errors.Join(w.Write([]any{"aab", int64(1)}), w.Write([]any{"xyz", int64(0)}), w.Close()))
	writeText(t, filepath.Join(saved, "data.arrow"), records.String())
	lines := succeed(t, "{\"text\":\"aab\"}\n{\"text\":\"xyz\"}\n", "predict", "--model", model)
	want := replyLines(t, lines)
	for _, c := range []struct {
		args []string
		ids  string
	}{
		{[]string{"--input", at("a.csv", "t,n\naab,1\nxyz,2\n"), "--text", "t"}, `["a.csv:2" "a.csv:3"]`},
		{[]string{"--input", at("a.tsv", "t\tn\naab\t1\nxyz\t2\n"), "--text", "t", "--id", "n"}, `["1" "2"]`},
		{[]string{"--input", at("a.jsonl", "{\"t\":\"aab\",\"n\":1}\n{\"t\":\"xyz\",\"n\":\"b\"}\n"), "--text", "t",
			"--id", "n"}, `[1 "b"]`},
		{[]string{"--input", at("a.txt", "t\naab\nxyz\n"), "--format", "csv", "--text", "t"}, `["a.txt:2" "a.txt:3"]`},
		{[]string{"--input", at("a.fa", ">s1 x\naa\nb\n>s2\nxyz\n"), "--text", "sequence"}, `["s1" "s2"]`},
		{[]string{"--input", at("a.fq", "@s1\naab\n+\n...\n@s2\nxyz\n+\n...\n"), "--text", "sequence"}, `["s1" "s2"]`},
		{[]string{"--input", folder}, `["c/0.wav" "c/1.wav"]`},
		{[]string{"--input", filepath.Dir(saved), "--text", "t"}, `["test/data.arrow:1" "test/data.arrow:2"]`},
		{[]string{"--input", filepath.Dir(saved), "--text", "t", "--id", "l", "--keep", "all"}, `["yes" "no"]`},
		{[]string{"--input", at("foreign.arrow", records.String()), "--text", "t"},
			`["foreign.arrow:1" "foreign.arrow:2"]`},
		{[]string{"--input", at("b.jsonl", "{\"t\":[98,98,99]}\n{\"t\":[121,122,123]}\n"), "--tokens", "t"},
			`["b.jsonl:1" "b.jsonl:2"]`},
	} {
		out := succeed(t, "", append([]string{"predict", "--model", model}, c.args...)...)
		got := replyLines(t, out)
		var ids []string
		for i := range got {
			ids = append(ids, string(got[i].ID))
			got[i].ID, want[i].ID = nil, nil
		}
		if fmt.Sprint(ids) != c.ids || len(got) != 2 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %s; want %s and\n%s", c.args, out, c.ids, lines)
		}
	}

	from := at("all.csv", "key,label,text\n1,x,aab\n2,\"y,\nz\",\n3,,xyz\n")
	for _, command := range []string{"predict", "embed"} {
		var first []string
		for _, format := range []string{"csv", "tsv", "jsonl", "parquet", "arrow"} {
			to := filepath.Join(dir, command+"."+format)
			status, out, errs := program(nil, command, "--model", model, "--input", from, "--text", "text", "--id",
				"key", "--keep", "all", "--output", to)
			failed := "sftseq: 1 of 3 rows failed, the first: " + from +
				":3: column text: expected at least 1 token, found an empty sequence\n"
			if status != exitError || out != "" || errs != failed {
				t.Fatalf("%s %s: got status %d, output %q, standard error %q; want %d, \"\", %q", command, format,
					status, out, errs, exitError, failed)
			}
			columns := []string{"id", "key", "label", "text", "error"}
			if command == "predict" {
				columns = []string{"id", "key", "input_label", "text", "error"}
			}
			if format == "jsonl" {
				columns = columns[:4] // the error is an object in JSON lines
			}
			rows := tableText(t, to, columns)
			if format != "jsonl" {
				if first == nil {
					first = rows
				}
				if !slices.Equal(rows, first) && format != "tsv" {
					t.Errorf("%s %s: %q, want %q", command, format, rows, first)
				}
			}
			if len(rows) != 3 && format != "tsv" || !strings.HasPrefix(rows[0], `["1" "1" "x" "aab"`) {
				t.Errorf("%s %s: got rows %q, want 3, the first with 1, 1, x and aab", command, format, rows)
			}
		}
	}
	header, _, _ := strings.Cut(readText(t, filepath.Join(dir, "predict.csv")), "\n")
	equal(t, header, "id,key,input_label,text,label,probability_bad,probability_good,error")
	own := filepath.Join(dir, "own.csv")
	succeed(t, "", "predict", "--model", model, "--input", at("own-id.csv", "id,error,input_error,t\na,b,c,aab\n"),
		"--text", "t", "--id", "id", "--keep", "all", "--output", own)
	hasPrefix(t, readText(t, own),
		"id,input_input_error,input_error,t,label,probability_bad,probability_good,error\na,b,c,aab,")
	header, _, _ = strings.Cut(readText(t, filepath.Join(dir, "embed.csv")), "\n")
	equal(t, header, "id,key,label,text,embedding_0,embedding_1,embedding_2,embedding_3,embedding_4,embedding_5,embedding_6,embedding_7,error")
	var reply struct {
		Error struct {
			Code    int
			Message string
		}
		Label *string `json:"input_label"`
	}
	if err := json.Unmarshal([]byte(strings.Split(readText(t, filepath.Join(dir, "predict.jsonl")), "\n")[1]),
		&reply); err != nil || reply.Error.Code != -32602 || reply.Label == nil || *reply.Label != "y,\nz" {
		t.Errorf("got reply %+v, error %v, want code -32602 and the input_label of row 2", reply, err)
	}
}

// tableText returns the quoted texts of the given columns for each row of a table.
func tableText(t *testing.T, path string, columns []string) (out []string) {
	t.Helper()
	r := must.Get(table.Open(t.Context(), path, table.Options{Columns: columns}))(t)
	defer r.Close()
	var row table.Row
	for {
		err := r.Next(&row)
		if err == io.EOF {
			return out
		}
		must.Succeed(t, errors.Join(err, row.Err))
		var texts []string
		for _, v := range row.Values {
			texts = append(texts, v.Text)
		}
		out = append(out, fmt.Sprintf("%q", texts))
	}
}

// TestCSVSafe checks that --csv-safe puts an apostrophe before each text that a spreadsheet would
// evaluate as a formula, in predict and in eval --errors. The flag is refused unless the output is CSV
// or TSV.
func TestCSVSafe(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	rows := "id,text,label,=note\n"
	for i := range 40 {
		rows += fmt.Sprintf("=id%d,a%d,%s,@x\n", i, i, []string{"+x", "-y"}[i%2])
	}
	from := writeText(t, at("t.csv"), rows)
	data := tableData(t, "t.csv", rows, "--text", "text", "--label", "label", "--id", "id", "--tokenizer", "byte",
		"--split", "0.6,0.2,0.2")
	runCustom(t, data, at("run"), "--steps", "1", "--device", "cpu")
	predict := []string{"predict", at("run"), "--input", from, "--text", "text", "--id", "id", "--keep",
		"=note", "--device", "cpu"}
	done(t, "", append(predict, "--output", at("plain.csv"))...)
	lines := strings.Split(readText(t, at("plain.csv")), "\n")
	hasPrefix(t, lines[1], "=id0,@x,")
	done(t, "", append(predict, "--output", at("safe.csv"), "--csv-safe")...)
	lines = strings.Split(readText(t, at("safe.csv")), "\n")
	hasPrefix(t, lines[0], "id,'=note,label,")
	hasPrefix(t, lines[1], "'=id0,'@x,'")
	evaluate := []string{"eval", at("run"), "--data", data, "--device", "cpu", "--csv-safe"}
	done(t, "", append(evaluate, "--errors", at("wrong.csv"))...)
	hasPrefix(t, strings.Split(readText(t, at("wrong.csv")), "\n")[1], "'=id")
	refuseAll(t, exitUsage, nil, []refusal{
		{fmt.Sprintf("--output %q: --csv-safe: expected csv or tsv, found parquet", at("x.parquet")),
			append(predict, "--output", at("x.parquet"), "--csv-safe")},
		{"--csv-safe: expected csv or tsv, found arrow", []string{"predict", at("run"), "--input",
			filepath.Join(data, "test.arrow"), "--output", at("x.arrow"), "--csv-safe"}},
		{"--csv-safe: the parts of a shard are " +
			"Arrow files", append(predict, "--output", at("parts")+"/", "--csv-safe")},
		{"--csv-safe needs --input FILE", []string{"predict", at("run"), "--csv-safe"}},
		{"--csv-safe applies to the table of wrong predictions: expected --errors FILE", evaluate},
		{fmt.Sprintf("--errors %q: --csv-safe: expected csv or tsv, found jsonl", at("x.jsonl")),
			append(evaluate, "--errors", at("x.jsonl"))},
	})
}

// TestKeepQuoted checks that --keep reads quoted names.
func TestKeepQuoted(t *testing.T) {
	in := writeText(t, filepath.Join(t.TempDir(), "in.csv"), "text,\"a,1\",\"\"\"b\"\"\",\"5\"\" x\"\n[MAX 2 9 ],x,y,z\n")
	for keep, want := range map[string]string{`"a,1"`: `"a,1":"x"`, `text,"a,1"`: `"a,1":"x"`,
		`"""b"""`: `"\"b\"":"y"`, `5" x`: `"5\" x":"z"`} {
		contains(t, succeed(t, "", "predict", "--model", goldenPath("pre"), "--input", in, "--text", "text",
			"--keep", keep), want)
	}
}

// TestKeepAllLeavesOut checks that --keep all leaves out columns that cannot be copied, and that
// CSV leaves out values that are not UTF-8 without failing their rows.
func TestKeepAllLeavesOut(t *testing.T) {
	image := arrow.StructOf(arrow.Field{Name: "bytes", Type: arrow.BinaryTypes.Binary, Nullable: true})
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "thumb", Type: arrow.BinaryTypes.Binary}, {Name: "image", Type: image, Nullable: true},
		{Name: "stars", Type: arrow.PrimitiveTypes.Int8}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range 3 {
		b.Field(0).(*array.StringBuilder).Append("[MAX 2 9 ]")
		b.Field(1).(*array.BinaryBuilder).Append([]byte{'a', byte('0' + 100*i)})
		b.Field(2).AppendNull()
		b.Field(3).(*array.Int8Builder).Append(int8(i))
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.arrow"), filepath.Join(dir, "out.csv")
	f := must.Get(os.Create(in))(t)
	w := must.Get(ipc.NewFileWriter(f, ipc.WithSchema(schema)))(t)
	must.Succeed(t, errors.Join(w.Write(b.NewRecord()), w.Close(), f.Close()))
	_, errs := exits(t, exitOK, "", "predict", "--model", goldenPath("pre"), "--input", in, "--text", "text", "--keep",
		"all", "--output", out)
	contains(t, errs, in+`: column "image": expected text, numbers or lists of whole numbers, found struct<`)
	contains(t, errs, "convert the column to text (--keep all leaves it out)")
	contains(t, errs, in+": column thumb: values left out because they are not UTF-8: 2 (Parquet and Arrow keep bytes)")
	rows := strings.Split(readText(t, out), "\n")
	notContains(t, rows[0], "image")
	for i, want := range []string{"[MAX 2 9 ],a0,0,", "[MAX 2 9 ],,1,", "[MAX 2 9 ],,2,"} {
		contains(t, rows[i+1], want)
	}
	refuse(t, exitError, "or leave it out of --keep", "", "predict", "--model", goldenPath("pre"), "--input", in,
		"--text", "text", "--keep", "image", "--output", out)
}
