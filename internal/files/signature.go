package files

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// signature is a byte sequence at an offset. A zip archive also has a file whose name begins with
// member.
type signature struct {
	offset int
	bytes  string
	member string
}

func at(offset int, bytes string) signature { return signature{offset: offset, bytes: bytes} }

func zipWith(member string) signature {
	return signature{bytes: "PK\x03\x04", member: member}
}

// match reports whether content has the signature. The names of a zip archive's files are at its end.
func (s signature) match(content []byte) bool {
	end := s.offset + len(s.bytes)
	return len(content) >= end && string(content[s.offset:end]) == s.bytes &&
		(s.member == "" || bytes.Contains(content, []byte(s.member)))
}

// Agrees reports whether the content of a file is possible for its kind: it has one of the kind's
// signatures. Text has no byte 0 and does not begin with another kind's signature of four bytes or more.
func (k *Kind) Agrees(content []byte) bool {
	if k.text {
		return bytes.IndexByte(content, 0) < 0 && !slices.ContainsFunc(Kinds, func(other Kind) bool {
			return slices.ContainsFunc(other.signatures, func(s signature) bool {
				return s.offset == 0 && len(s.bytes) >= 4 && s.match(content)
			})
		})
	}
	return len(k.signatures) == 0 ||
		slices.ContainsFunc(k.signatures, func(s signature) bool { return s.match(content) })
}

// machines are the architectures of ELF executables and libraries, by the number in their header.
var machines = map[uint16]string{3: "386", 8: "mips", 21: "ppc64", 22: "s390x", 40: "arm", 62: "amd64", 183: "arm64",
	243: "riscv64", 258: "loong64"}

// elfKinds returns a kind for each architecture, and one for objects that are not linked. Their names
// do not determine them, so they have no extensions.
func elfKinds() []Kind {
	out := []Kind{{Name: "elf-object"}}
	for _, name := range machines {
		out = append(out, Kind{Name: "elf-" + name})
	}
	return out
}

// elfKind returns the index in [Kinds] of an ELF file's kind by its header, or −1 for other files.
func elfKind(header []byte) int {
	if len(header) < 20 || string(header[:4]) != "\x7fELF" {
		return -1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if header[5] == 2 {
		order = binary.BigEndian
	}
	name := "elf-" + machines[order.Uint16(header[18:])]
	if order.Uint16(header[16:]) == 1 {
		name = "elf-object"
	}
	return slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
}
