package train

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/sftseq/sftseq/internal/distributed"
)

// checkEvery is the number of steps between comparisons of the ranks' weights.
const checkEvery = 100

// identity returns the properties that all ranks of a run must share.
func (t *Trainer) identity() (map[string]string, error) {
	out, err := t.engine.Identity()
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(t.settings)
	maps.Copy(out, map[string]string{
		"settings":                         string(settings),
		"the fingerprint of the data":      t.options.Data,
		"rows for training and validation": fmt.Sprintf("%d and %d", t.train.Len(), t.val.Len()),
		"the step":                         fmt.Sprint(t.state.Step),
		"the step to stop at":              fmt.Sprint(t.options.StopAt),
	})
	return out, err
}

// compareRanks returns an error if the ranks would not compute the same run.
func (t *Trainer) compareRanks() error {
	properties, err := t.identity()
	return distributed.Compare(t.options.Communicator, properties, err)
}

// checkHashes returns, on every rank, an error for the first rank whose weights differ from rank
// 0's.
func checkHashes(hashes []uint64, step int) error {
	for r, h := range hashes {
		if h != hashes[0] {
			return &distributed.Error{Rank: r,
				Err: fmt.Errorf("step %d: its weights (hash %016x) differ from those of rank 0 (%016x)", step, h,
					hashes[0])}
		}
	}
	return nil
}
