package baseline

import (
	"math/rand/v2"

	"github.com/sftseq/sftseq/seq"
)

// bag is logistic regression on bags.
func bag(what counted, classes int, most limits) *simple {
	var rows [][]feature
	var labels []int32
	var idf []float32
	l := newLogistic(classes)
	return &simple{
		name: what.bag, most: most,
		learn: func(examples []seq.Example) {
			b, y := labelled(examples, what)
			rows, labels = append(rows, b...), append(labels, y...)
		},
		finish: func(w *work) (int, error) {
			idf = inverseFrequency(rows, 1)
			weighAll(rows, idf)
			// The file may be sorted by label.
			rand.New(rand.NewPCG(2, 2)).Shuffle(len(rows), func(i, j int) {
				rows[i], rows[j] = rows[j], rows[i]
				labels[i], labels[j] = labels[j], labels[i]
			})
			n, err := l.train(w, rows, labels, most.updates)
			rows, labels = nil, nil
			return n, err
		},
		right: func(examples []seq.Example) (right int) {
			test, labels := labelled(examples, what)
			weighAll(test, idf)
			scores := make([]float64, classes)
			for i, b := range test {
				if l.answer(b, scores) == int(labels[i]) {
					right++
				}
			}
			return right
		},
	}
}

// labelled are the bags of rows, and their labels.
func labelled(examples []seq.Example, what counted) ([][]feature, []int32) {
	sequences, labels := make([][]int32, len(examples)), make([]int32, len(examples))
	for i, e := range examples {
		sequences[i], labels[i] = e.A, e.Label
	}
	return bags(sequences, what, true), labels
}
