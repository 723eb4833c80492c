package testenv

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// CurvePoint is a value of the curve Tag in TensorBoard.
type CurvePoint struct {
	Step  int64
	Tag   string
	Value float32
}

// TensorBoard decodes a directory's event files as TensorBoard does, in the order of their names. The
// start of a session drops all points from its first step on. The decoder shares no code with the
// writer except package protowire.
func TensorBoard(t *testing.T, dir string) []CurvePoint {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*tfevents*"))
	if err != nil {
		t.Fatal(err)
	}
	var out []CurvePoint
	for _, path := range paths { // sorted
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; len(text) > 0; n++ {
			length := binary.LittleEndian.Uint64(text)
			checkRecord(t, text[:8], text[8:])
			event := text[12 : 12+length]
			checkRecord(t, event, text[12+length:])
			text = text[16+length:]
			out = decodeEvent(t, event, n == 0, out)
		}
	}
	return out
}

// checkRecord checks the stored masked CRC-32C of some bytes. It computes the CRC bit by bit,
// independently of the writer.
func checkRecord(t *testing.T, of, stored []byte) {
	t.Helper()
	crc := ^uint32(0)
	for _, b := range of {
		crc ^= uint32(b)
		for range 8 {
			crc = crc>>1 ^ 0x82f63b78*(crc&1)
		}
	}
	crc = ^crc
	if got, want := binary.LittleEndian.Uint32(stored), (crc>>15|crc<<17)+0xa282ead8; got != want {
		t.Fatalf("got masked CRC %08x, want %08x", got, want)
	}
}

// eventFields calls f with each field of a message.
func eventFields(t *testing.T, message []byte, f func(field protowire.Number, number uint64, text []byte)) {
	t.Helper()
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
		var number uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			number, n = protowire.ConsumeFixed64(message)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(message)
			number = uint64(v)
		default:
			text, n = protowire.ConsumeBytes(message)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
		f(field, number, text)
	}
}

func decodeEvent(t *testing.T, event []byte, first bool, out []CurvePoint) []CurvePoint {
	t.Helper()
	var step int64
	eventFields(t, event, func(field protowire.Number, number uint64, text []byte) {
		switch field {
		case 1:
			if at := math.Float64frombits(number); math.Abs(at-float64(time.Now().Unix())) > 60 {
				t.Errorf("got an event at Unix time %v, want a time within 60 s of now", at)
			}
		case 2:
			step = int64(number)
		case 3:
			if !first || string(text) != "brain.Event:2" {
				t.Errorf("got version %q, first event: %v; want brain.Event:2 in the first event", text, first)
			}
		case 5:
			eventFields(t, text, func(_ protowire.Number, _ uint64, value []byte) {
				p := CurvePoint{Step: step}
				eventFields(t, value, func(field protowire.Number, number uint64, text []byte) {
					switch field {
					case 1:
						p.Tag = string(text)
					case 2:
						p.Value = math.Float32frombits(uint32(number))
					}
				})
				out = append(out, p)
			})
		case 7:
			out = slices.DeleteFunc(out, func(p CurvePoint) bool { return p.Step >= step })
		default:
			t.Errorf("got the unexpected field %d in an event", field)
		}
	})
	return out
}
