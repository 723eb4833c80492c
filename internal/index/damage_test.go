package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func dropped(x *Index) int64 {
	n, _ := x.Dropped()
	return n
}

// indexOf makes an index of n groups of one item each and returns its file and where the
// groups end.
func indexOf(t testing.TB, n int) (data []byte, ends []int64, items map[string]Item) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.arrow")
	x := open(t, path)
	ends, items = []int64{x.Size()}, map[string]Item{}
	for k := range n {
		i := itemOf(k)
		must.Succeed(t, x.Add(i)())
		ends, items[i.ID] = append(ends, x.Size()), i
	}
	must.Succeed(t, x.Close())
	data = must.Get(os.ReadFile(path))(t)
	return data, ends, items
}

// opened is the index of a file's bytes, in a directory of its own.
func opened(t testing.TB, data []byte) (*Index, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.arrow")
	must.Succeed(t, os.WriteFile(path, data, 0o666))
	x, err := Open(path, Options{Model: "m", Size: size})
	if err == nil {
		t.Cleanup(func() { x.Close() })
	} else if left, _ := filepath.Glob(path + ".dropped*"); left != nil {
		t.Errorf("%v, and yet %v", err, left)
	} else if now, _ := os.ReadFile(path); !bytes.Equal(now, data) {
		t.Errorf("%v, and yet the file was changed", err)
	}
	return x, err
}

// TestDamagedAnywhere changes each byte of a closed file: the file is refused, or it has all items. No acknowledged
// item is dropped, not even in the last group.
func TestDamagedAnywhere(t *testing.T) {
	data, ends, items := indexOf(t, 4)
	random := rand.New(rand.NewPCG(16, 10))
	refused := map[bool]int{} // in the last group, before
	step := 1
	if testing.Short() {
		step = 5
	}
	for at := 0; at < len(data); at += step {
		damaged := bytes.Clone(data)
		damaged[at] ^= byte(1 + random.IntN(255))
		x, err := opened(t, damaged)
		if err == nil {
			expect(t, x, items)
			x.Close()
			continue
		}
		refused[int64(at) >= ends[3]]++
		if int64(at) >= ends[0] && !strings.Contains(err.Error(), "damaged at byte") {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if refused[true] < 50/step || refused[false] < 150/step {
		t.Errorf("%d damages of the last group were seen, %d of those before", refused[true], refused[false])
	}
}

// TestDropped: what is behind the whole groups is kept in a file that Arrow reads, as
// many times as it happens.
func TestDropped(t *testing.T) {
	data, ends, items := indexOf(t, 3)
	delete(items, "2")
	path := filepath.Join(t.TempDir(), "x.arrow")
	torn := bytes.Clone(data[:ends[3]]) // without the mark, as a power cut leaves it
	torn[ends[3]-20] ^= 1
	for n := 1; n <= 3; n++ {
		must.Succeed(t, os.WriteFile(path, torn, 0o666))
		x := open(t, path)
		expect(t, x, items)
		bytes, kept := x.Dropped()
		if want := fmt.Sprintf("%s.dropped-%d", path, n); bytes != ends[3]-ends[2] || kept != want {
			t.Errorf("%d bytes dropped, kept in %q; want %d, %q", bytes, kept, ends[3]-ends[2], want)
		}
		x.Close()
		text := must.Get(os.ReadFile(kept))(t)
		if want := slices.Concat(data[:ends[0]], torn[ends[2]:]); !slices.Equal(text, want) {
			t.Errorf("%d bytes are kept, want %d", len(text), len(want))
		}
		if rows := batchRows(t, kept); !slices.Equal(rows, []int{1}) {
			t.Errorf("record batches of %v rows are kept", rows)
		}
		if x = open(t, path); dropped(x) != 0 {
			t.Errorf("%d bytes dropped the second time", dropped(x))
		}
		x.Close()
	}
}

// TestTornGroup: of a group of several record batches a power cut may have left any: the
// mark of the group before, which it is written over, says that nothing was acknowledged.
func TestTornGroup(t *testing.T) {
	data, ends, items := indexOf(t, 2)
	_, batch := must.Get2(encode(Options{Model: "m", Size: size}, []row{{Item: itemOf(7)}, {Item: itemOf(8)}}))(t)
	// The disk wrote the second batch of the group, and not the first.
	torn := slices.Concat(data[:ends[2]], mark(ends[2]), make([]byte, len(batch)-markBytes), batch)
	x := must.Get(opened(t, torn))(t)
	expect(t, x, items)
	if n, kept := x.Dropped(); n != int64(2*len(batch)-markBytes) || kept == "" {
		t.Errorf("%d bytes dropped, kept in %q", n, kept)
	}
	// Of zeros alone there is nothing to keep.
	x = must.Get(opened(t, slices.Concat(data[:ends[2]], make([]byte, 700))))(t)
	expect(t, x, items)
	if n, kept := x.Dropped(); n != 700 || kept != "" {
		t.Errorf("%d zeros dropped, kept in %q", n, kept)
	}
}

// TestWithoutMark: a file of before has no mark. It is read, and has one from then on.
func TestWithoutMark(t *testing.T) {
	data, ends, items := indexOf(t, 2)
	path := filepath.Join(t.TempDir(), "x.arrow")
	must.Succeed(t, os.WriteFile(path, data[:ends[2]], 0o666))
	x := open(t, path)
	expect(t, x, items)
	if n, kept := x.Dropped(); n != 0 || kept != "" {
		t.Errorf("%d bytes dropped, kept in %q", n, kept)
	}
	x.Close()
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
		t.Errorf("%d bytes, want the %d of a file with its mark (%v)", len(now), len(data), err)
	}
}
