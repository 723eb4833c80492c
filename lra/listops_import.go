package lra

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// maxLine is the maximum length of a line of an official file in bytes. The longest real line has
// about 20,000 bytes.
const maxLine = 1 << 20

// listOpsHeader is the first line of the official files.
const listOpsHeader = "Source\tTarget"

// officialSplits lists the splits and their official files.
var officialSplits = []splitFile{{"train", "basic_train.tsv"}, {"val", "basic_val.tsv"}, {"test", "basic_test.tsv"}}

// convertListOps converts basic_{train,val,test}.tsv of a directory, plain or compressed. A single
// file is added as a split to a data set, which may have other splits.
func convertListOps(ctx context.Context, spec seq.Spec, from, dir string,
	options ConvertOptions) (*seq.Dataset, error) {
	return convertFiles(spec, from, dir, options, officialSplits, func(path string) rows {
		return rowsOf(func(row func(seq.Example) error) error {
			s, err := source.Open(ctx, path, options.Progress)
			if err != nil {
				return err
			}
			defer s.Close()
			return ReadListOpsTSV(s, path, !options.NoVerify, func(tokens []int32, label int32) error {
				return row(seq.Example{A: tokens, Label: label})
			})
		})
	})
}

// ReadListOpsTSV reads an official file, plain or compressed, and calls row for each line after the
// header: expression, tab, value. If verify is set, it checks that the value is the value of the
// expression. Errors begin with the name, followed by the line and the column if they are known. The
// function row may keep the tokens.
func ReadListOpsTSV(r io.Reader, name string, verify bool, row func(tokens []int32, label int32) error) error {
	buffer, err := source.Decompress(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for number := 1; ; number++ {
		line, err := readLine(buffer, maxLine)
		if err == io.EOF && number == 1 {
			return fmt.Errorf("%s: expected the header %q, found an empty file", name, listOpsHeader)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		if number == 1 {
			if line != listOpsHeader {
				return fmt.Errorf("%s:1: expected the header %q, found %.60q", name, listOpsHeader, line)
			}
			continue
		}
		tokens, label, column, err := parseListOpsLine(line, verify)
		if err != nil {
			return fmt.Errorf("%s:%d:%d: %w", name, number, column, err)
		}
		if err := row(tokens, label); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
}

// readLine returns the next line, without its line end, or io.EOF after the last line. It fails if
// the line, with its line end, has more than limit bytes.
func readLine(r *bufio.Reader, limit int) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return "", fmt.Errorf("the line exceeds the limit of %d bytes", limit)
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && len(line) == 0:
			return "", io.EOF
		case err != nil && err != io.EOF:
			return "", err
		}
		return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), nil
	}
}

// parseListOpsLine returns the tokens and the label of a line. If it fails, column is the position of
// the error.
func parseListOpsLine(line string, verify bool) (tokens []int32, label int32, column int, err error) {
	source, target, ok := strings.Cut(line, "\t")
	if !ok {
		return nil, 0, len(line) + 1, errors.New("expected expression, tab, value, found no tab")
	}
	column = len(source) + 2 // column of the value
	if len(target) != 1 || target[0] < '0' || target[0] > '9' {
		return nil, 0, column, fmt.Errorf("expected a value from 0 to 9, found %.20q", target)
	}
	label = int32(target[0] - '0')
	if tokens, err = (tokenizers.ListOps{}).Encode(source); err != nil {
		return nil, 0, 1, err
	}
	if len(tokens) == 0 {
		return nil, 0, 1, errors.New("expected an expression, found none")
	}
	if slices.Contains(tokens, tokenizers.ListOpsUnknown) {
		column, word := unknownWord(source)
		return nil, 0, column, fmt.Errorf("expected a token of ListOps, found %.20q", word)
	}
	if !verify {
		return tokens, label, 0, nil
	}
	value, err := EvaluateListOps(source)
	if bad := new(ExpressionError); errors.As(err, &bad) {
		return nil, 0, bad.Column, bad.Err
	}
	if value != label {
		return nil, 0, column, fmt.Errorf("expected the expression's value %d, found %d", value, label)
	}
	return tokens, label, 0, nil
}

// unknownWord returns the first word of source that has no token, and its position.
func unknownWord(source string) (column int, word string) {
	for start := 0; start < len(source); {
		end := start + 1
		if !isSpace(source[start]) {
			for end < len(source) && !isSpace(source[end]) {
				end++
			}
			if tokens, _ := (tokenizers.ListOps{}).Encode(source[start:end]); slices.Contains(tokens,
				tokenizers.ListOpsUnknown) {
				return start + 1, source[start:end]
			}
		}
		start = end
	}
	return 1, source
}
