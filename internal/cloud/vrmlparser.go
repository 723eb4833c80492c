package cloud

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// vrmlNode is a node with those of its fields that a surface needs.
type vrmlNode struct {
	kind    string
	name    string // that DEF gave it, or ""
	numbers map[string][]float64
	nodes   map[string][]*vrmlNode
}

// What is kept of a node: fields of numbers, and of nodes.
var (
	vrmlNumbers = []string{"point", "coordIndex", "translation", "rotation", "scale", "scaleOrientation", "center", "whichChoice", "diffuseColor"}
	vrmlNodes   = []string{"children", "choice", "level", "geometry", "coord", "color", "appearance", "material"}
)

// vrmlParser reads the nodes of a file.
type vrmlParser struct {
	text    []byte
	line    int
	depth   int
	defined map[string]*vrmlNode
}

// mostDeep bounds how deep nodes may be within each other: deeper ones are no scene, and would
// take as much of the stack as they like.
const mostDeep = 200

// scene reads all nodes.
func (p *vrmlParser) scene() (out []*vrmlNode, err error) {
	if !bytes.HasPrefix(p.text, []byte("#VRML V2.0")) {
		first, _, _ := bytes.Cut(p.text, []byte("\n"))
		return nil, fmt.Errorf("%.40q, expected #VRML V2.0 utf8", first)
	}
	for {
		switch word := p.next(); string(word) {
		case "":
			return out, nil
		case "ROUTE": // of events, of which a file at rest has none
			for range 3 {
				p.next()
			}
		default:
			n, err := p.node(word)
			if err != nil {
				return nil, err
			}
			out = append(out, n)
		}
	}
}

// next cuts the next word off: a bracket, a string with its quotes, or what has no space in it.
// At the end it is empty.
func (p *vrmlParser) next() []byte {
	for len(p.text) > 0 {
		switch c := p.text[0]; {
		case c == '#':
			end := bytes.IndexByte(p.text, '\n')
			if end < 0 {
				end = len(p.text)
			}
			p.text = p.text[end:]
		case c == '\n':
			p.line++
			p.text = p.text[1:]
		case vrmlSpace(c):
			p.text = p.text[1:]
		case bytes.IndexByte([]byte("{}[]"), c) >= 0:
			return p.cut(1)
		case c == '"':
			return p.cut(p.stringEnd())
		default:
			end := 1
			for end < len(p.text) && !vrmlSpace(p.text[end]) && bytes.IndexByte([]byte("\n#\"{}[]"), p.text[end]) < 0 {
				end++
			}
			return p.cut(end)
		}
	}
	return nil
}

func vrmlSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == ',' }

// stringEnd is where a string ends that begins here, or the text.
func (p *vrmlParser) stringEnd() int {
	for i := 1; i < len(p.text); i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(p.text)
}

func (p *vrmlParser) cut(n int) []byte {
	word := p.text[:n]
	p.line += bytes.Count(word, []byte("\n"))
	p.text = p.text[n:]
	return word
}

// peek is the next word, which stays.
func (p *vrmlParser) peek() []byte {
	text, line := p.text, p.line
	word := p.next()
	p.text, p.line = text, line
	return word
}

// node reads the node that begins with a word.
func (p *vrmlParser) node(word []byte) (*vrmlNode, error) {
	switch string(word) {
	case "DEF":
		name := string(p.next())
		n, err := p.node(p.next())
		if err == nil {
			n.name, p.defined[name] = name, n
		}
		return n, err
	case "USE":
		name := string(p.next())
		if n := p.defined[name]; n != nil {
			return n, nil
		}
		return nil, fmt.Errorf("USE %.40q: no node is called so", name)
	case "PROTO", "EXTERNPROTO", "Script":
		return nil, fmt.Errorf("%s: expected nodes of the standard alone", word)
	}
	if open := p.next(); string(open) != "{" {
		return nil, fmt.Errorf("%.40q, expected a node: its name and {, found %.40q", word, open)
	}
	if p.depth++; p.depth > mostDeep {
		return nil, fmt.Errorf("nodes within %d others, expected fewer", mostDeep)
	}
	defer func() { p.depth-- }()
	n := &vrmlNode{kind: string(word)}
	for {
		switch name := string(p.next()); name {
		case "}":
			return n, nil
		case "":
			return nil, errors.New("expected }, found the end")
		default:
			if err := p.field(n, name); err != nil {
				return nil, err
			}
		}
	}
}

// field reads the value of a field of a node.
func (p *vrmlParser) field(n *vrmlNode, name string) error {
	var numbers []float64
	var nodes []*vrmlNode
	kept := slices.Contains(vrmlNumbers, name)
	one := func(word []byte) error {
		if vrmlNumber(word) {
			if !kept {
				return nil // such as a colour, or a pixel, 0xff
			}
			number, err := strconv.ParseFloat(string(word), 64)
			if err != nil {
				return fmt.Errorf("%s: %.40q, expected a number", name, word)
			}
			numbers = append(numbers, number)
			return nil
		}
		switch {
		case word[0] == '"' || string(word) == "TRUE" || string(word) == "FALSE" || string(word) == "NULL":
			return nil
		case bytes.IndexByte([]byte("{}[]"), word[0]) >= 0:
			return fmt.Errorf("%.40q has no value, found %q", name, word)
		}
		m, err := p.node(word)
		if err == nil && slices.Contains(vrmlNodes, name) {
			nodes = append(nodes, m)
		}
		return err
	}
	switch word := p.next(); {
	case len(word) == 0:
		return fmt.Errorf("%.40q has no value, found the end", name)
	case word[0] == '[':
		for {
			word := p.next()
			if string(word) == "]" {
				break
			}
			if len(word) == 0 {
				return errors.New("expected ], found the end")
			}
			if err := one(word); err != nil {
				return err
			}
		}
	default:
		if err := one(word); err != nil {
			return err
		}
		for vrmlNumber(word) && vrmlNumber(p.peek()) {
			if err := one(p.next()); err != nil {
				return err
			}
		}
	}
	if numbers != nil {
		if n.numbers == nil {
			n.numbers = map[string][]float64{}
		}
		n.numbers[name] = numbers
	}
	if nodes != nil {
		if n.nodes == nil {
			n.nodes = map[string][]*vrmlNode{}
		}
		n.nodes[name] = nodes
	}
	return nil
}

// vrmlNumber reports whether a word is one, or should be.
func vrmlNumber(word []byte) bool {
	return len(word) > 0 && (word[0] >= '0' && word[0] <= '9' || word[0] == '-' || word[0] == '+' || word[0] == '.')
}
