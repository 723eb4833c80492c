package files

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// signature is a byte sequence at an offset. If member is set, the content also contains member, the
// beginning of the name of a file in a zip archive.
type signature struct {
	offset int
	bytes  string
	member string
}

func at(offset int, bytes string) signature { return signature{offset: offset, bytes: bytes} }

func zipWith(member string) signature {
	return signature{bytes: "PK\x03\x04", member: member}
}

// match reports whether content, a [Sample], has the signature. A zip archive lists its files at its
// end, which is part of the sample.
func (s signature) match(content []byte) bool {
	end := s.offset + len(s.bytes)
	return len(content) >= end && string(content[s.offset:end]) == s.bytes &&
		(s.member == "" || bytes.Contains(content, []byte(s.member)))
}

// Agrees reports whether the content of a file is possible for its kind. A binary file has a signature of
// its kind; the kinds of ELF files are determined by the content. Text has no byte 0 and does not begin
// with a signature that excludes text.
func (k *Kind) Agrees(content []byte) bool {
	match := func(s signature) bool { return s.match(content) }
	switch {
	case !k.text:
		return len(k.signatures) == 0 || slices.ContainsFunc(k.signatures, match)
	case k.Name == "typescript" && bytes.HasPrefix(content, []byte("<")): // Qt's translations
		return false
	case k.Name == "systemd" && !systemdSection.Match(content): // D-Bus has the same extension
		return false
	}
	return bytes.IndexByte(content, 0) < 0 && !slices.ContainsFunc(Kinds, func(other Kind) bool {
		return slices.ContainsFunc(other.signatures, func(s signature) bool { return s.excludesText() && match(s) })
	})
}

var systemdSection = regexp.MustCompile(`(?m)^\[(Unit|Service|Socket|Target|Timer|Install)\]`)

// excludesText reports whether a file that begins with the signature is not text. Such a signature is
// in the list below, or has at least 4 bytes, including invalid UTF-8 or a control character other than
// a line feed, carriage return or tab. Other signatures, such as PAR1, may begin a text.
func (s signature) excludesText() bool {
	return s.offset == 0 && (len(s.bytes) >= 4 && strings.ContainsFunc(s.bytes, func(r rune) bool {
		return r == utf8.RuneError || r < ' ' && r != '\n' && r != '\r' && r != '\t'
	}) || slices.Contains([]string{"%PDF-", "GIF87a", "GIF89a", `{\rtf`, "%!PS"}, s.bytes))
}

// machines maps the machine number in the header of an ELF file to the names of the architecture, for
// little-endian and for big-endian files.
var machines = map[uint16][2]string{3: {"386", ""}, 8: {"mipsle", "mips"}, 21: {"ppc64le", "ppc64"}, 22: {"", "s390x"},
	40: {"arm", ""}, 62: {"amd64", ""}, 183: {"arm64", ""}, 243: {"riscv64", ""}, 258: {"loong64", ""}}

// elfKinds returns a kind for each architecture of linked files, and one kind for objects. These kinds
// have no extensions, because elfKind determines them by the header.
func elfKinds() []Kind {
	out := []Kind{{Name: "elf-object"}}
	for _, names := range machines {
		for _, name := range names {
			if name != "" {
				out = append(out, Kind{Name: "elf-" + name})
			}
		}
	}
	return out
}

// elfKind returns the index in [Kinds] of an ELF file's kind by its header. It returns −1 for core dumps,
// for linked files of unknown architectures, and for files in other formats.
func elfKind(header []byte) int {
	const relocatable, shared = 1, 3 // types of ELF files: 2 is an executable, 4 a core dump
	if len(header) < 20 || string(header[:4]) != "\x7fELF" || header[5] < 1 || header[5] > 2 {
		return -1
	}
	order := []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}[header[5]-1]
	name := "elf-" + machines[order.Uint16(header[18:])][header[5]-1]
	switch kind := order.Uint16(header[16:]); {
	case kind < relocatable || kind > shared:
		return -1
	case kind == relocatable:
		name = "elf-object"
	}
	return slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
}
