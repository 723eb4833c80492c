// Package tensorboard writes event files, whose curves TensorBoard draws.
//
// A file is a list of records of TFRecord, each of them an Event of protocol buffers:
//
//	length   uint64   of the event, in bytes
//	check    uint32   of the length's bytes
//	event    [length]byte
//	check    uint32   of the event's bytes
//
// with numbers in little endian. A check is the CRC-32C c of the bytes, masked, as a
// check of bytes that hold checks is a weak one:
//
//	mask(c) = (c >> 15 | c << 17) + 0xa282ead8
//
// Source: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto,
// tensorflow/core/framework/summary.proto.
package tensorboard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Scalar is a point of the curve Tag.
type Scalar struct {
	Tag   string
	Value float64
}

// Writer appends to an event file. After an error it writes nothing more.
type Writer struct {
	file *os.File
	err  error
}

// Fields of the messages.
const (
	eventWallTime, eventStep, eventFileVersion, eventSummary, eventSessionLog = 1, 2, 3, 5, 7

	summaryValue         = 1
	valueTag, valueFloat = 1, 2
	sessionStatus        = 1
)

// sessionStart makes TensorBoard drop the steps from the event's on.
const sessionStart = 1

// Create begins a new event file in dir. For a fresh run, resumed is 0. For a run resumed after a
// step, TensorBoard drops this step and all later ones.
func Create(dir string, resumed int) (*Writer, error) {
	path, err := nextPath(dir)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: f}
	w.event(0, eventFileVersion, []byte("brain.Event:2"))
	if resumed > 0 {
		start := protowire.AppendTag(nil, sessionStatus, protowire.VarintType)
		w.event(resumed, eventSessionLog, protowire.AppendVarint(start, sessionStart))
	}
	if w.err != nil {
		return nil, errors.Join(w.err, f.Close(), os.Remove(path))
	}
	return w, nil
}

// nextPath returns a name that sorts after existing ones: TensorBoard reads the files of a
// directory in the order of their names, which begin with a time in seconds.
func nextPath(dir string) (string, error) {
	const prefix = "events.out.tfevents."
	there, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	at := time.Now().Unix()
	for _, e := range there {
		var used int64
		if n, _ := fmt.Sscanf(e.Name(), prefix+"%d.", &used); n == 1 {
			at = max(at, used+1)
		}
	}
	return filepath.Join(dir, fmt.Sprintf("%s%010d.sftseq", prefix, at)), nil
}

// Write adds a point at a step to each of the curves.
func (w *Writer) Write(step int, scalars ...Scalar) error {
	var summary []byte
	for _, s := range scalars {
		value := protowire.AppendTag(nil, valueTag, protowire.BytesType)
		value = protowire.AppendString(value, s.Tag)
		value = protowire.AppendTag(value, valueFloat, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(s.Value)))
		summary = protowire.AppendTag(summary, summaryValue, protowire.BytesType)
		summary = protowire.AppendBytes(summary, value)
	}
	w.event(step, eventSummary, summary)
	return w.err
}

// event appends an event with the current time and one field, text or a message.
func (w *Writer) event(step int, field protowire.Number, content []byte) {
	if w.err != nil {
		return
	}
	e := protowire.AppendTag(nil, eventWallTime, protowire.Fixed64Type)
	e = protowire.AppendFixed64(e, math.Float64bits(float64(time.Now().UnixMicro())/1e6))
	if step != 0 { // protocol buffers omit zeros
		e = protowire.AppendTag(e, eventStep, protowire.VarintType)
		e = protowire.AppendVarint(e, uint64(step))
	}
	e = protowire.AppendTag(e, field, protowire.BytesType)
	e = protowire.AppendBytes(e, content)
	_, w.err = w.file.Write(record(e)) // unbuffered, so that a killed program has written it
}

// record frames an event.
func record(event []byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(event)))
	out = binary.LittleEndian.AppendUint32(out, masked(out))
	out = append(out, event...)
	return binary.LittleEndian.AppendUint32(out, masked(event))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the check of bytes.
func masked(bytes []byte) uint32 {
	c := crc32.Checksum(bytes, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// Close syncs and closes the file. It returns the first error of all.
func (w *Writer) Close() error {
	return errors.Join(w.err, w.file.Sync(), w.file.Close())
}
