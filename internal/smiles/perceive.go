package smiles

import "slices"

// perceive finds what the text only implies: rings, the order of bonds that are not written, and
// hydrogens. Hydrogens that are atoms without a word of their own become some of their neighbour's.
func (m *Molecule) perceive() error {
	m.rings()
	for i := range m.Bonds {
		b := &m.Bonds[i]
		if b.Order != implied {
			continue
		}
		if b.Order = Single; b.Ring && m.Atoms[b.A].Aromatic && m.Atoms[b.B].Aromatic { // those between rings are single
			b.Order = Aromatic
		}
	}
	for i := range m.Atoms {
		if a := &m.Atoms[i]; a.Aromatic && !a.Ring {
			return &Error{a.place, "an aromatic atom in a ring", "it outside of any"}
		}
	}
	m.imply()
	m.fold()
	return nil
}

// rings marks the atoms and bonds that are in a ring: a bond is in none where the molecule would fall
// apart without it (Tarjan, Information Processing Letters 2, 1974, goes through the atoms once to
// find these).
func (m *Molecule) rings() {
	type step struct {
		atom, by int32 // by is the bond that led to the atom
		next     int   // of the atom's bonds
	}
	bonds := make([][]int32, len(m.Atoms))
	for i, b := range m.Bonds {
		m.Bonds[i].Ring = true // unless it leads to an atom first
		bonds[b.A], bonds[b.B] = append(bonds[b.A], int32(i)), append(bonds[b.B], int32(i))
	}
	found, lowest := make([]int32, len(m.Atoms)), make([]int32, len(m.Atoms)) // when, from 1
	count := int32(0)
	var path []step
	enter := func(atom, by int32) {
		count++
		found[atom], lowest[atom] = count, count
		path = append(path, step{atom, by, 0})
	}
	for first := range m.Atoms {
		if found[first] > 0 {
			continue
		}
		enter(int32(first), none)
		for len(path) > 0 {
			s := &path[len(path)-1]
			if s.next < len(bonds[s.atom]) {
				by := bonds[s.atom][s.next]
				s.next++
				to := m.Bonds[by].A + m.Bonds[by].B - s.atom
				switch {
				case by == s.by:
				case found[to] == 0:
					enter(to, by)
				default:
					lowest[s.atom] = min(lowest[s.atom], found[to])
				}
				continue
			}
			done := *s
			path = path[:len(path)-1]
			if len(path) > 0 {
				before := path[len(path)-1].atom
				lowest[before] = min(lowest[before], lowest[done.atom])
			}
			if done.by != none {
				m.Bonds[done.by].Ring = lowest[done.atom] < found[done.atom]
			}
		}
	}
	for _, b := range m.Bonds {
		if b.Ring {
			m.Atoms[b.A].Ring, m.Atoms[b.B].Ring = true, true
		}
	}
}

// imply gives atoms without brackets the hydrogens that fill the lowest valence that is not less
// than what their bonds take. An aromatic bond takes one, and an aromatic atom one more, which it
// shares with its ring; of such an atom only the lowest valence counts.
func (m *Molecule) imply() {
	taken := make([]int, len(m.Atoms))
	for _, b := range m.Bonds {
		n := map[Order]int{Single: 1, Double: 2, Triple: 3, Quadruple: 4, Aromatic: 1}[b.Order]
		taken[b.A] += n
		taken[b.B] += n
	}
	for i := range m.Atoms {
		a := &m.Atoms[i]
		normal := valences[a.Element]
		if a.bracket || normal == nil {
			continue
		}
		if a.Aromatic {
			a.Hydrogens = max(0, normal[0]-taken[i]-1)
			continue
		}
		if at := slices.IndexFunc(normal, func(v int) bool { return v >= taken[i] }); at >= 0 {
			a.Hydrogens = normal[at] - taken[i]
		}
	}
}

// fold makes hydrogens that are atoms, with a single bond to another element and nothing else to say,
// some of their neighbour's, so that [H]C and C are one molecule.
func (m *Molecule) fold() {
	if !slices.ContainsFunc(m.Atoms, Atom.plainHydrogen) {
		return
	}
	bonds := make([]int, len(m.Atoms))
	for _, b := range m.Bonds {
		bonds[b.A]++
		bonds[b.B]++
	}
	place := make([]int32, len(m.Atoms)) // in what is left
	m.Bonds = slices.DeleteFunc(m.Bonds, func(b Bond) bool {
		for _, ends := range [][2]int32{{b.A, b.B}, {b.B, b.A}} {
			h, to := ends[0], &m.Atoms[ends[1]]
			if m.Atoms[h].plainHydrogen() && bonds[h] == 1 && b.Order == Single && to.Element != "H" {
				to.Hydrogens++
				place[h] = none
				return true
			}
		}
		return false
	})
	left := int32(0)
	for i := range place {
		if place[i] != none {
			place[i] = left
			m.Atoms[left] = m.Atoms[i]
			left++
		}
	}
	m.Atoms = m.Atoms[:left]
	for i := range m.Bonds {
		b := &m.Bonds[i]
		b.A, b.B = place[b.A], place[b.B]
	}
}

// plainHydrogen reports whether an atom is [H].
func (a Atom) plainHydrogen() bool {
	return a.Element == "H" && a.Isotope == 0 && a.Charge == 0
}
