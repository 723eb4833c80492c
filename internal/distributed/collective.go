package distributed

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Communicator connects ranks. Every rank must make the same calls in the same order.
type Communicator interface {
	Rank() int // from 0
	Size() int
	// AllGather sends the words of every rank to all ranks, in the order of ranks. counts has the
	// number of words of each rank.
	AllGather(send, receive []uint32, counts []int) error
	// AllToAll sends the first sendCounts[0] words to rank 0, the next sendCounts[1] words to rank
	// 1, and so on, and receives the words for this rank in the order of ranks.
	AllToAll(send []uint32, sendCounts []int, receive []uint32, receiveCounts []int) error
}

// Error is the error that ended the work of all ranks.
type Error struct {
	Rank int   // the failed or cancelled rank
	Err  error // error of the rank Rank; after a failure, the other ranks have only the text of the error
}

func (e *Error) Error() string { return fmt.Sprintf("rank %d: %v", e.Rank, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// States that a rank contributes to an agreement.
const (
	healthy uint32 = iota
	stopped
	failed
)

// Agree exchanges the states of all ranks. It returns each rank's word if no rank has an error,
// otherwise an [*Error] with the same rank and text on all ranks. An err that wraps [context.Canceled]
// is a cancellation: all ranks get an Error that wraps context.Canceled. Any other err is a failure. A
// failure has priority over a cancellation, and a lower rank over a higher rank. An error of the
// communication itself is returned unchanged.
func Agree(c Communicator, err error, word uint64) ([]uint64, error) {
	const header = 4
	mine := [header]uint32{healthy, 0, uint32(word), uint32(word >> 32)}
	var text []byte
	switch {
	case errors.Is(err, context.Canceled):
		mine[0] = stopped
	case err != nil:
		text = []byte(err.Error())
		mine[0], mine[1] = failed, uint32(len(text))
	}
	all := make([]uint32, header*c.Size())
	if err := c.AllGather(mine[:], all, equalCounts(c, header)); err != nil {
		return nil, err
	}
	words := make([]uint64, c.Size())
	lengths := make([]int, c.Size())
	bad := -1
	for r := range words {
		h := all[header*r : header*(r+1)]
		words[r], lengths[r] = uint64(h[3])<<32|uint64(h[2]), int(h[1])
		if h[0] != healthy && (bad < 0 || h[0] > all[header*bad]) {
			bad = r
		}
	}
	switch {
	case bad < 0:
		return words, nil
	case all[header*bad] == stopped:
		return nil, &Error{bad, context.Canceled}
	}
	texts, failure := gather(c, text, lengths)
	switch {
	case failure != nil:
		return nil, failure
	case bad == c.Rank():
		return nil, &Error{bad, err}
	}
	return nil, &Error{bad, errors.New(string(texts[bad]))}
}

// Gather returns the bytes of all ranks on each rank, or the error of a rank.
func Gather(c Communicator, mine []byte, err error) ([][]byte, error) {
	words, err := Agree(c, err, uint64(len(mine)))
	if err != nil {
		return nil, err
	}
	lengths := make([]int, len(words))
	for r, n := range words {
		lengths[r] = int(n)
	}
	return gather(c, mine, lengths)
}

// Broadcast returns the bytes of rank 0 on all ranks, or the error of a rank.
func Broadcast(c Communicator, mine []byte, err error) ([]byte, error) {
	if c.Rank() != 0 {
		mine = nil
	}
	all, err := Gather(c, mine, err)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Compare returns the same error on all ranks if a rank's values differ from those of rank 0. It
// compares only the keys of rank 0. The error names the first rank and key with a different value.
func Compare(c Communicator, mine map[string]string, err error) error {
	text, _ := json.Marshal(mine) // a map of strings always marshals
	all, err := Gather(c, text, err)
	if err != nil {
		return err
	}
	var want map[string]string
	for r, text := range all {
		var values map[string]string
		if err := json.Unmarshal(text, &values); err != nil {
			return fmt.Errorf("rank %d: %w", r, err)
		}
		if r == 0 {
			want = values
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if values[key] != want[key] {
				return fmt.Errorf("rank %d differs from rank 0 in %s: it has %s, rank 0 has %s", r,
					key, values[key], want[key])
			}
		}
	}
	return nil
}

// gather is like Gather, for lengths that all ranks know.
func gather(c Communicator, mine []byte, lengths []int) ([][]byte, error) {
	counts, total := make([]int, len(lengths)), 0
	for r, n := range lengths {
		counts[r] = (n + 3) / 4
		total += counts[r]
	}
	received := make([]uint32, total)
	if err := c.AllGather(packed(mine), received, counts); err != nil {
		return nil, err
	}
	out := make([][]byte, len(lengths))
	for r, n := range lengths {
		bytes := make([]byte, 0, 4*counts[r])
		for _, w := range received[:counts[r]] {
			bytes = binary.LittleEndian.AppendUint32(bytes, w)
		}
		out[r], received = bytes[:n], received[counts[r]:]
	}
	return out, nil
}

// packed returns bytes as words, padded with zeros.
func packed(b []byte) []uint32 {
	out := make([]uint32, (len(b)+3)/4)
	for i, v := range b {
		out[i/4] |= uint32(v) << (8 * (i % 4))
	}
	return out
}

// equalCounts returns counts for ranks that send n words each.
func equalCounts(c Communicator, n int) []int {
	out := make([]int, c.Size())
	for r := range out {
		out[r] = n
	}
	return out
}
