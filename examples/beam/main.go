// Command beam predicts a label for each row of Arrow, Parquet or JSON lines files in an Apache Beam
// pipeline. Each worker runs sftseq predict for one file at a time and reads the predictions, an Arrow
// stream, from a pipe.
//
//	go run . --sftseq ../../sftseq --model runs/listops --input 'data/*.jsonl' --id id --output predictions.csv
//
// Without --runner the pipeline runs on this machine. On other machines, workers need the program,
// the model and the files at the same paths.
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os/exec"
	"reflect"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
)

func init() {
	register.DoFn3x1[context.Context, string, func(Prediction), error](&score{})
	register.Emitter1[Prediction]()
	register.Function1x1(line)
	beam.RegisterType(reflect.TypeFor[Prediction]())
}

// Prediction is the prediction for a row.
type Prediction struct{ ID, Label string }

// score is a DoFn that predicts a label for each row of a file.
type score struct {
	Program, Model, Column string
	ID                     string // name of the id column; if "", an id is the file name and the row's position
}

func (s *score) ProcessElement(ctx context.Context, file string, emit func(Prediction)) error {
	args := []string{"predict", "--model", s.Model, "--input", file, "--text", s.Column, "--shard", "0/1",
		"--output", "-"}
	if s.ID != "" {
		args = append(args, "--id", s.ID)
	}
	c := exec.CommandContext(ctx, s.Program, args...)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	read := predictions(out, emit)
	out.Close() // otherwise, after a failed read, the program would block on the pipe, and Wait would not return
	// A failed program prints the reason on standard error, and its stream is truncated.
	if err := errors.Join(read, c.Wait()); err != nil {
		return fmt.Errorf("%s: %w: %s", file, err, errs.Bytes())
	}
	return nil
}

// predictions emits the rows of an Arrow stream. The first column is the id, with its type in the input.
// The second column is the label: the name of a class, or its number if the model has no names.
func predictions(stream io.Reader, emit func(Prediction)) error {
	r, err := ipc.NewReader(stream)
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
		ids, labels := r.Record().Column(0), r.Record().Column(1)
		for i := range ids.Len() {
			prediction := Prediction{Label: labels.ValueStr(i)}
			if ids.IsValid(i) {
				prediction.ID = ids.ValueStr(i)
			}
			emit(prediction)
		}
	}
	return r.Err()
}

// line formats a prediction as a row of CSV.
func line(a Prediction) string {
	var text strings.Builder
	w := csv.NewWriter(&text)
	w.Write([]string{a.ID, a.Label})
	w.Flush()
	return strings.TrimSuffix(text.String(), "\n")
}

func main() {
	fn := &score{}
	flag.StringVar(&fn.Program, "sftseq", "sftseq", "the program")
	flag.StringVar(&fn.Model, "model", "", "a model directory")
	flag.StringVar(&fn.Column, "text", "text", "the column with the texts")
	flag.StringVar(&fn.ID, "id", "", "the column with the ids; default: the file name and the row's position")
	input := flag.String("input", "", "files, such as 'data/*.jsonl'")
	output := flag.String("output", "predictions.csv", "the CSV file to write, with ids and predicted labels")
	flag.Parse()
	beam.Init()

	ctx := context.Background()
	fs, err := filesystem.New(ctx, *input)
	if err != nil {
		log.Fatal(err)
	}
	defer fs.Close()
	files, err := fs.List(ctx, *input)
	if err != nil {
		log.Fatal(err)
	}
	p, s := beam.NewPipelineWithRoot()
	predictions := beam.ParDo(s, fn, beam.Reshuffle(s, beam.CreateList(s, files)))
	textio.Write(s, *output, beam.ParDo(s, line, predictions))
	if err := beamx.Run(ctx, p); err != nil {
		log.Fatal(err)
	}
}
