package serve

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/tokenizers"
)

// chunkOptions returns options for a byte model with the given hidden size, whose chunks have the given
// average length in bytes.
func chunkOptions(t testing.TB, hidden, average int) Options {
	o := testOptions(t, "chunks")
	o.Debounce = 0
	o.Load = func() (*Model, error) {
		c := *must.Get(sft.Load(filepath.Join(goldenDir, "chunks")))(t).Config
		c.VocabSize, c.PadTokenID = config.ByteVocabulary, new(int32(0))
		c.Tokenizer = json.RawMessage(`{"type":"byte"}`)
		c.HiddenSize, c.IntermediateSize, c.NumSampledTokens, c.MaxLength = hidden, 4*hidden, 16, 1<<24
		c.Chunks = &config.Chunks{Rule: "content", Average: average, Exports: 4, Layers: 1}
		must.Succeed(t, c.Validate())
		return onCPU(sft.NewModel(&c, 1), "chunks")
	}
	return o
}

// randomText returns n random letters.
func randomText(random *rand.Rand, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = 'a' + byte(random.IntN(26))
	}
	return out
}

// edit replaces a range of the document u and returns the pushed result.
func (c *client) edit(version, start, end int, text string) published {
	c.notify("sequence/didChange", map[string]any{"uri": "u", "version": version, "changes": []any{
		map[string]any{"range": map[string]any{"start": start, "end": end}, "text": text}}})
	var p published
	decode(c.t, c.message().Params, &p)
	return p
}

// chunkEdits is the number of edits of TestEditChunks (make edits).
var chunkEdits = flag.Int("edits", 60, "number of `edits` by TestEditChunks in documents of up to 64 KB; "+
	"documents of 2 MB get a hundredth of this number")

// TestEditChunks edits documents and checks that the server computes 1 to 20 chunks per edit on average. The
// result of each version must equal the prediction for the whole text.
func TestEditChunks(t *testing.T) {
	o := chunkOptions(t, 8, 64)
	s := startServer(t, o)
	e := &documentEditor{random: rand.New(rand.NewPCG(3, 3)), server: s,
		client:  dial(t, s).initialize(encodingParams("utf-16")),
		scratch: must.Get(o.Load())(t).Scorer}
	for e.made < *chunkEdits {
		e.edit(t, e.random.IntN(44_000), 20)
	}
	e.edit(t, 30_000, 20) // at least recent.MinTokens tokens, so edits reuse the chunks of the last version
	for range (*chunkEdits + 1999) / 2000 {
		e.edit(t, 1_400_000, min(20, max(1, *chunkEdits/100)))
	}
	eventually(t, "memory is still counted", func() bool { return s.memory.used.Load() == 0 })
	after := *s.stats().Chunks
	w := httptest.NewRecorder()
	s.Metrics().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{fmt.Sprintf("sftseq_chunks_computed_total %d\n", after.Computed),
		"sftseq_chunks_reused_total "} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("/metrics lacks %q", want)
		}
	}
	if computed := int(after.Computed) - e.chunks; computed < e.made || computed > 20*e.made {
		t.Errorf("%d edits in documents of %d chunks computed %d chunks, want %d to %d", e.made, e.chunks, computed,
			e.made, 20*e.made)
	}
}

// documentEditor edits documents of a server and compares the results with those of a scorer
// without a cache.
type documentEditor struct {
	random          *rand.Rand
	server          *Server
	client          *client
	scratch         *sft.Scorer
	documents, made int
	chunks          int // chunks of all documents when they were opened
}

// characters take one, two, three and four bytes; the last character takes two UTF-16 code units.
var characters = []rune("abcdefgh é 漢😀")

func (e *documentEditor) text(n int) []rune {
	out := make([]rune, n)
	for i := range out {
		out[i] = characters[e.random.IntN(len(characters))]
	}
	return out
}

// edit opens a document of length+1 characters and edits it at random positions. The parameter edits is the
// maximum number of versions after the first.
func (e *documentEditor) edit(t *testing.T, length, edits int) {
	e.documents++
	uri, text := fmt.Sprint("document ", e.documents), e.text(length+1)
	before := e.server.stats().Chunks.Computed
	e.client.notify("sequence/didOpen", map[string]any{"uri": uri, "version": 1, "text": string(text)})
	e.client.message()
	e.chunks += int(e.server.stats().Chunks.Computed - before)
	for version := 2; version < 2+edits; version++ {
		var changes []any
		for range 1 + e.random.IntN(2) { // also two changes in one message
			start := e.random.IntN(len(text) + 1)
			end, inserted := min(len(text), start+e.random.IntN(9)), e.text(e.random.IntN(9))
			at := len(utf16.Encode(text[:start]))
			changes = append(changes, map[string]any{"text": string(inserted),
				"range": map[string]any{"start": at, "end": at + len(utf16.Encode(text[start:end]))}})
			text = slices.Concat(text[:start], inserted, text[end:])
		}
		if len(text) == 0 {
			break
		}
		e.client.notify("sequence/didChange", map[string]any{"uri": uri, "version": version, "changes": changes})
		var got published
		decode(t, e.client.message().Params, &got)
		tokens := must.Get(tokenizers.Byte{}.Encode(string(text)))(t)
		want := must.Get(e.scratch.Classify(t.Context(), tokens))(t)
		if got.Version != int64(version) || got.Label == nil || !slices.Equal(got.Logits, want.Logits) {
			t.Fatalf("%s, version %d: %+v, want %+v", uri, version, got, want)
		}
		e.made++
	}
	e.client.notify("sequence/didClose", map[string]any{"uri": uri})
}

// TestSharedEnds compares the results of sharedEnds for a text and an edited copy with those of a loop
// over bytes.
func TestSharedEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for range 500 {
		a := strings.Repeat("a", random.IntN(5000))
		at := random.IntN(len(a) + 1)
		b := a[:at] + []string{"", "b", "a", "aab"}[random.IntN(4)] + a[at+random.IntN(len(a)-at+1):]
		n := min(len(a), len(b))
		p, q := 0, 0
		for p < n && a[p] == b[p] {
			p++
		}
		for q < n-p && a[len(a)-1-q] == b[len(b)-1-q] {
			q++
		}
		if prefix, suffix := sharedEnds(a, b); prefix != p || suffix != q {
			t.Fatalf("texts of %d and %d bytes: got %d leading and %d trailing bytes, want %d and %d", len(a), len(b),
				prefix, suffix, p, q)
		}
	}
}

// BenchmarkEdit measures the time from writing didChange, which inserts a byte at a random offset, to
// reading the pushed result, for documents of 1 MiB in chunks of about 1,024 bytes. It also reports
// the ratio of the median time of whole new documents to the median time of an edit.
func BenchmarkEdit(b *testing.B) {
	benchmarkEdits(b, 1<<20, 1024, func(random *rand.Rand, length int) (int, string) {
		return random.IntN(length), "x"
	})
}

// BenchmarkAppend is like BenchmarkEdit, for 1 KiB that is appended to a log of 10 MiB in chunks of
// about 8,192 bytes.
func BenchmarkAppend(b *testing.B) {
	benchmarkEdits(b, 10<<20, 8192, func(random *rand.Rand, length int) (int, string) {
		return length, string(randomText(random, 1024))
	})
}

// benchmarkEdits measures insertions into a document of the given length, in chunks of the given average
// length. insertion returns the offset and the text of the next insertion.
func benchmarkEdits(b *testing.B, length, average int, insertion func(r *rand.Rand, length int) (int, string)) {
	random := rand.New(rand.NewPCG(3, 3))
	x := dial(b, startServer(b, chunkOptions(b, 64, average))).initialize(struct{}{})
	open := func(uri string) time.Duration {
		text := string(randomText(random, length))
		began := time.Now()
		x.notify("sequence/didOpen", map[string]any{"uri": uri, "version": 1, "text": text})
		x.message()
		return time.Since(began)
	}
	open("u")
	var times []time.Duration
	for version := 2; b.Loop(); version++ {
		at, text := insertion(random, length)
		began := time.Now()
		if p := x.edit(version, at, at, text); p.Error != nil {
			b.Fatal(fmt.Sprint(p.Error))
		}
		times = append(times, time.Since(began))
		length += len(text)
	}
	wholes := []time.Duration{open("v"), open("w"), open("x")}
	slices.Sort(times)
	slices.Sort(wholes)
	quantile := func(q float64) time.Duration { return times[int(q*float64(len(times)-1))] }
	b.ReportMetric(float64(quantile(0.5).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(quantile(0.99).Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(wholes[1])/float64(quantile(0.5)), "speedup")
}
