package lra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/tokenizers"
)

// operator is an operator of ListOps. The code of Nangia and Bowman also defines FIRST and LAST. The
// Long Range Arena does not draw these two, and they have no token.
type operator int8

const (
	opMin operator = iota
	opMax
	opMed
	opSm
	opFirst
	opLast
)

var operators = map[string]operator{
	"[MIN": opMin, "[MAX": opMax, "[MED": opMed, "[SM": opSm, "[FIRST": opFirst, "[LAST": opLast,
}

var operatorNames = [...]string{"[MIN", "[MAX", "[MED", "[SM", "[FIRST", "[LAST"}

// listOpsMachine evaluates an expression word by word with explicit stacks, so that deep nesting
// cannot overflow the call stack.
type listOpsMachine struct {
	open   []openOperator
	values []int8 // arguments of all open operators; at the end, the result
}

type openOperator struct {
	op   operator
	args int // index in values of the operator's first argument
}

// pushOperator opens an operator.
func (m *listOpsMachine) pushOperator(op operator) error {
	if m.complete() {
		return fmt.Errorf("expected the end after a complete expression, found %s", operatorNames[op])
	}
	m.open = append(m.open, openOperator{op, len(m.values)})
	return nil
}

// pushDigit adds a digit to the arguments of the last open operator.
func (m *listOpsMachine) pushDigit(d int8) error {
	if m.complete() {
		return fmt.Errorf("expected the end after a complete expression, found %d", d)
	}
	m.values = append(m.values, d)
	return nil
}

// reduce closes the last open operator and replaces its arguments by its value.
func (m *listOpsMachine) reduce() error {
	if len(m.open) == 0 {
		return fmt.Errorf("] without an open operator")
	}
	last := m.open[len(m.open)-1]
	args := m.values[last.args:]
	if len(args) == 0 {
		return fmt.Errorf("%s without an argument", operatorNames[last.op])
	}
	value := apply(last.op, args)
	m.open = m.open[:len(m.open)-1]
	m.values = append(m.values[:last.args], value)
	return nil
}

// complete reports whether the machine has processed a complete expression.
func (m *listOpsMachine) complete() bool { return len(m.open) == 0 && len(m.values) > 0 }

// result returns the value of the whole expression.
func (m *listOpsMachine) result() (int32, error) {
	if n := len(m.open); n > 0 {
		return 0, fmt.Errorf("%s is not closed", operatorNames[m.open[n-1].op])
	}
	if len(m.values) == 0 {
		return 0, fmt.Errorf("expected an expression, found nothing")
	}
	return int32(m.values[0]), nil
}

// reset prepares the machine for another expression.
func (m *listOpsMachine) reset() { m.open, m.values = m.open[:0], m.values[:0] }

// apply returns the value of an operator. It may reorder args.
func apply(op operator, args []int8) int8 {
	switch op {
	case opMin:
		return slices.Min(args)
	case opMax:
		return slices.Max(args)
	case opMed:
		slices.Sort(args)
		half := len(args) / 2
		if len(args)%2 == 1 {
			return args[half]
		}
		return (args[half-1] + args[half]) / 2 // truncated, as the task defines it
	case opSm:
		sum := 0
		for _, d := range args {
			sum += int(d)
		}
		return int8(sum % 10)
	case opFirst:
		return args[0]
	default:
		return args[len(args)-1]
	}
}

// EvaluateListOps returns the value of an expression in text, such as "[MAX 2 9 ]", with or without
// parentheses. It accepts "X" as well as "]", and the operators FIRST and LAST. Errors are of type
// *ExpressionError.
func EvaluateListOps(text string) (int32, error) {
	var m listOpsMachine
	for start := 0; start < len(text); {
		if isSeparator(text[start]) {
			start++
			continue
		}
		end := start
		for end < len(text) && !isSeparator(text[end]) {
			end++
		}
		if err := m.process(text[start:end]); err != nil {
			return 0, &ExpressionError{start + 1, err}
		}
		start = end
	}
	value, err := m.result()
	if err != nil {
		return 0, &ExpressionError{len(text) + 1, err}
	}
	return value, nil
}

// ExpressionError is an error at a position of an expression.
type ExpressionError struct {
	Column int // byte of the text, counted from 1
	Err    error
}

func (e *ExpressionError) Error() string { return fmt.Sprintf("column %d: %v", e.Column, e.Err) }

// Unwrap returns the underlying error.
func (e *ExpressionError) Unwrap() error { return e.Err }

// isSeparator reports whether c is a space or a parenthesis. Parentheses do not change the value.
func isSeparator(c byte) bool { return c == '(' || c == ')' || isSpace(c) }

func isSpace(c byte) bool { return strings.IndexByte(" \t\n\v\f\r", c) >= 0 }

// process processes a word of an expression in text.
func (m *listOpsMachine) process(text string) error {
	if len(text) == 1 && text[0] >= '0' && text[0] <= '9' {
		return m.pushDigit(int8(text[0] - '0'))
	}
	if text == "]" || text == "X" {
		return m.reduce()
	}
	op, ok := operators[text]
	if !ok {
		return fmt.Errorf("expected a digit, an operator such as [MAX, or ], found %.20q", text)
	}
	return m.pushOperator(op)
}

// evaluate returns the value of an expression in token ids of the tokenizer "listops". An error
// states the index of the token.
func (m *listOpsMachine) evaluate(tokens []int32) (int32, error) {
	m.reset()
	for i, id := range tokens {
		var err error
		switch {
		case id >= tokenizers.ListOpsDigit && id < tokenizers.ListOpsDigit+10:
			err = m.pushDigit(int8(id - tokenizers.ListOpsDigit))
		case id >= tokenizers.ListOpsMin && id <= tokenizers.ListOpsSm:
			err = m.pushOperator(operator(id - tokenizers.ListOpsMin))
		case id == tokenizers.ListOpsClose:
			err = m.reduce()
		default:
			err = fmt.Errorf("expected a digit, an operator or ], found id %d", id)
		}
		if err != nil {
			return 0, fmt.Errorf("index %d: %w", i, err)
		}
	}
	value, err := m.result()
	if err != nil {
		return 0, fmt.Errorf("index %d: %w", len(tokens), err)
	}
	return value, nil
}
