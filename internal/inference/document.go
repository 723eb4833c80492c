package inference

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
)

// WriteDocument writes a row for a sequence of the given number of tokens. output is the result of
// [sft.Scorer.ScoreDocument]. [Rows.Predict] writes the same row for the sequence in a table. Unlike
// Rows.Predict, WriteDocument returns an error if the reply is a failure.
func (o *Rows) WriteDocument(id string, tokens int, output sft.Output) error {
	o.model.measureLength(tokens)
	r := &tableRow{Request: &requests.Request{Lengths: []int{tokens}}, id: id}
	reply := o.model.reply(r.Request, output)
	if f, failed := reply.(*requests.Failure); failed {
		return fmt.Errorf("%s: %w", id, f)
	}
	if err := o.out.Write(o.row(r, reply)); err != nil {
		return err
	}
	return o.out.Flush()
}
