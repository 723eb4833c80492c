package report

import "github.com/sftseq/sftseq/internal/metrics"

// Members describes the fusion of which a run is a member.
type Members struct {
	Name    string // folder of the fusion
	Classes bool   // whether the scores have an accuracy
	Rows    int    // number of validation rows on which the weights were fitted
	Data    string // name of the rows of the Measured scores, or "" without these scores
	List    []Member
}

// Member is a model of a fusion, or the weighted sum of its models.
type Member struct {
	Name                 string
	Weight               float64
	Sum                  bool // whether this is the weighted sum of the other members
	Validation, Measured metrics.FusionScore
}
