package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestFilesPage checks that examples/web/files.html shows in Chromium the kinds that sftseq files
// predicts, for chosen and for dropped files, and that the shown evidence lies within each file.
func TestFilesPage(t *testing.T) {
	testenv.Long(t, "opens a browser")
	testenv.NeedFile(t, "npm's onnxruntime-web", filepath.Join(examplesDir, "web/node_modules/onnxruntime-web"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	succeed(t, "", "export", "onnx", "builtin:files", "--output", filepath.Join(dir, "files.onnx"))
	short := writeText(t, filepath.Join(dir, "short"), "too short")
	paths := []string{"main.go", short, "../../docs/layer.svg", "../../go.mod", "../../examples/files/packages.sh"}
	want := map[string]fileResult{}
	for line := range strings.Lines(succeed(t, "", append([]string{"files", "--json"}, paths...)...)) {
		var r fileResult
		must.Check(t, json.Unmarshal([]byte(line), &r))
		want[filepath.Base(r.Path)] = r
	}
	b := openBrowser(t)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(filepath.Join(examplesDir, "web"))))
	mux.Handle("/files.onnx", http.FileServer(http.Dir(dir)))
	server := httptest.NewServer(mux)
	defer server.Close()
	b.open(server.URL + "/files.html")

	var chosen []map[string]string
	for _, path := range paths {
		chosen = append(chosen, map[string]string{"name": filepath.Base(path),
			"content": base64.StdEncoding.EncodeToString(must.Get(os.ReadFile(path))(t))})
	}
	// The first two files are chosen, the others are dropped.
	const add = `(async files => {
		const byId = id => document.getElementById(id);
		const wait = async done => { for (let i = 0; i < 1200 && !done(); i++) await new Promise(r => setTimeout(r, 50)); };
		await wait(() => byId("state").textContent !== "Loading the model …");
		const transfer = part => {
			const t = new DataTransfer();
			for (const f of part) t.items.add(new File([Uint8Array.from(atob(f.content), c => c.charCodeAt(0))], f.name));
			return t;
		};
		byId("files").files = transfer(files.slice(0, 2)).files;
		byId("files").dispatchEvent(new Event("change"));
		byId("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer(files.slice(2)), cancelable: true}));
		await wait(() => byId("kinds").rows.length === files.length && byId("state").textContent === "");
		return {state: byId("state").textContent, rows: Array.from(byId("kinds").rows, r =>
			[r.cells[0].textContent, r.cells[1].textContent, Array.from(r.cells[2].children, x => x.textContent).join("\n")])};
	})(%s)`
	var page struct {
		State string
		Rows  [][3]string
	}
	b.evaluate(fmt.Sprintf(add, must.Get(json.Marshal(chosen))(t)), &page)
	if page.State != "" || len(page.Rows) != len(paths) {
		t.Fatalf("the page shows %+v, want no State and %d rows", page, len(paths))
	}
	for i, row := range page.Rows {
		r := want[row[0]]
		kind, percent, _ := strings.Cut(row[1], " ")
		shown, _ := strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64)
		switch {
		case row[0] != filepath.Base(paths[i]):
			t.Errorf("row %d is of %s, want %s", i, row[0], paths[i])
		case r.Size < 16 && row[1] != "too short (9 bytes)":
			t.Errorf("the page shows %q for a short file, want too short (9 bytes)", row)
		case r.Size >= 16 && (kind != r.Kind || math.Abs(shown-100*r.Probability) > 0.11):
			t.Errorf("the page shows %q, want %s with %v", row, r.Kind, r.Probability)
		}
		for line := range strings.Lines(row[2]) {
			var start, end int64
			must.Get(fmt.Sscanf(line, "bytes %d to %d: ", &start, &end))(t)
			if start < 0 || end < start || end >= r.Size {
				t.Errorf("%s: the evidence is %q, the size %d", row[0], line, r.Size)
			}
		}
		if r.Size >= 16 && row[2] == "" {
			t.Errorf("%s: no evidence", row[0])
		}
	}
}
