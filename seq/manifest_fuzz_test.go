package seq

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// FuzzManifest reads any content of dataset.json. It checks that an error names the file, that an
// accepted manifest names only files in its directory, and that writing and reading the manifest
// does not change it.
func FuzzManifest(f *testing.F) {
	split := `{"file":"train.arrow","bytes":10,"rows":1,"checksum":"xxh128:` + strings.Repeat("0",
		32) + `","labels":{"a":1}}`
	whole := `{"version":"2","name":"x","task":"classification","tokenizer":{ "type": "byte" },"vocab_size":257,"pad_token_id":0,"label_names":["a","b"],"splits":{"train":` + split + `},"provenance":{"seed":1}}`
	for _, text := range []string{
		whole, whole + "}", strings.Replace(whole, "train.arrow", "/", 1),
		`{"version":"1","name":"x","task":"retrieval","vocab_size":3,"pad_token_id":null,"splits":{"val":{"file":"v","bytes":0,"rows":0,"sha256":"` + strings.Repeat("ab", 32) + `"}}}`,
		`{"version":"2","task":"classification","vocab_size":3,"label_names":["a","b"],"splits":{"x":{"file":"../x","checksum":""}}}`,
		`{"version":"2","splits":null} {}`, `[]`, ``,
	} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	path := filepath.Join(dir, ManifestName)
	read := func(t *testing.T, text []byte) (*Manifest, error) {
		must.Succeed(t, os.WriteFile(path, text, 0o666))
		m, err := readManifest(dir)
		if err != nil && !strings.HasPrefix(err.Error(), path+": ") {
			t.Fatalf("the error does not begin with the file name: %v", err)
		}
		return m, err
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer testenv.FuzzLimits(t, 4<<20+1000*len(text))()
		m, err := read(t, text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("malformed JSON is accepted: %q", text)
		}
		for name, s := range m.Splits {
			if !filepath.IsLocal(s.File) || filepath.Dir(s.File) != "." || s.File == "." {
				t.Fatalf("split %s has the file %q outside the directory", name, s.File)
			}
		}
		written := must.Get(json.Marshal(m))(t)
		again, err := read(t, written)
		if err != nil {
			t.Fatalf("error %v for a written manifest: %s", err, written)
		}
		if twice, _ := json.Marshal(again); !bytes.Equal(twice, written) {
			t.Fatalf("%s was read back as %s", written, twice)
		}
		if names := m.SplitNames(); !slices.Equal(slices.Sorted(slices.Values(names)),
			slices.Sorted(maps.Keys(m.Splits))) {
			t.Fatalf("SplitNames returned %q, want the keys of %v", names, m.Splits)
		}
	})
}
