package index

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

const size = 4

func open(t testing.TB, path string) *Index {
	t.Helper()
	x := must.Get(Open(path, Options{Model: "m", Size: size}))(t)
	t.Cleanup(func() { x.Close() })
	return x
}

// itemOf returns a random item that depends only on n.
func itemOf(n int) Item {
	r := rand.New(rand.NewPCG(uint64(n), 0))
	i := Item{ID: strconv.Itoa(n), Vector: make([]float32, size)}
	for k := range i.Vector {
		i.Vector[k] = float32(r.NormFloat64())
	}
	for range r.IntN(20) {
		i.Tokens = append(i.Tokens, r.Int32N(100))
	}
	return i
}

// expect checks that the index has exactly the given items, with a search over all items.
func expect(t testing.TB, x *Index, want map[string]Item) {
	t.Helper()
	if x.Len() != len(want) {
		t.Fatalf("got %d items, want %d", x.Len(), len(want))
	}
	query := []float32{1, -2, 0.5, 3}
	for _, h := range found(t, x, query, len(want)+1) {
		i, ok := want[h.ID]
		if !ok || !slices.Equal(i.Tokens, h.Tokens) || h.Cosine != cosine(query, i.Vector) {
			t.Fatalf("item %q: got %+v, want %+v", h.ID, h, i)
		}
	}
}

// directly runs a piece of a search in the calling goroutine.
func directly(piece func()) error {
	piece()
	return nil
}

func found(t testing.TB, x *Index, vector []float32, k int) []Hit {
	t.Helper()
	return must.Get(x.Search(Query{Vector: vector}, k, directly))(t)
}

func cosine(a, b []float32) float64 {
	if n := math.Sqrt(dot(a, a)) * math.Sqrt(dot(b, b)); n > 0 {
		return max(-1, min(1, dot(a, b)/n))
	}
	return 0
}

// TestChanges compares the index with a map after random additions, replacements and removals, with
// restarts and compactions in between.
func TestChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.arrow")
	x, want, r := open(t, path), map[string]Item{}, rand.New(rand.NewPCG(1, 1))
	shrunk, before := false, int64(0)
	for round := range 30 {
		var wg sync.WaitGroup
		changed := map[string]bool{}
		for range 400 { // concurrently; each id at most once, because the order is random
			i := itemOf(r.IntN(1 << 20))
			i.ID = strconv.Itoa(r.IntN(600))
			if changed[i.ID] {
				continue
			}
			changed[i.ID] = true
			if r.IntN(3) == 0 {
				_, known := want[i.ID]
				delete(want, i.ID)
				wg.Go(func() {
					unknown, err := x.Remove([]string{i.ID})
					if err != nil || known == (len(unknown) == 1) {
						t.Errorf("removing %q: got unknown ids %q, error %v; want the id unknown: %v", i.ID, unknown,
							err, !known)
					}
				})
				continue
			}
			want[i.ID] = i
			wg.Go(func() {
				must.Check(t, x.Add(i)())
			})
		}
		wg.Wait()
		shrunk, before = shrunk || x.Size() < before, x.Size()
		if round%7 == 6 {
			must.Succeed(t, x.Close())
			x = open(t, path)
		}
		expect(t, x, want)
	}
	if !shrunk {
		t.Error("the file was never rewritten")
	}
	if rows := batchRows(t, path); sum(rows) < len(want) {
		t.Errorf("the file has %d rows, want at least %d", sum(rows), len(want))
	}
}

// batchRows returns the number of rows of each record batch in a file.
func batchRows(t *testing.T, path string) (rows []int) {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	reader := must.Get(ipc.NewReader(f))(t)
	for reader.Next() {
		rows = append(rows, int(reader.Record().NumRows()))
	}
	if err := reader.Err(); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return rows
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// TestLargeRemove checks that removing many items writes record batches of bounded size.
func TestLargeRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.arrow")
	x := open(t, path)
	const n = compactFrom/2 - 10 // too few rows for the file to be rewritten
	var ids []string
	var wait func() error
	for i := range n {
		item := itemOf(i)
		ids = append(ids, item.ID)
		wait = x.Add(item)
	}
	must.Succeed(t, wait())
	if unknown, err := x.Remove(append(ids, "none")); err != nil || !slices.Equal(unknown, []string{"none"}) {
		t.Fatalf(`got unknown ids %q, error %v; want ["none"]`, unknown, err)
	}
	x.Close()
	rows := batchRows(t, path)
	if slices.Max(rows) > maxBatch || sum(rows) != 2*n || open(t, path).Len() != 0 {
		t.Errorf("got batches of %d rows, want %d rows in batches of at most %d, and no items", rows, 2*n,
			maxBatch)
	}
}

// TestOrder checks that the last of several changes to one id wins, within a group and across
// groups.
func TestOrder(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "x.arrow"))
	for round := range 50 {
		var wait func() error
		for n := range 20 {
			wait = x.Add(Item{ID: "a", Tokens: []int32{int32(n)}, Vector: itemOf(n).Vector})
		}
		must.Succeed(t, wait())
		if h := found(t, x, []float32{1, 0, 0, 0}, 1); h[0].Tokens[0] != 19 {
			t.Fatalf("round %d: got %v, want the last item", round, h)
		}
	}
}

// TestTornTail truncates the file at many offsets, or overwrites its end with zeros, as a power cut may.
// Open must read all whole groups, and the opened index must accept items.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.arrow")
	x := open(t, path)
	ends := []int64{x.Size()}
	for n := range 4 {
		must.Succeed(t, x.Add(itemOf(n))())
		ends = append(ends, x.Size())
	}
	x.Close()
	data := must.Get(os.ReadFile(path))(t)
	check := func(name string, data []byte, whole int) {
		t.Helper()
		path := filepath.Join(dir, "torn.arrow")
		must.Succeed(t, os.WriteFile(path, data, 0o666))
		x, err := Open(path, Options{Model: "m", Size: size})
		must.Succeed(t, err, name)
		defer x.Close()
		if x.Len() != whole || dropped(x) != int64(len(data))-ends[whole] {
			t.Fatalf("%s: got %d items, %d dropped bytes; want %d, %d", name, x.Len(), dropped(x), whole,
				int64(len(data))-ends[whole])
		}
		must.Succeed(t, x.Add(itemOf(9))(), name)
		x.Close()
		if x, err = Open(path, Options{Model: "m", Size: size}); err != nil || x.Len() != whole+1 || dropped(x) != 0 {
			t.Fatalf("%s: opened after one more item: error %v, want %d items and no dropped bytes", name, err, whole+1)
		}
		x.Close()
		os.Remove(path + ".dropped-1")
	}
	step := 29
	if !testing.Short() {
		step = 1
	}
	for cut := ends[2]; cut <= ends[4]; cut += int64(step) {
		whole := 2
		for whole < 4 && ends[whole+1] <= cut {
			whole++
		}
		check(fmt.Sprintf("cut at %d", cut), data[:cut], whole)
	}
	for at := ends[3]; at < ends[4]; at += 8 {
		zeros := slices.Clone(data)
		clear(zeros[at:])
		check(fmt.Sprintf("zeros from %d", at), zeros, 3)
	}
	// Damage before a whole group is an error, unless it does not change the content.
	refused := 0
	for at := ends[1]; at < ends[2]; at += 3 {
		middle := slices.Clone(data)
		middle[at] ^= 0x10
		torn := filepath.Join(dir, "torn.arrow")
		os.WriteFile(torn, middle, 0o666)
		x, err := Open(torn, Options{Model: "m", Size: size})
		if err == nil {
			expect(t, x, map[string]Item{"0": itemOf(0), "1": itemOf(1), "2": itemOf(2), "3": itemOf(3)})
			x.Close()
			continue
		}
		refused++
		if !strings.Contains(err.Error(), "damaged at byte") {
			t.Errorf("byte %d: got error %v, want damaged at byte", at, err)
		}
	}
	if refused < 20 {
		t.Errorf("got errors for %d damaged bytes, want at least 20", refused)
	}
}

// TestOtherModel checks that an index of another model is refused, unless it has the same tokenizer
// and Embed recomputes its vectors. Files that are not an index are refused, too.
func TestOtherModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.arrow")
	x := open(t, path)
	for n := range 600 {
		i := itemOf(n)
		i.Tokens = append(i.Tokens, int32(n))
		x.Add(i)
	}
	must.Succeed(t, x.Add(Item{ID: "last", Tokens: []int32{7}, Vector: make([]float32, size)})())
	must.Fail(t, "another program")(Open(path, Options{Model: "m", Size: size}))
	x.Close()
	items := x.Len()
	must.Fail(t, "another model")(Open(path, Options{Model: "n", Size: 2}))
	broken := errors.New("broken")
	for _, other := range []Options{{Model: "n", Tokenizer: "t", Size: 2},
		{Model: "n", Tokenizer: "t", Size: 2, Embed: func([][]int32) ([][]float32, error) { return nil, nil }}} {
		if _, err := Open(path, other); err == nil || !strings.Contains(err.Error(), "found one with") ||
			strings.Contains(err.Error(), "--reembed") {
			t.Errorf("got error %v, want one for the tokenizer, without --reembed", err)
		}
	}
	must.FailWith(t, broken)(Open(path,
		Options{Model: "n", Size: 2, Embed: func([][]int32) ([][]float32, error) { return nil, broken }}))
	o := Options{Model: "n", Size: 2, Embed: func(tokens [][]int32) (out [][]float32, err error) {
		for _, s := range tokens {
			out = append(out, []float32{1, float32(len(s))})
		}
		return out, nil
	}}
	for range 2 { // recomputed, then unchanged
		x := must.Get(Open(path, o))(t)
		if x.Len() != items {
			t.Errorf("got %d items, want %d", x.Len(), items)
		}
		x.Close()
		o.Embed = nil
	}
	for name, text := range map[string]string{"empty": "", "text": "hello, this is text", "arrow": "ARROW1\x00\x00"} {
		other := filepath.Join(t.TempDir(), name)
		os.WriteFile(other, []byte(text), 0o666)
		must.Fail(t, "an index", name)(Open(other, o))
	}
}

// TestKill checks that all acknowledged items exist after a process was killed while adding items.
func TestKill(t *testing.T) {
	if path := os.Getenv("SFTSEQ_TEST_INDEX"); path != "" {
		addForever(path)
		return
	}
	rounds := 3
	if !testing.Short() {
		rounds = 10
	}
	path := filepath.Join(t.TempDir(), "x.arrow")
	acknowledged := map[string]bool{}
	for round := range rounds {
		c := exec.Command(os.Args[0], "-test.run=^TestKill$")
		c.Env = append(os.Environ(), "SFTSEQ_TEST_INDEX="+path, fmt.Sprintf("SFTSEQ_TEST_FIRST=%d", round*1_000_000))
		out := must.Get(c.StdoutPipe())(t)
		must.Succeed(t, c.Start())
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			acknowledged[lines.Text()] = true
			if n == 50+31*round {
				c.Process.Kill()
			}
		}
		c.Wait()
		x := open(t, path)
		for id := range acknowledged {
			if _, ok := x.items.at[id]; !ok {
				t.Fatalf("round %d: the acknowledged item %s is missing", round, id)
			}
		}
		t.Logf("round %d: %d items, %d acknowledged, %d bytes dropped", round, x.Len(), len(acknowledged), dropped(x))
		x.Close()
	}
}

// addForever adds items from several goroutines and prints the id of each acknowledged item.
func addForever(path string) {
	x, err := Open(path, Options{Model: "m", Size: size})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	first, _ := strconv.Atoi(os.Getenv("SFTSEQ_TEST_FIRST"))
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for n := first + k; ; n += 8 {
				i := itemOf(n)
				if err := x.Add(i)(); err != nil {
					os.Exit(1)
				}
				os.Stdout.WriteString(i.ID + "\n")
			}
		})
	}
	wg.Wait()
}

// FuzzOpen opens arbitrary files. Open must not panic, and an opened index must accept items and
// open again.
func FuzzOpen(f *testing.F) {
	head, batch, err := encode(Options{Model: "m", Size: size},
		[]row{{Item: itemOf(1)}, {Item: Item{ID: "x", Vector: make([]float32, size)}, removed: true}})
	must.Succeed(f, err)
	f.Add([]byte{})
	f.Add(head)
	f.Add(slices.Concat(head, batch))
	f.Add(slices.Concat(head, batch, batch[:len(batch)/2]))
	path := filepath.Join(f.TempDir(), "x")
	f.Fuzz(func(t *testing.T, data []byte) {
		defer testenv.FuzzLimits(t, 16<<20+500*len(data))()
		must.Succeed(t, os.WriteFile(path, data, 0o666))
		x, err := Open(path, Options{Model: "m", Size: size})
		if err != nil {
			return
		}
		n := x.Len()
		must.Succeed(t, x.Add(Item{ID: "new", Vector: make([]float32, size)})())
		x.Close()
		if x, err = Open(path, Options{Model: "m", Size: size}); err != nil || x.Len() < n {
			t.Fatalf("opened again: got %d items, want at least %d; error %v", x.Len(), n, err)
		}
		x.Close()
	})
}
