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

// indexOf creates an index of n groups of one item each. It returns the bytes of the file and the items.
// ends has the offset where the groups begin, followed by the end offset of each group.
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

// opened opens an index from a file with the given bytes. After an error the file must be
// unchanged.
func opened(t testing.TB, data []byte) (*Index, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.arrow")
	must.Succeed(t, os.WriteFile(path, data, 0o666))
	x, err := Open(path, Options{Model: "m", Size: size})
	if err == nil {
		t.Cleanup(func() { x.Close() })
	} else if left, _ := filepath.Glob(path + ".dropped*"); left != nil {
		t.Errorf("got error %v and files %q, want no file of dropped items after an error", err, left)
	} else if now, _ := os.ReadFile(path); !bytes.Equal(now, data) {
		t.Errorf("got error %v, but the file was changed", err)
	}
	return x, err
}

// TestDamagedAnywhere changes single bytes of a closed file. The file must be refused or have all
// items: an acknowledged item is never dropped, not even in the last group.
func TestDamagedAnywhere(t *testing.T) {
	data, ends, items := indexOf(t, 4)
	random := rand.New(rand.NewPCG(16, 10))
	refused := map[bool]int{} // refused files with damage in the last group (true) or before it
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
			t.Errorf("byte %d: got error %v, want damaged at byte", at, err)
		}
	}
	if refused[true] < 50/step || refused[false] < 150/step {
		t.Errorf("detected %d damaged bytes in the last group and %d before it, want at least %d and %d",
			refused[true], refused[false], 50/step, 150/step)
	}
}

// TestDropped checks that a torn last group is moved to a new Arrow file each time.
func TestDropped(t *testing.T) {
	data, ends, items := indexOf(t, 3)
	delete(items, "2")
	path := filepath.Join(t.TempDir(), "x.arrow")
	torn := bytes.Clone(data[:ends[3]]) // without the mark, as after a power cut
	torn[ends[3]-20] ^= 1
	for n := 1; n <= 3; n++ {
		must.Succeed(t, os.WriteFile(path, torn, 0o666))
		x := open(t, path)
		expect(t, x, items)
		bytes, kept := x.Dropped()
		if want := fmt.Sprintf("%s.dropped-%d", path, n); bytes != ends[3]-ends[2] || kept != want {
			t.Errorf("got %d dropped bytes in %q, want %d in %q", bytes, kept, ends[3]-ends[2], want)
		}
		x.Close()
		text := must.Get(os.ReadFile(kept))(t)
		if want := slices.Concat(data[:ends[0]], torn[ends[2]:]); !slices.Equal(text, want) {
			t.Errorf("%s: got %d bytes that differ from the expected %d bytes", kept, len(text), len(want))
		}
		if rows := batchRows(t, kept); !slices.Equal(rows, []int{1}) {
			t.Errorf("got record batches of %v rows, want one row", rows)
		}
		if x = open(t, path); dropped(x) != 0 {
			t.Errorf("opened again: got %d dropped bytes, want 0", dropped(x))
		}
		x.Close()
	}
}

// TestTornGroup checks a torn group of several record batches. A power cut may leave any part of
// the group. The previous group's mark shows that the torn group was not acknowledged.
func TestTornGroup(t *testing.T) {
	data, ends, items := indexOf(t, 2)
	_, batch := must.Get2(encode(Options{Model: "m", Size: size}, []row{{Item: itemOf(7)}, {Item: itemOf(8)}}))(t)
	// The disk wrote the second batch of the group, but not the first.
	torn := slices.Concat(data[:ends[2]], mark(ends[2]), make([]byte, len(batch)-markBytes), batch)
	x := must.Get(opened(t, torn))(t)
	expect(t, x, items)
	if n, kept := x.Dropped(); n != int64(2*len(batch)-markBytes) || kept == "" {
		t.Errorf("got %d dropped bytes in %q, want %d in a file", n, kept, 2*len(batch)-markBytes)
	}
	// Dropped zeros are not kept in a file.
	x = must.Get(opened(t, slices.Concat(data[:ends[2]], make([]byte, 700))))(t)
	expect(t, x, items)
	if n, kept := x.Dropped(); n != 700 || kept != "" {
		t.Errorf("got %d dropped zeros in %q, want 700 and no file", n, kept)
	}
}

// TestWithoutMark checks that a file without a mark, as written by earlier versions, is read and
// gets a mark.
func TestWithoutMark(t *testing.T) {
	data, ends, items := indexOf(t, 2)
	path := filepath.Join(t.TempDir(), "x.arrow")
	must.Succeed(t, os.WriteFile(path, data[:ends[2]], 0o666))
	x := open(t, path)
	expect(t, x, items)
	if n, kept := x.Dropped(); n != 0 || kept != "" {
		t.Errorf("got %d dropped bytes in %q, want none", n, kept)
	}
	x.Close()
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
		t.Errorf("got %d bytes, want the %d bytes of a file with its mark (error %v)", len(now), len(data), err)
	}
}
