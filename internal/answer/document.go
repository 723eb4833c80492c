package answer

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
)

// WriteDocument writes the reply to a single sequence of this number of tokens that [sft.Scorer.ScoreDocument] has
// scored. It is the row that [Rows.Answer] writes for the sequence in a table.
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
