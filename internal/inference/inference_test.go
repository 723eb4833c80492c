package inference

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// echo returns a model whose reply to a line is the line's id.
func echo() (*Model, *requests.Parser) {
	c := &sft.Config{
		Task:   config.Classification,
		Inputs: config.Inputs{VocabSize: 17, MaxLength: 1 << 17},
		Head:   config.Head{NumLabels: 2},
	}
	m := &Model{Sequences: []int{1}, config: c,
		replies: func(_ context.Context, batch []*requests.Request) (replies []any, err error) {
			for _, r := range batch {
				replies = append(replies, requests.Reply{ID: r.ID, Prediction: struct{}{}})
			}
			return replies, nil
		}}
	return m, requests.NewParser(c, "", "FILE", 1)
}

func noHint([]byte) string { return "" }

// sized is a row with the given number of tokens.
type sized int

func (n sized) Tokens() int { return int(n) }

// TestBatches checks that waiting rows form one batch up to the limits of rows and tokens, and that
// reading then blocks.
func TestBatches(t *testing.T) {
	for row, want := range map[sized]int{1: requests.BatchRows, requests.BatchTokens / 4: 4,
		2 * requests.BatchTokens: 1} {
		var sent atomic.Int64
		batches := gather(t.Context(), func(to chan<- sized) {
			for range 2 * want {
				to <- row
				sent.Add(1)
			}
		})
		for range 2 {
			before := sent.Load()
			for start := time.Now(); sent.Load() < before+int64(want) && time.Since(start) < time.Second; {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(20 * time.Millisecond) // time for the reader to exceed the limit
			if batch := <-batches; len(batch) != want {
				t.Errorf("rows of %d tokens: got a batch of %d, want %d", row, len(batch), want)
			}
		}
		if batch, more := <-batches; more {
			t.Errorf("rows of %d tokens: got another batch of %d, want none", row, len(batch))
		}
	}
}

// TestLines checks that replies have the order of the lines, with an error for each invalid
// line.
func TestLines(t *testing.T) {
	var in strings.Builder
	for i := range 700 {
		if i%7 == 3 {
			in.WriteString("{\n")
		} else {
			fmt.Fprintf(&in, "{\"id\":%d,\"tokens\":[1%s]}\n", i, strings.Repeat(",2", 500*(i%2)))
		}
	}
	m, parser := echo()
	var out strings.Builder
	err := m.Lines(t.Context(), parser, 1<<20, noHint, strings.NewReader(in.String()), &out)
	if err == nil || !strings.HasPrefix(err.Error(), "100 of 700 lines failed, the first: ") {
		t.Errorf("got error %v, want 100 of 700 lines failed and the first of them", err)
	}
	n := 0
	for line := range strings.Lines(out.String()) {
		var r struct {
			ID    int
			Error *requests.Failure
		}
		want := n
		if n%7 == 3 {
			want = n + 1 // an invalid line has its line number as id
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.ID != want || (r.Error != nil) != (n%7 == 3) {
			t.Fatalf("reply %d: got %s (error %v), want id %d and an error: %v", n, line, err, want, n%7 == 3)
		}
		n++
	}
	if n != 700 {
		t.Errorf("got %d replies, want 700", n)
	}
}

// TestImmediateReplies checks that a client gets the reply to a line before it writes the next line.
func TestImmediateReplies(t *testing.T) {
	in, typed := io.Pipe()
	shown, out := io.Pipe()
	m, parser := echo()
	done := make(chan error)
	go func() { done <- m.Lines(t.Context(), parser, 1<<20, noHint, in, out) }()
	replies := bufio.NewReader(shown)
	for i := range 3 {
		fmt.Fprintf(typed, "{\"id\":%d,\"tokens\":[1]}\n", i)
		if line, err := replies.ReadString('\n'); err != nil || !strings.HasPrefix(line, fmt.Sprintf(`{"id":%d,`, i)) {
			t.Fatalf(`got reply %q, error %v; want the prefix {"id":%d,`, line, err, i)
		}
	}
	typed.Close()
	must.Check(t, <-done)
}

// TestHint checks that the error has the hint only if all lines failed and the first line is within
// the length limit.
func TestHint(t *testing.T) {
	m, parser := echo()
	hint := func(first []byte) string { return "; not " + string(first) }
	for in, want := range map[string]string{"a,b\n1,2\n": "2 of 2 lines failed; not a,b",
		"a,b\n{\"tokens\":[1]}\n":      "1 of 2 lines failed, the first: ",
		strings.Repeat("a", 99) + "\n": "1 of 1 lines failed, the first: "} {
		if err := m.Lines(t.Context(), parser, 50, hint, strings.NewReader(in), io.Discard); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: got error %v, want %s", in, err, want)
		}
	}
}

// TestStops checks that cancellation ends Lines while it waits for input, and that a read error
// names the last line that was read.
func TestStops(t *testing.T) {
	m, parser := echo()
	ctx, cancel := context.WithCancel(t.Context())
	in, typed := io.Pipe()
	done := make(chan error)
	go func() { done <- m.Lines(ctx, parser, 1<<20, noHint, in, io.Discard) }()
	io.WriteString(typed, "{\"tokens\":[1]}\n")
	cancel()
	must.FailWith(t, context.Canceled)(<-done)
	typed.Close()
	broken := io.MultiReader(strings.NewReader("{\"tokens\":[1]}\n\n{\"tokens\":[2]}\n"),
		iotest.ErrReader(errors.New("a disk that fails")))
	if err := m.Lines(t.Context(), parser, 1<<20, noHint, broken, io.Discard); err == nil ||
		err.Error() != "FILE: after line 3: a disk that fails" {
		t.Errorf("got error %v, want the error of the reader after line 3", err)
	}
}

// TestOrFailure checks that every error becomes a failure.
func TestOrFailure(t *testing.T) {
	failure := &requests.Failure{Code: requests.CodeParams, Message: "a"}
	for _, c := range []struct {
		err  error
		want any
	}{{nil, 1}, {fmt.Errorf("line: %w", failure), failure},
		{errors.New("b"), &requests.Failure{Code: requests.CodeInternal, Message: "b"}}} {
		if got := orFailure(1, c.err); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.err, got, c.want)
		}
	}
}

// TestOwnFailure checks that output that JSON cannot represent becomes the error of its line, with
// the line's id.
func TestOwnFailure(t *testing.T) {
	m, parser := echo()
	m.replies = func(_ context.Context, batch []*requests.Request) ([]any, error) {
		replies := make([]any, len(batch))
		for i, r := range batch {
			replies[i] = orFailure(requests.NewReply(task.Of(m.config), m.config, r,
				sft.Output{Logits: []float32{0, float32(math.Inf(1))}}))
		}
		return replies, nil
	}
	var out strings.Builder
	err := m.Lines(t.Context(), parser, 1<<20, noHint, strings.NewReader(`{"id":"x","tokens":[1]}`), &out)
	if want := `{"id":"x","error":{"code":-32603,"message":"the model's output is not finite"}}` +
		"\n"; out.String() != want || err == nil {
		t.Errorf("got %s, error %v, want %s and an error", out.String(), err, want)
	}
}
