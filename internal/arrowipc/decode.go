package arrowipc

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// decodeSchema decodes a checked schema message with Arrow.
func decodeSchema(schema *message) (result *arrow.Schema, err error) {
	defer Contain(&err)
	defer explainDecoder(&err)
	reader, err := ipc.NewReaderFromMessageReader(&queue{schema})
	if err != nil {
		return nil, err
	}
	return reader.Schema(), nil
}

// decodeBatch decodes a checked record batch and its dictionaries with Arrow. It creates a new Arrow
// reader for each batch, so that no state can be corrupted by a failure or shared by goroutines; a new
// reader takes microseconds. The record needs no Release, because its memory is garbage-collected.
func decodeBatch(schema, batch *message, dictionaries ...*message) (record arrow.Record, err error) {
	defer Contain(&err)
	defer explainDecoder(&err)
	mem := &allowance{remaining: batch.decoded + 1<<20}
	messages := queue{schema}
	for _, d := range dictionaries {
		mem.remaining += d.decoded
		messages = append(messages, d)
	}
	messages = append(messages, batch)
	reader, err := ipc.NewReaderFromMessageReader(&messages, ipc.WithAllocator(mem))
	if err != nil {
		return nil, err
	}
	if err := checkColumnLengths(reader.Schema(), batch); err != nil {
		return nil, err
	}
	if record, err = reader.Read(); err != nil {
		return nil, err
	}
	return record, checkReferences(record)
}

// checkColumnLengths checks that every column is as long as the batch, because Arrow would silently
// truncate longer columns.
func checkColumnLengths(schema *arrow.Schema, batch *message) error {
	rows, err := batch.header.int(0, 8)
	if err != nil {
		return err
	}
	start, count, err := batch.header.vector(1, 16)
	if err != nil {
		return err
	}
	node := 0
	for _, field := range schema.Fields() {
		if node >= count {
			return fmt.Errorf("column %.40q: the length is missing", field.Name)
		}
		if length := batch.header.int64At(start + 16*node); length != rows {
			return fmt.Errorf("column %.40q: expected %d rows, found %d", field.Name, rows, length)
		}
		node += nodes(field.Type)
	}
	return nil
}

// nodes returns the number of lengths that a batch states for a column: one for the column and one
// for each descendant.
func nodes(t arrow.DataType) int {
	n := 1
	if nested, ok := t.(arrow.NestedType); ok {
		for _, child := range nested.Fields() {
			n += nodes(child.Type)
		}
	}
	return n
}

// Contain converts a panic inside Arrow to an error. It must be deferred. Arrow may panic on records of
// other programs, and on malformed data that the checks do not detect.
func Contain(err *error) {
	p := recover()
	if _, ok := p.(runtime.Error); ok {
		*err = errDamaged
	} else if p != nil {
		*err = fmt.Errorf("the Arrow decoder failed: %v", p)
	}
}

// errDamaged is the error for a message on which Arrow panics with a runtime error.
var errDamaged = errors.New("the message is damaged: its metadata and its buffers contradict each other")

// explainDecoder replaces an error with errDamaged if Arrow has recovered a runtime error. It must be
// deferred.
func explainDecoder(err *error) {
	if *err != nil && strings.Contains((*err).Error(), "runtime error") {
		*err = errDamaged
	}
}

// A queue passes checked messages to Arrow.
type queue []*message

var _ ipc.MessageReader = (*queue)(nil)

// Message returns the next message.
func (q *queue) Message() (*ipc.Message, error) {
	if len(*q) == 0 {
		return nil, io.EOF
	}
	m := (*q)[0]
	*q = (*q)[1:]
	return ipc.NewMessage(memory.NewBufferBytes(m.meta), memory.NewBufferBytes(m.body)), nil
}

// Retain does nothing, because the messages are garbage-collected.
func (q *queue) Retain() {}

// Release does nothing, because the messages are garbage-collected.
func (q *queue) Release() {}

// An allowance is an allocator with a limit for one record batch and its dictionaries, because a Go
// process that runs out of memory ends. It panics at the limit; Contain recovers the panic.
type allowance struct {
	memory.GoAllocator
	remaining int64
}

// Allocate returns size bytes. It panics if they exceed the limit.
func (a *allowance) Allocate(size int) []byte {
	if size < 0 || int64(size) > a.remaining {
		panic(fmt.Sprintf("an allocation of %d bytes exceeds the remaining %d bytes of the limit", size, a.remaining))
	}
	a.remaining -= int64(size)
	return a.GoAllocator.Allocate(size)
}

// Reallocate returns size bytes that begin with b. The whole new size counts towards the limit.
func (a *allowance) Reallocate(size int, b []byte) []byte {
	fresh := a.Allocate(size)
	copy(fresh, b)
	return fresh
}
