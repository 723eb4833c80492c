//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestDocumentPage checks that the page examples/web/document.html shows the class that predict prints,
// and marks the characters of the tokens that predict --explain lists, before and after edits. It also
// checks the page without text and its error messages.
func TestDocumentPage(t *testing.T) {
	testenv.Long(t, "opens a browser")
	c := must.Get(config.Read(goldenPath("chunks", "config.json")))(t)
	c.VocabSize, c.PadTokenID, c.Tokenizer, c.MaxLength = config.ByteVocabulary, new(int32(0)),
		json.RawMessage(`{"type":"byte"}`), 1<<20
	c.Chunks = &config.Chunks{Rule: "content", Average: 64, Exports: 3, Layers: 1}
	model := filepath.Join(t.TempDir(), "model")
	must.Succeed(t, sft.NewModel(c, 3).Save(model))
	t.Parallel()
	files := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(examplesDir, "web"))))
	defer files.Close()
	url := serveHTTP(t, "--model", model, "--cors-origin", files.URL)
	b := openBrowser(t)
	b.open(files.URL + "/document.html?server=" + url)
	const shown = `(async text => {
		const byId = id => document.getElementById(id);
		byId("state").textContent = "waiting"; byId("text").value = text;
		byId("text").dispatchEvent(new Event("input"));
		for (let i = 0; i < 1200 && ["waiting", "computing …"].includes(byId("state").textContent); i++) await new Promise(r => setTimeout(r, 50));
		return {state: byId("state").textContent, prediction: byId("prediction").textContent,
			chunks: Array.from(byId("evidence").children, x => x.textContent),
			marks: Array.from(document.querySelectorAll("mark"), x => x.textContent).join("")}
	})(%s)`
	const sentence = "Ein schöner Film, 漢字 und 😀. "
	first, rest := strings.Repeat(sentence, 15), strings.Repeat(sentence, 25)
	for _, text := range []string{first + rest, first + "Nein!" + rest, "kurz"} {
		var page struct {
			State, Prediction, Marks string
			Chunks                   []string
		}
		b.evaluate(fmt.Sprintf(shown, must.Get(json.Marshal(text))(t)), &page)
		line := string(must.Get(json.Marshal(map[string]string{"text": text}))(t))
		want := decode[struct {
			Label   any
			Explain struct{ Chunks []sft.ChunkExplanation }
		}](t, succeed(t, line, "predict", "--model", model, "--explain"))
		if !strings.Contains(page.State, " characters in ") ||
			!strings.HasPrefix(page.Prediction, fmt.Sprint(want.Label, " ")) {
			t.Fatalf("%q: the page shows %+v, want a State with characters, and a Prediction that begins with %v", text,
				page, want.Label)
		}
		chunks := want.Explain.Chunks
		slices.SortStableFunc(chunks, func(a, b sft.ChunkExplanation) int { return cmp.Compare(b.Weight, a.Weight) })
		chunks = chunks[:min(5, len(chunks))]
		if len(page.Chunks) != len(chunks) {
			t.Fatalf("the page shows %d chunks, want %d", len(page.Chunks), len(chunks))
		}
		marks := ""
		for i, x := range chunks {
			part := text[x.Start:x.End]
			if !strings.HasSuffix(whole(page.Chunks[i]), ": "+whole(part)) {
				t.Errorf("chunk %d: the page shows %q, expected %q", i, page.Chunks[i], part)
			}
			for at, r := range part {
				exported := func(p int32) bool { return int(p-x.Start) >= at && int(p-x.Start) < at+utf8.RuneLen(r) }
				if r != utf8.RuneError && slices.ContainsFunc(x.Positions, exported) {
					marks += string(r)
				}
			}
		}
		if got := whole(page.Marks); got != marks {
			t.Errorf("%q: the page marks %q, expected %q", text, got, marks)
		}
	}
	var empty string
	b.evaluate(`(async () => {
		const text = document.getElementById("text");
		text.value = "";
		text.dispatchEvent(new Event("input"));
		await new Promise(r => setTimeout(r, 500));
		return ["prediction", "state", "evidence"].map(id => document.getElementById(id).textContent).join("");
	})()`, &empty)
	if empty != "" {
		t.Errorf("after clearing the text: the page shows %q, want nothing", empty)
	}
	busy := true // whether the proxy rejects the next POST request
	address := must.Get(neturl.Parse(url))(t)
	server := httputil.NewSingleHostReverseProxy(address)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if busy && r.Method == http.MethodPost {
			busy = false
			w.Header().Set("Access-Control-Allow-Origin", files.URL)
			http.Error(w, "<h1>no server</h1>", http.StatusServiceUnavailable)
			return
		}
		server.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	b.open(files.URL + "/document.html?server=" + proxy.URL)
	var states []string
	b.evaluate(`(async () => {
		const state = document.getElementById("state"), seen = [];
		new MutationObserver(() => seen.push(state.textContent)).observe(state, {childList: true});
		document.getElementById("text").value = "text";
		document.getElementById("text").dispatchEvent(new Event("input"));
		const done = () => seen.at(-1)?.includes(" characters in ");
		for (let i = 0; i < 200 && !done(); i++) await new Promise(r => setTimeout(r, 50));
		return seen;
	})()`, &states)
	if len(states) < 2 || states[0] != proxy.URL+": 503 Service Unavailable" ||
		!strings.HasPrefix(states[len(states)-1], "4 characters in ") {
		t.Errorf("after a response 503: the page shows %q, want the error and then a result", states)
	}
	const nobody = "http://127.0.0.1:1"
	b.open(files.URL + "/document.html?server=" + nobody)
	var state string
	const failure = `(async () => {
		document.getElementById("text").value = "text";
		document.getElementById("text").dispatchEvent(new Event("input"));
		await new Promise(r => setTimeout(r, 500));
		return document.getElementById("state").textContent;
	})()`
	b.evaluate(failure, &state)
	contains(t, state, "no response from "+nobody+" (", "expected sftseq serve --http … --cors-origin "+files.URL)
	b.open(files.URL + "/document.html?server=") // an empty address counts as missing
	b.evaluate(failure, &state)
	if strings.Contains(state, "not valid JSON") {
		t.Errorf("without an address: the page shows %q, want no error about JSON", state)
	}
}

// whole removes incomplete characters, which remain where a text was cut within a character.
func whole(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\uFFFD", "")
}
