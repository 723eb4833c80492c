package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestBrowserModel checks that the page in examples/web, opened in Chromium, shows the predictions of
// sftseq predict.
func TestBrowserModel(t *testing.T) {
	testenv.Long(t, "opens a browser")
	for _, name := range []string{"onnxruntime-web", "@huggingface/tokenizers"} {
		testenv.NeedFile(t, "npm's "+name, filepath.Join(examplesDir, "web/node_modules", name))
	}
	c := must.Get(config.Read(goldenPath("pre", "config.json")))(t)
	c.VocabSize, c.NumLabels, c.LabelNames, c.Tokenizer, c.MaxLength = 257, 3, []string{"bad", "gut & <b>", "ü"},
		json.RawMessage(`{"type":"byte"}`), 300
	dir := t.TempDir()
	must.Succeed(t, sft.NewModel(c, 3).Save(dir))
	succeed(t, "", "export", "onnx", dir, "--output", filepath.Join(dir, "model.onnx"))
	texts := []string{"a", "Not bad at all.", "Ümläüte? 漢字"}
	var lines strings.Builder
	for _, text := range texts {
		must.Succeed(t, json.NewEncoder(&lines).Encode(map[string]string{"text": text}))
	}
	predicted := replyLines(t, succeed(t, lines.String(), "predict", "--model", dir))
	c.Tokenizer, c.VocabSize = json.RawMessage(`{"type":"words","words":["not","all",".","a","ümläüte","漢字"]}`), 8
	wordsDir := t.TempDir()
	must.Succeed(t, sft.NewModel(c, 4).Save(wordsDir))
	succeed(t, "", "export", "onnx", wordsDir, "--output", filepath.Join(dir, "words.onnx"))
	wordPredictions := replyLines(t, succeed(t, lines.String(), "predict", "--model", wordsDir))
	t.Parallel()
	b := openBrowser(t)
	files := http.NewServeMux()
	files.Handle("/", http.FileServer(http.Dir(filepath.Join(examplesDir, "web"))))
	for _, name := range []string{"model.onnx", "words.onnx", "words.tokenizer.json"} {
		files.Handle("/"+name, http.FileServer(http.Dir(dir)))
	}
	server := httptest.NewServer(files)
	defer server.Close()

	for _, e := range b.open(server.URL + "/") {
		switch e.Method {
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed":
			t.Errorf("got the event %s: %s, want no messages, exceptions or failed requests", e.Method, e.Params)
		}
	}
	// typeAndWait types a text into the page and waits for the prediction.
	const typeAndWait = `(async text => {
		const byId = id => document.getElementById(id), done = () => byId("state").textContent !== "Loading the model …";
		for (let i = 0; i < 1200 && !done(); i++) await new Promise(r => setTimeout(r, 50));
		byId("state").textContent = "waiting"; byId("prediction").replaceChildren(); byId("text").value = text;
		byId("text").dispatchEvent(new Event("input"));
		for (let i = 0; i < 1200 && byId("state").textContent === "waiting"; i++) await new Promise(r => setTimeout(r, 50));
		return {state: byId("state").textContent, rows: Array.from(byId("prediction").rows,
			r => [r.cells[0].textContent, parseFloat(r.cells[1].textContent)])}
	})(%s)`
	type page struct {
		State string   `json:"state"`
		Rows  [][2]any `json:"rows"`
	}
	show := func(text string) (p page) {
		b.evaluate(fmt.Sprintf(typeAndWait, must.Get(json.Marshal(text))(t)), &p)
		return p
	}
	for i, text := range texts {
		want, p := predicted[i], show(text)
		if p.State != "" || len(p.Rows) != 3 || p.Rows[0][0] != want.Label {
			t.Errorf("%q: the page shows %+v, want no State and 3 rows, the first %v", text, p, want.Label)
			continue
		}
		for _, row := range p.Rows {
			for i, name := range c.LabelNames {
				if row[0] == name && math.Abs(row[1].(float64)-100*float64(want.Probabilities[i])) > 0.006 {
					t.Errorf("%q: %s has %v%%, want %v%%", text, name, row[1], 100*want.Probabilities[i])
				}
			}
		}
	}
	for i, text := range texts { // the same texts with the word-level model
		if i == 0 {
			b.open(server.URL + "/?model=words.onnx")
		}
		if want, p := wordPredictions[i], show(text); p.State != "" || len(p.Rows) != 3 || p.Rows[0][0] != want.Label {
			t.Errorf("%q: the page shows %+v with words, want no State and 3 rows, the first %v", text, p, want.Label)
		}
	}
	b.open(server.URL + "/?model=none.onnx")
	var state string
	b.evaluate(`(async () => {
		const state = document.getElementById("state");
		for (let i = 0; i < 1200 && state.textContent === "Loading the model …"; i++) await new Promise(r => setTimeout(r, 50));
		return state.textContent;
	})()`, &state)
	equal(t, state, "none.onnx: 404 Not Found")
	b.open(server.URL + "/")
	equal(t, show("").State, "the text is empty")
	equal(t, show(string(make([]byte, 301))).State, "the text has 301 bytes, but the model accepts at most 300")
}
