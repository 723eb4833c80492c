package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
)

// TestPredictLines checks the reply to each valid and each malformed line.
func TestPredictLines(t *testing.T) {
	deep := strings.Repeat("[", 20000)
	for _, c := range []struct {
		model, line, id string
		code            int
		message         string // "" for a prediction
	}{
		{"pre", `{"text":"[MAX 2 9 ]"}`, "1", 0, ""},
		{"pre", `{"tokens":[12, 3,10 ,15],"label":4,"other":null}`, "1", 0, ""},
		{"pre", "{\"tokens\":[12]}\r", "1", 0, ""},
		{"pre", `{"tokens":[12],"text":null}`, "1", 0, ""},
		{"pre", `{"id":12345678901234567890.50,"tokens":[12]}`, "12345678901234567890.50", 0, ""},
		{"pre", `{"id":null,"tokens":[12]}`, "null", 0, ""},
		{"pre", `{"id":"<é>","tokens":[12]}`, `"<é>"`, 0, ""},
		{"retrieval", `{"tokens_a":[12],"text_b":"\u0000x"}`, "1", 0, ""},
		{"ties", `{"tokens":[0,4]}`, "1", 0, ""},

		{"pre", `{`, "1", requests.CodeParse, "malformed JSON at byte 1"},
		{"pre", `{"tokens":[1]} {}`, "1", requests.CodeParse, "after top-level value"},
		{"pre", `{"tokens":[1],}`, "1", requests.CodeParse, "malformed JSON"},
		{"pre", "{\"tokens\":[1\x00]}", "1", requests.CodeParse, `'\x00'`},
		{"pre", "{\"text\":\"\xff\"}", "1", requests.CodeParse, "malformed JSON at byte 10: not UTF-8"},
		{"pre", deep, "1", requests.CodeParse, "malformed JSON"},
		{"pre", `[1]`, "1", requests.CodeRequest, "expected a JSON object, found a list"},
		{"pre", `{}`, "1", requests.CodeRequest, "found neither"},
		{"pre", `{"id":3,"Tokens":[1]}`, "3", requests.CodeRequest, "expected tokens or text"},
		{"pre", `{"id":3,"tokens":[1],"text":"1"}`, "3", requests.CodeRequest, "both tokens and text"},
		{"pre", `{"id":3,"tokens":[1],"tokens":[2]}`, "1", requests.CodeRequest, "occurs twice"},
		{"pre", `{"id":3,"tokens_a":[1],"tokens_b":[2]}`, "3", requests.CodeRequest, "found only tokens_a"},
		{"retrieval", `{"id":3,"tokens":[1]}`, "3", requests.CodeRequest, "expected a pair"},
		{"retrieval", `{"id":3,"tokens_a":[1]}`, "3", requests.CodeRequest, "found only tokens_a"},
		{"retrieval", `{"id":3,"tokens":[1],"text_a":"1"}`, "3", requests.CodeRequest, "both tokens and text_a"},
		{"pre", `{"id":3,"tokens":[]}`, "3", requests.CodeParams, "empty"},
		{"pre", `{"id":3,"text":"()"}`, "3", requests.CodeParams, "empty"},
		{"pre", `{"id":3,"tokens":"12"}`, "3", requests.CodeParams, `expected a list of token ids, found "12"`},
		{"pre", `{"id":3,"tokens":[1,1e3]}`, "3", requests.CodeParams, "index 1: expected a token id"},
		{"pre", `{"id":3,"tokens":[1.5]}`, "3", requests.CodeParams, "found 1.5"},
		{"pre", `{"id":3,"tokens":[-1]}`, "3", requests.CodeParams, "found -1"},
		{"pre", `{"id":3,"tokens":[1099511627776]}`, "3", requests.CodeParams, "found 1099511627776"},
		{"pre", `{"id":3,"tokens":[99999999999999999999999]}`, "3", requests.CodeParams,
			"found 99999999999999999999999"},
		{"pre", `{"id":3,"tokens":[1,[2,3]]}`, "3", requests.CodeParams, "found a list"},
		{"pre", `{"id":3,"tokens":[1,null]}`, "3", requests.CodeParams, "found null"},
		{"pre", `{"id":3,"tokens":[1,17]}`, "3", requests.CodeParams,
			"token 17 at index 1 is outside the vocabulary of 17"},
		{"pre", `{"id":3,"tokens":[1,0]}`, "3", requests.CodeParams, "token 0 at index 1 is the padding id"},
		{"pre", `{"id":3,"tokens":[1` + strings.Repeat(",1", 4096) + `]}`, "3", requests.CodeParams,
			"has 4097 tokens, but the model accepts at most 4096"},
		{"pre", `{"id":3,"text":5}`, "3", requests.CodeParams, "expected a string, found 5"},
		{"ties", `{"id":3,"text":"ACGE"}`, "3", requests.CodeParams,
			`byte 3: expected a base (A, C, G, T, U or an ambiguity code such as N), found 'E'`},
		{"retrieval", `{"id":3,"tokens_a":[1],"tokens_b":[257]}`, "3", requests.CodeParams, "tokens_b: token 257"},
	} {
		status, out, errs := program(strings.NewReader(c.line), "predict", "--model", goldenPath(c.model))
		replies := replyLines(t, out)
		if len(replies) != 1 || string(replies[0].ID) != c.id {
			t.Errorf("%.80s: reply %q, want id %s", c.line, out, c.id)
			continue
		}
		r := replies[0]
		if c.message == "" {
			if status != 0 || errs != "" || r.Error != nil || len(r.Logits) == 0 {
				t.Errorf("%.80s: got status %d, output %s, errors %s; want a prediction", c.line, status, out, errs)
			}
			continue
		}
		if status != 1 || !strings.HasPrefix(errs, "sftseq: 1 of 1 lines failed") {
			t.Errorf("%.80s: got status %d, %q; want status 1 and \"1 of 1 lines failed\"", c.line, status, errs)
		}
		if r.Error == nil || r.Error.Code != c.code || !strings.Contains(r.Error.Message, c.message) ||
			!strings.HasPrefix(r.Error.Message, "standard input:1: ") {
			t.Errorf("%.80s: %s; want code %d, %q", c.line, out, c.code, c.message)
		}
	}
}

// TestPredictOrder checks that 700 lines, some of them malformed or followed by a blank line, get
// their replies in input order.
func TestPredictOrder(t *testing.T) {
	var in strings.Builder
	for i := range 700 {
		switch {
		case i%7 == 3:
			in.WriteString("{\n")
		default:
			fmt.Fprintf(&in, "{\"tokens\":[%d%s]}\n\n", 1+i%16, strings.Repeat(",2", i%20))
		}
	}
	status, out, errs := program(strings.NewReader(in.String()), "predict", "--model", goldenPath("pre"))
	replies := replyLines(t, out)
	const failed = "sftseq: 100 of 700 lines failed, the first: standard input:7: malformed JSON"
	if status != 1 || !strings.HasPrefix(errs, failed) || len(replies) != 700 {
		t.Fatalf("got status %d, %d replies, standard error %q; want 1, 700, %q", status, len(replies), errs, failed)
	}
	line := 1
	for i, r := range replies {
		if bad := i%7 == 3; string(r.ID) != fmt.Sprint(line) || bad != (r.Error != nil) || !bad && r.Length != 1+i%20 {
			t.Fatalf("reply %d: %+v, want id %d", i, r, line)
		}
		line++
		if i%7 != 3 {
			line++
		}
	}
}

// TestPredictFlushesReplies checks that predict flushes each reply before it reads the next line.
func TestPredictFlushesReplies(t *testing.T) {
	in, typed := io.Pipe()
	stdout, out := io.Pipe()
	done := make(chan int)
	go func() {
		done <- run(context.Background(), []string{"sftseq", "predict", "--model", goldenPath("pre")}, in, out,
			io.Discard)
		out.Close()
	}()
	replies := bufio.NewReader(stdout)
	for i := range 3 {
		fmt.Fprintf(typed, "{\"id\":%d,\"tokens\":[1,2,3]}\n", i)
		line, err := replies.ReadString('\n')
		prefix := fmt.Sprintf(`{"id":%d,"label"`, i)
		if err != nil || !strings.HasPrefix(line, prefix) {
			t.Fatalf("line %d: got reply %q, error %v; want prefix %q, error <nil>", i, line, err, prefix)
		}
	}
	typed.Close()
	equal(t, <-done, 0)
}

// TestInterrupt checks that an interrupt stops a command that is waiting for standard input.
func TestInterrupt(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		errs   string
	}{
		{[]string{"sftseq", "predict"}, exitError, "sftseq: interrupted\n"},
		{[]string{"sftseq", "serve", "--log", "error"}, exitOK, ""},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		in, typed := io.Pipe()
		time.AfterFunc(50*time.Millisecond, cancel)
		var errs strings.Builder
		equal(t, run(ctx, append(c.args, "--model", goldenPath("pre")), in, io.Discard, &errs), c.status, c.args)
		equal(t, errs.String(), c.errs, c.args)
		typed.Close()
	}
}

// endless is a reader that returns the character 1 forever, without a newline.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '1'
	}
	return len(p), nil
}

func TestPredictLongLine(t *testing.T) {
	in := io.MultiReader(strings.NewReader(`{"tokens":[`), io.LimitReader(endless{}, 300e6),
		strings.NewReader("]}\n{\"tokens\":[1]}\n"))
	status, out, errs := program(in, "predict", "--model", goldenPath("pre"))
	r := replyLines(t, out)
	if status != 1 || len(r) != 2 || r[0].Error == nil || r[0].Error.Code != requests.CodeParse || r[1].Error != nil ||
		!strings.Contains(r[0].Error.Message, "standard input:1: the line has 300000014 bytes, at most 268435456") {
		t.Errorf("got status %d, %.400s, %s; want status 1 and an error in the first of two replies", status, out, errs)
	}
	_, out, _ = program(strings.NewReader("{\"tokens\":[1,1,1,1]}\n{\"tokens\":[1]}\n"), "predict", "--model",
		goldenPath("pre"), "--max-line", "16")
	if r := replyLines(t, out); len(r) != 2 || r[0].Error == nil || r[1].Error != nil {
		t.Errorf("--max-line 16: got %s, want an error and then a prediction", out)
	}
	lines := filepath.Join(t.TempDir(), "x.jsonl")
	must.Succeed(t, os.WriteFile(lines, []byte("{\"a\":[1,1,1,1]}\n{\"a\":[1]}\n"), 0o666))
	table := []string{"predict", "--model", goldenPath("pre"), "--input", lines, "--tokens", "a"}
	equal(t, len(replyLines(t, succeed(t, "", table...))), 2)
	_, out, _ = program(nil, append(table, "--max-line", "14")...)
	if !strings.Contains(out, "the line has 16 bytes, at most 14 are accepted") || strings.Count(out, "logits") != 1 {
		t.Errorf("a table with --max-line 14: got %s, want an error and a prediction", out)
	}
}

// TestInputWindow checks that a sequence longer than the input window, or than the maximum length of the
// model, is truncated with --truncate, and otherwise refused. A window with the policy head always truncates.
func TestInputWindow(t *testing.T) {
	const line = `{"tokens":[3,4,5,6,7,8]}`
	head := replyLines(t, succeed(t, `{"tokens":[3,4,5,6]}`, "predict", "--model", goldenPath("pre")))[0]
	for _, c := range []struct {
		model string
		flags []string
	}{
		{withConfig(t, "pre", "input_window", map[string]any{"length": 4, "policy": "head"}), nil},
		{withConfig(t, "pre", "input_window", map[string]any{"length": 4, "policy": "error"}), []string{"--truncate"}},
		{withConfig(t, "pre", "max_position_embeddings", 4), []string{"--truncate"}},
	} {
		args := append([]string{"predict", "--model", c.model}, c.flags...)
		r := replyLines(t, succeed(t, line, args...))[0]
		if r.Length != 6 || r.Used == nil || *r.Used != 4 || fmt.Sprint(r.Logits) != fmt.Sprint(head.Logits) {
			t.Errorf("%v: %+v, want the logits of the head %v", args, r, head.Logits)
		}
		if c.flags == nil {
			continue
		}
		const advice = "accepts at most 4: --truncate reads its beginning"
		if status, out, errs := program(strings.NewReader(line), args[:3]...); status != 1 ||
			!strings.Contains(out, advice) || !strings.Contains(errs, "failed, the first: ") ||
			!strings.Contains(errs, advice) {
			t.Errorf("without --truncate: status %d, %s%s", status, out, errs)
		}
	}
}

func TestLabelNames(t *testing.T) {
	model := withConfig(t, "ties", "label_names", []string{"no", "<yes>"})
	r := replyLines(t, succeed(t, readText(t, goldenPath("ties", "inputs.jsonl")), "predict", "--model", model))
	equal(t, r[0].Label, "no")
}

func TestFullOutput(t *testing.T) {
	full := must.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	for _, args := range [][]string{{"--help"}, {"version"}, {"info", "--model", goldenPath("pre")},
		{"predict", "--model", goldenPath("pre"), goldenPath("pre", "inputs.jsonl")},
		{"serve", "--model", goldenPath("pre")}} {
		var errs strings.Builder
		in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n")
		status := run(context.Background(), append([]string{"sftseq"}, args...), in, full, &errs)
		if status != 1 || strings.Count(errs.String(), "standard output: ") != 1 ||
			!strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: got status %d, standard error %q; want 1, %q once and %q", args, status, errs.String(),
				"standard output: ", "no space left")
		}
	}
}

// TestPredictExplain checks that --explain adds an explanation for each sequence of a line and
// leaves the rest of the reply unchanged.
func TestPredictExplain(t *testing.T) {
	for model, line := range map[string]string{"pre": `{"text":"[MAX 2 9 ]"}`,
		"retrieval": `{"text_a":"ab","text_b":"abc"}`} {
		plain := succeed(t, line, "predict", "--model", goldenPath(model))
		explained := decode[prediction](t, succeed(t, line, "predict", "--explain", "--model", goldenPath(model)))
		lengths := map[*sft.Explanation]int{explained.Explain: 4}
		if model == "retrieval" {
			lengths = map[*sft.Explanation]int{explained.ExplainA: 2, explained.ExplainB: 3}
		}
		for e, n := range lengths {
			if e == nil || len(e.Pooling) != n || len(e.Layers) != 2 || len(e.Layers[0].Positions) == 0 {
				t.Fatalf("%s: unexpected explanation %+v", model, e)
			}
		}
		explained.Explain, explained.ExplainA, explained.ExplainB = nil, nil, nil
		if rest, err := json.Marshal(explained); err != nil || string(rest)+"\n" != plain {
			t.Errorf("%s: got %s and error %v without the explanation, want %s", model, rest, err, plain)
		}
	}
	refuse(t, exitUsage, "--explain reads JSON lines", "", "predict", "--explain", "--model", goldenPath("pre"),
		"--input", "x", "--output", "y")
}
