package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// disk is a file whose unsynchronised writes may reach the disk in any order, by sectors.
type disk struct {
	file
	durable []byte
	pending []write
	written func() // called after each write
}

type write struct {
	data []byte
	at   int64
}

const sector = 512

func (d *disk) WriteAt(data []byte, at int64) (int, error) {
	d.pending = append(d.pending, write{bytes.Clone(data), at})
	n, err := d.file.WriteAt(data, at)
	d.written()
	return n, err
}

func (d *disk) Sync() error {
	d.durable = d.torn(func(int64) bool { return true })
	d.pending = nil
	return d.file.Sync()
}

// torn returns the content of the file after a power cut: the durable bytes, and the pending writes
// to the sectors that reached the disk.
func (d *disk) torn(reached func(sector int64) bool) []byte {
	image := bytes.Clone(d.durable)
	for _, w := range d.pending {
		if end := int(w.at) + len(w.data); end > len(image) {
			image = append(image, make([]byte, end-len(image))...)
		}
		for i, b := range w.data {
			if at := w.at + int64(i); reached(at / sector) {
				image[at] = b
			}
		}
	}
	return image
}

// TestTornAnywhere simulates power cuts after each write of a large removal and of later additions, with
// random sectors missing. The index must keep all earlier acknowledged items except the removed ones.
func TestTornAnywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.arrow")
	x := open(t, path)
	const count, removed = 2500, 1500
	var last func() error
	var ids []string
	for n := range count {
		i := itemOf(n)
		if last = x.Add(i); n < removed {
			ids = append(ids, i.ID)
		}
	}
	must.Succeed(t, last())
	data := must.Get(os.ReadFile(path))(t)
	random := rand.New(rand.NewPCG(21, 9))
	var images [][]byte
	d, writes := &disk{file: x.file, durable: data}, 0
	d.written = func() {
		writes++
		last := d.pending[len(d.pending)-1]
		first, end := d.pending[0].at/sector, (last.at+int64(len(last.data)))/sector+1
		for range 10 { // a range of sectors that did not reach the disk
			from := first + random.Int64N(end-first)
			to := from + 1 + random.Int64N(end-from)
			images = append(images, d.torn(func(s int64) bool { return s < from || s >= to }))
		}
	}
	x.file = d
	must.Get(x.Remove(ids))(t)
	for n := range 3 {
		must.Succeed(t, x.Add(itemOf(count+n))())
	}
	// The removals write each batch and one mark; each of the 3 additions writes a batch and a mark.
	if batches := (removed + maxBatch - 1) / maxBatch; writes != batches+1+2*3 {
		t.Errorf("got %d writes, want %d", writes, batches+1+2*3)
	}
	for n, image := range images {
		torn := must.Get(opened(t, image))(t, "image", n, "of", len(images))
		for n := removed; n < count; n++ {
			if _, ok := torn.items.at[fmt.Sprint(n)]; !ok {
				t.Fatalf("image %d: item %d is missing", n, n)
			}
		}
		torn.Close()
	}
}
