// Package tensorboard writes event files, whose scalars TensorBoard plots.
//
// A file is a list of TFRecord records. Each contains an Event, a protocol buffer message:
//
//	length   uint64          length of the event in bytes
//	crc      uint32          masked CRC-32C of the length field
//	event    [length]byte
//	crc      uint32          masked CRC-32C of the event
//
// Numbers are little-endian. The CRC is masked because computing the CRC of data that itself
// contains CRCs is unreliable:
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

// Scalar is a value of the curve named Tag.
type Scalar struct {
	Tag   string
	Value float64
}

// Writer appends to an event file. After an error it writes no more.
type Writer struct {
	file *os.File
	err  error
}

// Field numbers of the protocol buffer messages.
const (
	eventWallTime, eventStep, eventFileVersion, eventSummary, eventSessionLog = 1, 2, 3, 5, 7

	summaryValue         = 1
	valueTag, valueFloat = 1, 2
	sessionStatus        = 1
)

// sessionStart is the status that makes TensorBoard drop all points from the event's step on.
const sessionStart = 1

// Create creates a new event file in dir. resumed is the last completed step of a resumed run, or 0
// for a new run. For a resumed run, TensorBoard drops the existing points from that step on.
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

// nextPath returns a path whose file name sorts after the names of all existing event files, because
// TensorBoard reads the files of a directory in the order of their names. After the prefix, the name
// has the current Unix time in seconds, or the largest existing number plus one if that is larger.
func nextPath(dir string) (string, error) {
	const prefix = "events.out.tfevents."
	existing, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	seconds := time.Now().Unix()
	for _, e := range existing {
		var used int64
		if n, _ := fmt.Sscanf(e.Name(), prefix+"%d.", &used); n == 1 {
			seconds = max(seconds, used+1)
		}
	}
	return filepath.Join(dir, fmt.Sprintf("%s%010d.sftseq", prefix, seconds)), nil
}

// Write adds a point at a step to each curve in scalars.
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

// event appends an event with the current time and one field, which is text or a message.
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
	_, w.err = w.file.Write(record(e)) // unbuffered, so that no event is lost if the program is killed
}

// record returns an event as a TFRecord.
func record(event []byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(event)))
	out = binary.LittleEndian.AppendUint32(out, maskedCRC(out))
	out = append(out, event...)
	return binary.LittleEndian.AppendUint32(out, maskedCRC(event))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC returns the masked CRC-32C of bytes.
func maskedCRC(bytes []byte) uint32 {
	c := crc32.Checksum(bytes, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// Close syncs and closes the file. It returns the first error of Write, joined with its own errors.
func (w *Writer) Close() error {
	return errors.Join(w.err, w.file.Sync(), w.file.Close())
}
