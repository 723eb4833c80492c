package serve

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"sync"
	"sync/atomic"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
)

// A Model is what a server answers with.
type Model struct {
	Scorer  *sft.Scorer
	Name    string // what clients are told of where it was read
	Dir     string // where it was read
	Device  string
	Hash    string // of configuration and weights, see Hash
	Release func() // ends the use of the device
}

// Hash names a model by what decides its embeddings: the weights, and the
// configuration but for names, provenance and what is read of a longer input.
func Hash(m *sft.Model) string {
	c := *m.Config
	c.Extra, c.LabelNames, c.InputWindow = nil, nil, nil
	h := sha256.New()
	text, _ := json.Marshal(c) // numbers and strings that came from JSON
	h.Write(text)
	var buffer [4096]byte
	for at := 0; at < len(m.Weights); {
		n := 0
		for ; n < len(buffer) && at < len(m.Weights); n, at = n+4, at+1 {
			binary.LittleEndian.PutUint32(buffer[n:], math.Float32bits(m.Weights[at]))
		}
		h.Write(buffer[:n])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// served is a model in use. After a reload it lives until the last request that
// began with it is answered.
type served struct {
	*Model
	config *sft.Config
	parser *requests.Parser // of both single sequences and pairs
	lost   atomic.Bool      // its device computes no more

	mu      sync.Mutex
	users   int
	retired bool
}

func newServed(m *Model) *served {
	c := m.Scorer.Config()
	return &served{Model: m, config: c, parser: requests.NewParser(c, m.Dir, "", 1, 2)}
}

// use counts one more user; false if the model is gone.
func (m *served) use() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retired && m.users == 0 {
		return false
	}
	m.users++
	return true
}

func (m *served) done() {
	m.mu.Lock()
	m.users--
	free := m.retired && m.users == 0
	m.mu.Unlock()
	if free {
		m.Release()
	}
}

// retire has the model released once nobody uses it.
func (m *served) retire() {
	m.mu.Lock()
	m.retired = true
	free := m.users == 0
	m.mu.Unlock()
	if free {
		m.Release()
	}
}
