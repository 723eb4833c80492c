package table

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
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
	"github.com/sftseq/sftseq/internal/testenv"
)

// FuzzHuggingFace checks that for any JSON files beside the Arrow streams, rows have class numbers
// or names, and errors name the directory.
func FuzzHuggingFace(f *testing.F) {
	const info = `{"features":{"text":{"dtype":"string","_type":"Value"},"label":{"names":["neg","pos"],"_type":"ClassLabel"}}}`
	const state = `{"_data_files":[{"filename":"a.arrow"},{"filename":"a.arrow"}],"_split":"train"}`
	const splits = `{"splits":["train","train"]}`
	f.Add(info, state, splits)
	f.Add(info, state, "")
	f.Add(`{"features":{"label":{"names":["neg","pos"]}}}`, state, "")
	f.Add(`{"features":{"label":{"names":[],"_type":"ClassLabel"}}}`,
		`{"_data_files":[{"filename":"../a.arrow"}]}`, `{"splits":[]}`)
	f.Add(info, `{"_data_files":[{"filename":"."}]}`, "")
	f.Add(info, state, `{"splits":["."]}`)
	f.Add(`{`, `[]`, `null`)
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "label", Type: arrow.PrimitiveTypes.Int64}}, nil)
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema,
		strings.NewReader(`[{"text":"0","label":0},{"text":"1","label":1},{"text":"-1","label":-1},{"text":"7","label":7},{"text":"","label":null}]`))
	must.Succeed(f, err)
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	must.Succeed(f, errors.Join(w.Write(record), w.Close()))
	dir := f.TempDir()
	write := func(t testing.TB, name, text string) {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	must.Succeed(f, os.Mkdir(filepath.Join(dir, "train"), 0o777))
	write(f, "a.arrow", stream.String())
	write(f, "train/a.arrow", stream.String())
	f.Fuzz(func(t *testing.T, info, state, splits string) {
		defer testenv.FuzzLimits(t, maxAllocated+200*(len(info)+len(state)+len(splits)))()
		for _, folder := range []string{"", "train/"} {
			write(t, folder+hfFeatures, info)
			write(t, folder+hfState, state)
		}
		if write(t, hfSplits, splits); splits == "" {
			must.Succeed(t, os.Remove(filepath.Join(dir, hfSplits)))
		}
		checkError := func(err error) {
			if !strings.Contains(err.Error(), dir) {
				t.Fatalf("got error %v, want the directory in it", err)
			}
		}
		r, err := Open(context.Background(), dir, Options{Columns: []string{"text", "label"}})
		if err != nil {
			checkError(err)
			return
		}
		defer r.Close()
		names, named := classNames(t, info)
		var row Row
		for range 1000 { // state.json may name the same stream any number of times
			if err := r.Next(&row); err == io.EOF {
				return
			} else if err != nil {
				checkError(err)
				return
			}
			number, class := row.Values[0].Text, row.Values[1]
			at := slices.Index([]string{"0", "1"}, number)
			switch {
			case !named && class.Text != number, named && (at < 0 || at >= len(names)) && number != "7" && !class.Null:
				t.Fatalf("label %q: got %+v, want the number if the column has no class names, otherwise null for "+
					"a number without a name", number, class)
			case named && at >= 0 && at < len(names) && class.Text != names[at]:
				t.Fatalf("label %s: got %+v, want %q", number, class, names[at])
			}
		}
	})
}

// classNames returns the class names of the column label, and whether it has class names: the
// type of a ClassLabel may be omitted.
func classNames(t *testing.T, info string) (names []string, named bool) {
	var all struct{ Features map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(info), &all); err != nil {
		t.Fatalf("%q: got no error for invalid JSON", info)
	}
	var feature struct {
		Type  string `json:"_type"`
		Names []string
	}
	if json.Unmarshal(all.Features["label"], &feature) != nil {
		return nil, false
	}
	return feature.Names, (feature.Type == "ClassLabel" || feature.Type == "") && feature.Names != nil
}
