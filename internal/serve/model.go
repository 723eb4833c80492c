package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync/atomic"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/sft"
)

// Model is a loaded model with its device.
type Model struct {
	Scorer  *sft.Scorer
	Task    Task
	Name    string // name that clients see
	Dir     string // directory of the tokenizer's file
	Device  string
	Hash    string // hash of configuration and weights, see Hash
	Release func() // closes the device
}

// Hash returns a hash of the weights and the configuration of a model, or of the models of an ensemble
// in their order. It omits the input window, label names, auto_map and provenance.
func Hash(models ...*sft.Model) string {
	h := sha256.New()
	for _, m := range models {
		c := *m.Config
		c.Extra, c.LabelNames, c.InputWindow, c.InputWindowTail, c.AutoMap = nil, nil, nil, 0, nil
		text, _ := json.Marshal(c) // cannot fail: all values came from JSON
		h.Write(text)
		_ = m.WriteWeights(h) // writing to a hash cannot fail
	}
	return hex.EncodeToString(h.Sum(nil))
}

// served is a model in use. After a reload it is kept until its last request completes.
type served struct {
	batching.Model
	loaded  *Model
	task    Task
	config  *sft.Config
	parser  *requests.Parser // parses single sequences and pairs
	failed  atomic.Bool      // the device is lost
	chunked bool             // the model is chunked, and a cache keeps the exports of chunks
}

// exportCacheDivisor is the ratio of --max-memory to the size of the cache of
// [sft.Scorer.CacheDocuments]. The cache takes memory in addition to --max-memory.
const exportCacheDivisor = 8

func (s *Server) newServed(m *Model) *served {
	c := m.Scorer.Config()
	x := &served{Model: batching.Model{Scorer: m.Scorer, Release: m.Release}, loaded: m, task: m.Task, config: c,
		parser: requests.NewParser(c, m.Dir, "", 1, 2)}
	x.chunked = m.Scorer.CacheDocuments(s.options.MaxMemory / exportCacheDivisor)
	x.parser.RecordOffsets = m.Task.HasPositions()
	x.Lost = func(err error) error { return s.deviceLost(x, err) }
	return x
}

// reply returns the reply to a request from the model's output.
func (m *served) reply(r *requests.Request, o sft.Output) (requests.Reply, error) {
	return requests.NewReply(m.task, m.config, r, o)
}
