package report

import "github.com/sftseq/sftseq/internal/metrics"

// Members are the models of a fusion, of which a run is one.
type Members struct {
	Name    string // folder of the fusion
	Classes bool   // the scores have an accuracy
	Rows    int    // rows of the validation split
	Data    string // rows of the results beside those of the validation split; "" for none
	List    []Member
}

// Member is a model of a fusion, or the sum.
type Member struct {
	Name                 string
	Weight               float64
	Sum                  bool // the weighted sum of the others
	Validation, Measured metrics.FusionScore
}
