package smiles

import (
	"fmt"
	"slices"
	"strings"
)

// Error is what is wrong with a text, and where.
type Error struct {
	Place          int // of the sign, from 1
	Expected, What string
}

func (e *Error) Error() string {
	return fmt.Sprintf("sign %d: expected %s, found %s", e.Place, e.Expected, e.What)
}

// parser reads a text from its beginning to its end, without recursion: brackets may be nested as
// deep as the text is long.
type parser struct {
	text     string
	at       int
	molecule Molecule
	last     int32 // the atom that the next one is bound to; none where there is none
	bond     Order // to the next atom or ring closure
	bondAt   int   // where that was written; 0 where it was not
	branches []branch
	rings    [100]opened
	pairs    map[[2]int32]bool // of atoms that are bound
}

// none is no atom.
const none = -1

// branch is what a parenthesis goes back to.
type branch struct {
	atom int32
	at   int // of the parenthesis
}

// opened is one half of a ring closure.
type opened struct {
	open  bool
	atom  int32
	order Order
	at    int // of the number
}

// Parse reads a molecule.
func Parse(text string) (*Molecule, error) {
	p := &parser{text: text, last: none, pairs: map[[2]int32]bool{}}
	for p.at < len(text) {
		if err := p.sign(); err != nil {
			return nil, err
		}
	}
	switch {
	case len(p.molecule.Atoms) == 0 || p.bondAt > 0 || p.last == none:
		return nil, p.expected("an atom")
	case len(p.branches) > 0:
		return nil, &Error{p.branches[len(p.branches)-1].at, "a ) that closes the branch", "none"}
	}
	for number, ring := range p.rings {
		if ring.open {
			return nil, &Error{ring.at, fmt.Sprintf("ring closure %d twice", number), "it once"}
		}
	}
	return &p.molecule, p.molecule.perceive()
}

// expected is an error at what is read next.
func (p *parser) expected(what string) error {
	if p.at >= len(p.text) {
		return &Error{len(p.text) + 1, what, "the end"}
	}
	for _, r := range p.text[p.at:] {
		return &Error{p.at + 1, what, fmt.Sprintf("%q", r)}
	}
	return nil
}

// sign reads an atom, a bond, a ring closure, a parenthesis or a dot.
func (p *parser) sign() error {
	c := p.text[p.at]
	bound := p.last != none
	switch {
	case c >= '0' && c <= '9' || c == '%':
		if !bound || p.branched() {
			return p.expected("an atom")
		}
		return p.ringClosure()
	case p.bondAt > 0: // a bond leads to an atom or a ring closure
	case strings.IndexByte(`-=#$:/\`, c) >= 0:
		if !bound {
			return p.expected("an atom")
		}
		p.bond = [...]Order{Single, Double, Triple, Quadruple, Aromatic, Single, Single}[strings.IndexByte(`-=#$:/\`, c)]
		p.at++
		p.bondAt = p.at
		return nil
	case c == '(':
		if !bound || p.at > 0 && p.text[p.at-1] == '(' {
			return p.expected("an atom")
		}
		p.at++
		p.branches = append(p.branches, branch{p.last, p.at})
		return nil
	case c == ')':
		if !bound || p.text[p.at-1] == '(' {
			return p.expected("an atom")
		}
		if len(p.branches) == 0 {
			return p.expected("a ( before it")
		}
		end := len(p.branches) - 1
		p.last = p.branches[end].atom
		p.branches = p.branches[:end]
		p.at++
		return nil
	case c == '.':
		if !bound {
			return p.expected("an atom")
		}
		p.last = none
		p.at++
		return nil
	}
	return p.atom()
}

// branched reports whether a branch has just begun or ended: ring closures are of an atom before its
// branches.
func (p *parser) branched() bool {
	before := p.at - 1
	if p.bondAt > 0 {
		before = p.bondAt - 2
	}
	return p.text[before] == '(' || p.text[before] == ')'
}

// atom reads an atom and binds it to the last one.
func (p *parser) atom() error {
	a := Atom{place: p.at + 1}
	if p.text[p.at] == '[' {
		p.at++
		if err := p.bracket(&a); err != nil {
			return err
		}
	} else if symbol := p.oneOf(organic); symbol != "" {
		a.Element = symbol
	} else if symbol := p.oneOf(aromaticOrganic); symbol != "" {
		a.Element, a.Aromatic = strings.ToUpper(symbol), true
	} else if p.take('*') {
		a.Element = "*"
	} else {
		return p.expected("an atom, such as C, c or [Na+]")
	}
	next := int32(len(p.molecule.Atoms))
	p.molecule.Atoms = append(p.molecule.Atoms, a)
	if p.last != none {
		p.bind(p.last, next, p.bond)
	}
	p.last, p.bond, p.bondAt = next, implied, 0
	return nil
}

// bind adds a bond, and reports whether there was none between its atoms.
func (p *parser) bind(a, b int32, order Order) bool {
	pair := [2]int32{min(a, b), max(a, b)}
	if p.pairs[pair] {
		return false
	}
	p.pairs[pair] = true
	p.molecule.Bonds = append(p.molecule.Bonds, Bond{A: a, B: b, Order: order})
	return true
}

// ringClosure reads the number of one, and binds two atoms where it is the second of this number.
func (p *parser) ringClosure() error {
	at, number := p.at+1, 0
	digits := 1
	if p.take('%') {
		digits = 2
	}
	for range digits {
		digit, ok := p.digit()
		if !ok {
			return p.expected("a digit of a ring closure, two behind %")
		}
		number = 10*number + digit
	}
	ring, order := &p.rings[number], p.bond
	p.bond, p.bondAt = implied, 0
	if !ring.open {
		*ring = opened{true, p.last, order, at}
		return nil
	}
	ring.open = false
	switch {
	case order == implied:
		order = ring.order
	case ring.order != implied && ring.order != order:
		return &Error{at, fmt.Sprintf("the bond that ring closure %d has at sign %d", number, ring.at), "another one"}
	}
	if ring.atom == p.last {
		return &Error{at, fmt.Sprintf("ring closure %d at two atoms", number), "both at one"}
	}
	if !p.bind(ring.atom, p.last, order) {
		return &Error{at, "one bond between two atoms", "two"}
	}
	return nil
}

// bracket reads what is between [ and ].
func (p *parser) bracket(a *Atom) error {
	a.bracket = true
	var err error
	if a.Isotope, err = p.number(3, "an isotope"); err != nil {
		return err
	}
	if symbol := p.oneOf(aromaticBracket); symbol != "" {
		a.Element, a.Aromatic = strings.ToUpper(symbol[:1])+symbol[1:], true
	} else if p.take('*') {
		a.Element = "*"
	} else if a.Element = p.element(); a.Element == "" {
		return p.expected("the symbol of an element")
	}
	if p.at < len(p.text) && p.text[p.at] == '@' {
		a.Stereo = true
		if err := p.chirality(); err != nil {
			return err
		}
	}
	if p.at < len(p.text) && p.text[p.at] == 'H' {
		if a.Element == "H" {
			return p.expected("no hydrogen of a hydrogen")
		}
		p.at++
		a.Hydrogens = 1
		if digit, ok := p.digit(); ok {
			a.Hydrogens = digit
		}
	}
	if err := p.charge(a); err != nil {
		return err
	}
	if p.take(':') { // a class says nothing of the molecule
		if _, ok := p.digit(); !ok {
			return p.expected("a number, the class of the atom")
		}
		for _, ok := p.digit(); ok; _, ok = p.digit() {
		}
	}
	if !p.take(']') {
		return p.expected("a ] that ends the atom")
	}
	return nil
}

// mostCharge is what OpenSMILES lets an atom have.
const mostCharge = 15

// charge reads +, -, ++, --, +2 and the like.
func (p *parser) charge(a *Atom) error {
	for sign, by := range map[byte]int{'+': 1, '-': -1} {
		if !p.take(sign) {
			continue
		}
		switch digit, ok := p.digit(); {
		case ok:
			if next, more := p.digit(); more {
				digit = 10*digit + next
			}
			if digit > mostCharge {
				p.at--
				return p.expected(fmt.Sprintf("a charge up to %d", mostCharge))
			}
			a.Charge = by * digit
		case p.take(sign):
			a.Charge = 2 * by
		default:
			a.Charge = by
		}
		return nil
	}
	return nil
}

// shapes are the kinds of chirality that have a number, and the largest.
var shapes = map[string]int{"TH": 2, "AL": 2, "SP": 3, "TB": 20, "OH": 30}

// chirality reads @, @@, or @ with a shape and its number.
func (p *parser) chirality() error {
	p.at++
	if p.take('@') || p.at+1 >= len(p.text) {
		return nil
	}
	most, ok := shapes[p.text[p.at:p.at+2]]
	if !ok {
		return nil
	}
	p.at += 2
	number, err := p.number(2, "a chirality")
	if err == nil && (number < 1 || number > most) {
		p.at--
		err = p.expected(fmt.Sprintf("a chirality from 1 to %d", most))
	}
	return err
}

// number reads one of so many digits at most; without a digit it is 0.
func (p *parser) number(digits int, of string) (number int, err error) {
	for n := 0; ; n++ {
		digit, ok := p.digit()
		switch {
		case !ok:
			return number, nil
		case n == digits:
			p.at--
			return 0, p.expected(fmt.Sprintf("%s of at most %d digits", of, digits))
		}
		number = 10*number + digit
	}
}

// take reads a sign if it is the next.
func (p *parser) take(sign byte) bool {
	if p.at == len(p.text) || p.text[p.at] != sign {
		return false
	}
	p.at++
	return true
}

func (p *parser) digit() (int, bool) {
	if p.at == len(p.text) || p.text[p.at] < '0' || p.text[p.at] > '9' {
		return 0, false
	}
	p.at++
	return int(p.text[p.at-1] - '0'), true
}

// oneOf reads the first of these symbols that is next.
func (p *parser) oneOf(symbols []string) string {
	for _, s := range symbols {
		if strings.HasPrefix(p.text[p.at:], s) {
			p.at += len(s)
			return s
		}
	}
	return ""
}

// element reads a symbol, of two letters where that is one.
func (p *parser) element() string {
	for n := 2; n > 0; n-- {
		if p.at+n <= len(p.text) && slices.Contains(elements, p.text[p.at:p.at+n]) {
			p.at += n
			return p.text[p.at-n : p.at]
		}
	}
	return ""
}
