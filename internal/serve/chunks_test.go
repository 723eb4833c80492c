package serve

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// chunkOptions returns options for a model of bytes in chunks of this average length.
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

// TestEditChunks edits a document and checks that the server computes only changed chunks, and that
// the result of each version is that of a request with the whole text.
func TestEditChunks(t *testing.T) {
	s, scratch := startServer(t, chunkOptions(t, 8, 64)), startServer(t, chunkOptions(t, 8, 64))
	random := rand.New(rand.NewPCG(3, 3))
	text := randomText(random, 30_000)
	x, y := dial(t, s).initialize(map[string]any{"positionEncoding": "utf-8"}), dial(t, scratch).initialize(struct{}{})
	x.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": string(text)})
	x.message()
	before := *s.stats().Chunks
	for version := 2; version < 22; version++ {
		start := random.IntN(len(text))
		end, inserted := min(len(text), start+random.IntN(9)), randomText(random, random.IntN(9))
		text = slices.Concat(text[:start], inserted, text[end:])
		got := x.edit(version, start, end, string(inserted))
		var want published
		y.call(version, "sequence/classify", map[string]any{"text": string(text)}, &want)
		if got.Version != int64(version) || got.Label == nil || !slices.Equal(got.Logits, want.Logits) {
			t.Fatalf("version %d: %+v, want %+v", version, got, want)
		}
	}
	after := *s.stats().Chunks
	w := httptest.NewRecorder()
	s.Metrics().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{fmt.Sprintf("sftseq_chunks_computed_total %d\n", after.Computed),
		"sftseq_chunks_reused_total "} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("/metrics lacks %q", want)
		}
	}
	if computed := after.Computed - before.Computed; computed < 20 || computed > 20*20 {
		t.Errorf("20 edits computed %d chunks of %d", computed, before.Computed)
	}
	if reused := after.Reused - before.Reused; reused < 20*300 {
		t.Errorf("20 edits reused %d chunks of %d", reused, before.Computed)
	}
}

// BenchmarkEdit measures the time from writing didChange, which inserts a byte at a random place, to
// reading the pushed result, for documents of 1 MiB in chunks of about 1,024 bytes. It also reports
// the ratio of the time of the whole document, computed without exports of earlier versions, to the
// median time of an edit.
func BenchmarkEdit(b *testing.B) {
	random := rand.New(rand.NewPCG(3, 3))
	s := startServer(b, chunkOptions(b, 64, 1024))
	x := dial(b, s).initialize(map[string]any{"positionEncoding": "utf-8"})
	began := time.Now()
	x.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": string(randomText(random, 1<<20))})
	x.message()
	whole := time.Since(began)
	var times []time.Duration
	for version := 2; b.Loop(); version++ {
		at := random.IntN(1 << 20)
		began := time.Now()
		if p := x.edit(version, at, at, "x"); p.Error != nil {
			b.Fatal(fmt.Sprint(p.Error))
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	quantile := func(q float64) time.Duration { return times[int(q*float64(len(times)-1))] }
	b.ReportMetric(float64(quantile(0.5).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(quantile(0.99).Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(whole)/float64(quantile(0.5)), "speedup")
}
