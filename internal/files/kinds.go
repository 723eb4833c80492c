package files

import (
	"path"
	"slices"
	"strings"
)

// Kind is a class of files.
type Kind struct {
	Name       string
	Extensions []string // in lower case, with the dot; or whole names, such as Makefile
	signatures []signature
	text       bool // the files are text, see Agrees
}

// Kinds are the known kinds in alphabetical order.
var Kinds = sortKinds(slices.Concat(sources, documents, images, sounds, archives, programs, records))

// sources are the kinds of source code and of build files.
var sources = textKinds(`
ada .adb .ads
assembly .s .asm
awk .awk
batch .bat .cmd
c .c
clojure .clj .cljs
cmake .cmake CMakeLists.txt
coffeescript .coffee
cpp .cc .cpp .cxx .hpp .hh .hxx .tcc
csharp .cs
css .css
dart .dart
dockerfile Dockerfile .dockerfile
elisp .el
elixir .ex .exs
erlang .erl .hrl
fish .fish
fortran .f .f77 .f90 .f95
glsl .comp .frag .glsl .vert
gnuplot .gnuplot .plt
go .go
groovy .groovy .gradle
haml .haml
haskell .hs
haxe .hx
idl .idl
java .java
javascript .cjs .js .jsx .mjs
julia .jl
kotlin .kt .kts
less .less
lilypond .ly
lisp .asd .lisp .lsp
lua .lua
m4 .m4 .ac
make .am .mk Makefile
meson meson.build meson_options.txt
nim .nim
ocaml .ml .mli
openscad .scad
pascal .pas
perl .pl .pm
php .php
powershell .ps1 .psm1
protobuf .proto
python .py .pyi
qmake .pri
qml .qml
r .r
racket .rkt
ruby .rb
rust .rs
scala .scala
scheme .scm .ss
scss .scss
sed .sed
shell .bash .bats .sh
sql .sql
swift .swift
tcl .tcl
typescript .cts .mts .ts .tsx
vala .vala .vapi
verilog .sv .svh .vh
vhdl .vhd .vhdl
vim .vim
vue .vue
yacc .y .ypp .yy
zig .zig
`)

// documents are the kinds of documents and of text data.
var documents = append(textKinds(`
afm .afm
asciidoc .adoc .asciidoc
bdf .bdf
bibtex .bib
csv .csv
desktop .desktop
diff .diff .patch
dtd .dtd
dxf .dxf
fasta .fa .fasta
gettext .po .pot
gomod go.mod
gosum go.sum
graphviz .dot .gv
html .htm .html
icalendar .ics
ini .ini
json .json
jsonl .jsonl .ndjson
ldif .ldif
manpage .1 .2 .3 .4 .5 .6 .7 .8
markdown .markdown .md .mdx .md.txt
ntriples .nq .nt
org .org
pem .crt .pem
pkgconfig .pc
pod .pod
ppd .ppd
properties .properties
rst .rst .rst.txt
sfd .sfd
srt .srt
svg .svg
systemd .service .socket .target .timer
tex .cls .sty .tex
texinfo .texi .texinfo
toml .toml
tsv .tsv
turtle .ttl
txt .txt
xbm .xbm
xml .xml .xsd .xsl
xpm .xpm
yaml .yaml .yml
`), binaryKinds(
	kind("doc .doc", at(0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")),
	kind("docx .docx", zipWith("word/")),
	kind("epub .epub", at(30, "mimetypeapplication/epub+zip")),
	kind("odt .odt", at(30, "mimetypeapplication/vnd.oasis.opendocument.text")),
	kind("pdf .pdf", at(0, "%PDF-")),
	kind("postscript .eps .ps", at(0, "%!PS")),
	kind("pptx .pptx", zipWith("ppt/")),
	kind("rtf .rtf", at(0, `{\rtf`)),
	kind("xlsx .xlsx", zipWith("xl/")),
)...)

// images are the kinds of image and font files.
var images = binaryKinds(
	kind("bmp .bmp", at(0, "BM")),
	kind("cur .cur", at(0, "\x00\x00\x02\x00")),
	kind("fits .fits", at(0, "SIMPLE  =")),
	kind("gif .gif", at(0, "GIF87a"), at(0, "GIF89a")),
	kind("icc .icc .icm", at(36, "acsp")),
	kind("icns .icns", at(0, "icns")),
	kind("ico .ico", at(0, "\x00\x00\x01\x00")),
	kind("jpeg .jpeg .jpg", at(0, "\xff\xd8\xff")),
	kind("otf .otf", at(0, "OTTO")),
	kind("pcx .pcx", at(0, "\x0a\x00\x01"), at(0, "\x0a\x02\x01"), at(0, "\x0a\x03\x01"), at(0, "\x0a\x04\x01"),
		at(0, "\x0a\x05\x01")),
	kind("pfb .pfb", at(0, "\x80\x01")),
	kind("png .png", at(0, "\x89PNG\r\n\x1a\n")),
	kind("pnm .pbm .pgm .pnm .ppm", at(0, "P1"), at(0, "P2"), at(0, "P3"), at(0, "P4"), at(0, "P5"), at(0, "P6")),
	kind("psd .psd", at(0, "8BPS")),
	kind("tiff .tif .tiff", at(0, "II*\x00"), at(0, "MM\x00*")),
	kind("ttf .ttf", at(0, "\x00\x01\x00\x00"), at(0, "true")),
	kind("webp .webp", at(8, "WEBP")),
	kind("woff .woff", at(0, "wOFF")),
	kind("woff2 .woff2", at(0, "wOF2")),
	kind("xcf .xcf", at(0, "gimp xcf ")),
)

// sounds are the kinds of audio and video.
var sounds = binaryKinds(
	kind("aiff .aif .aiff", at(8, "AIFF")),
	kind("au .au", at(0, ".snd")),
	kind("avi .avi", at(8, "AVI ")),
	kind("flac .flac", at(0, "fLaC")),
	kind("matroska .mkv .webm", at(0, "\x1a\x45\xdf\xa3")),
	kind("midi .mid .midi", at(0, "MThd")),
	kind("mp3 .mp3", at(0, "ID3"), at(0, "\xff\xfb"), at(0, "\xff\xf3")),
	kind("mp4 .m4a .m4v .mp4", at(4, "ftyp")),
	kind("ogg .oga .ogg .ogv", at(0, "OggS")),
	kind("opus .opus", at(28, "OpusHead")),
	kind("s3m .s3m", at(44, "SCRM")),
	kind("swf .swf", at(0, "FWS"), at(0, "CWS"), at(0, "ZWS")),
	kind("wav .wav", at(8, "WAVE")),
	kind("xm .xm", at(0, "Extended Module: ")),
)

// archives are the kinds of compressed files and archives.
var archives = binaryKinds(
	kind("7z .7z", at(0, "7z\xbc\xaf\x27\x1c")),
	kind("bzip2 .bz2", at(0, "BZh")),
	kind("deb .deb", at(0, "!<arch>\ndebian-binary")),
	kind("gzip .gz .tgz", at(0, "\x1f\x8b")),
	kind("jar .jar", at(0, "PK\x03\x04")),
	kind("lz4 .lz4", at(0, "\x04\x22\x4d\x18"), at(0, "\x02\x21\x4c\x18")),
	kind("lzma .lzma", at(0, "\x5d\x00\x00")),
	kind("rpm .rpm", at(0, "\xed\xab\xee\xdb")),
	kind("tar .tar", at(257, "ustar")),
	kind("xz .xz", at(0, "\xfd7zXZ\x00")),
	kind("zip .zip .whl", at(0, "PK\x03\x04"), at(0, "PK\x05\x06")),
	kind("zstd .zst", at(0, "\x28\xb5\x2f\xfd")),
)

// programs are the kinds of machine code and byte code. Linked ELF files have a kind for each
// architecture; see elfKinds.
var programs = append(binaryKinds(
	kind("ar .a", at(0, "!<arch>\n")),
	kind("beam .beam", at(0, "FOR1")),
	kind("bitcode .bc", at(0, "BC\xc0\xde"), at(0, "\xde\xc0\x17\x0b")),
	kind("class .class", at(0, "\xca\xfe\xba\xbe")),
	kind("elc .elc", at(0, ";ELC")),
	kind("haskell-interface .dyn_hi .hi", at(0, "\x01\xfa\xce\x64"), at(0, "\x00\x01\xfa\xce")),
	kind("jmod .jmod", at(0, "JM")),
	kind("macho .dylib", at(0, "\xcf\xfa\xed\xfe"), at(0, "\xca\xfe\xba\xbe")),
	kind("ocaml-object .cma .cmi .cmo .cmt .cmti .cmx .cmxa", at(0, "Caml1999")),
	kind("pe .dll .exe", at(0, "MZ")),
	kind("pyc .pyc", at(2, "\r\n")),
	kind("spirv .spv", at(0, "\x03\x02\x23\x07")),
	kind("wasm .wasm", at(0, "\x00asm")),
), elfKinds()...)

// records are the kinds of data files.
var records = binaryKinds(
	kind("arrow .arrow .feather", at(0, "ARROW1")),
	kind("gettext-mo .mo", at(0, "\xde\x12\x04\x95"), at(0, "\x95\x04\x12\xde")),
	kind("hdf5 .h5 .hdf5", at(0, "\x89HDF\r\n\x1a\n")),
	kind("mat .mat", at(0, "MATLAB ")),
	kind("npy .npy", at(0, "\x93NUMPY")),
	kind("npz .npz", at(0, "PK\x03\x04")),
	kind("parquet .parquet", at(0, "PAR1")),
	kind("pcap .pcap", at(0, "\xd4\xc3\xb2\xa1"), at(0, "\xa1\xb2\xc3\xd4"), at(0, "\x4d\x3c\xb2\xa1"),
		at(0, "\xa1\xb2\x3c\x4d")),
	kind("qm .qm", at(0, "\x3c\xb8\x64\x18")),
	kind("sqlite .db .sqlite .sqlite3", at(0, "SQLite format 3\x00")),
)

// KindOf returns the index in [Kinds] of the kind of a file, or −1 if its name does not determine a
// kind. The path is separated by slashes. A manual page must be in a folder such as man3, because
// the names of library versions, such as libx.so.3, end in numbers too.
func KindOf(file string) int {
	folder, name := path.Split(file)
	k, ok := byName[name]
	if !ok { // the last two extensions, such as .rst.txt of Sphinx, or the last one
		lower := strings.ToLower(name)
		last := path.Ext(lower)
		if k, ok = byName[path.Ext(strings.TrimSuffix(lower, last))+last]; !ok {
			k, ok = byName[last]
		}
	}
	if !ok || Kinds[k].Name == "manpage" && !strings.HasPrefix(path.Base(folder), "man") {
		return -1
	}
	return k
}

// mayBeELF reports whether a file with this path may be an executable, a shared library or an object.
func mayBeELF(file string) bool {
	name := path.Base(file)
	return slices.Contains([]string{"", ".so", ".o", ".ko"}, path.Ext(name)) || strings.Contains(name, ".so.")
}

// byName maps each extension and each whole name to the index of its kind.
var byName = func() map[string]int {
	out := map[string]int{}
	for i, k := range Kinds {
		for _, e := range k.Extensions {
			out[e] = i
		}
	}
	return out
}()

// kind returns a kind. names lists the name of the kind and its extensions, separated by spaces.
func kind(names string, signatures ...signature) Kind {
	words := strings.Fields(names)
	return Kind{Name: words[0], Extensions: words[1:], signatures: signatures}
}

// textKinds returns the kinds of a table with a line for each kind.
func textKinds(table string) (out []Kind) {
	for line := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
		k := kind(line)
		k.text = true
		out = append(out, k)
	}
	return out
}

func binaryKinds(kinds ...Kind) []Kind { return kinds }

func sortKinds(kinds []Kind) []Kind {
	slices.SortFunc(kinds, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
	return kinds
}
