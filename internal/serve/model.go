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

// A Model is what a server answers with.
type Model struct {
	Scorer  *sft.Scorer
	Task    Task
	Name    string // public name of the directory it was read from
	Dir     string // where it was read
	Device  string
	Hash    string // hash of configuration and weights, see Hash
	Release func() // ends the use of the device
}

// Hash names a model, or several that answer together, by what decides its embeddings: the
// weights, and the configuration but for names, provenance and what is read of a longer input.
func Hash(models ...*sft.Model) string {
	h := sha256.New()
	for _, m := range models {
		c := *m.Config
		c.Extra, c.LabelNames, c.InputWindow, c.AutoMap = nil, nil, nil, nil
		text, _ := json.Marshal(c) // numbers and strings that came from JSON
		h.Write(text)
		_ = m.WriteWeights(h) // a hash has no errors
	}
	return hex.EncodeToString(h.Sum(nil))
}

// served is a model in use. After a reload it lives until the last request that
// began with it is answered.
type served struct {
	batching.Model
	about  *Model
	task   Task
	config *sft.Config
	parser *requests.Parser // parses single sequences and pairs
	failed atomic.Bool      // its device computes no more
}

func (s *Server) newServed(m *Model) *served {
	c := m.Scorer.Config()
	x := &served{Model: batching.Model{Scorer: m.Scorer, Release: m.Release}, about: m, task: m.Task, config: c,
		parser: requests.NewParser(c, m.Dir, "", 1, 2)}
	x.parser.Places = m.Task.HasPlaces()
	x.Lost = func(err error) error { return s.lost(x, err) }
	return x
}

// reply makes the reply to a request of an output.
func (m *served) reply(r *requests.Request, o sft.Output) (requests.Reply, error) {
	return requests.NewReply(m.task, m.config, r, o)
}
