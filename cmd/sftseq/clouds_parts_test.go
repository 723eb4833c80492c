package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/vk"
)

// partsReply is a line of predict's output, with the part of each point of a cloud.
type partsReply struct {
	Tags   []string  `json:"tags"`
	Scores []float32 `json:"scores"`
	Length int       `json:"length"`
}

// TestCloudParts generates clouds with the part of each point and trains a model on them. eval
// reports the same results for all rows and for shards, and lists the errors. predict prints the
// parts, and embed accepts the clouds.
func TestCloudParts(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	data, model := in("data"), in("model")
	succeed(t, "", "data", "generate", "shape-parts", "--out", data, "--train", "80", "--val", "12",
		"--test", "9", "--points", "24")
	status, out, errs := program(nil, "train", "custom", "--members", "sft", "--data", data, "--out", model,
		"--epochs", "3", "--k", "8",
		"--hidden", "16", "--intermediate", "16", "--device", "cpu")
	if status != 0 || !strings.Contains(errs, "validation token accuracy") ||
		!strings.Contains(out+errs, "selected by iou") {
		t.Fatalf("got status %d, output\n%s\nand standard error\n%s\nwant status 0, a validation token accuracy in "+
			"standard error, and a model selected by iou", status, out, errs)
	}
	checkBaselines(t, out, model, data, tagBaselinesLine)
	val := decode[task.TagsResult](t, succeed(t, "", "eval", "--model", model, "--data", data, "--split", "val",
		"--device", "cpu", "--json"))
	if bestSoFar := fmt.Sprintf("instance IoU %.4f, class IoU %.4f over 12 rows, the best so far",
		val.Parts.InstanceIoU, val.Parts.ClassIoU); !strings.Contains(errs, bestSoFar) {
		t.Errorf("expected eval's result %s in the output of training\n%s", bestSoFar, errs)
	}
	type mistake struct {
		Row              uint32
		Token            int
		Label, Predicted string
	}
	var result task.TagsResult
	wrong := mistakes[mistake](t, model, data, &result)
	if p := result.Parts; p == nil || p.Shapes != 9 || p.InstanceIoU < 0.3 || p.InstanceIoU > 1 ||
		p.Accuracy < result.Accuracy || result.Spans != nil ||
		len(result.Baselines) != 1 || *result.Baselines[0].InstanceIoU < 0.3 || result.Baselines[0].SpanF1 != nil {
		t.Errorf("got %s, want parts of 9 shapes with instance IoU 0.3 to 1 and at least the accuracy of the tokens, "+
			"no spans, and one baseline with instance IoU 0.3 or more and without span F1",
			must.Get(json.Marshal(result))(t))
	}
	equal(t, int64(len(wrong)), result.Tokens-int64(float64(result.Tokens)*result.Accuracy+0.5))
	checkEvalShards(t, model, data)
	contains(t, succeed(t, "", "eval", "--model", model, "--data", data, "--device", "cpu"), "instance IoU",
		"the most frequent part of the category")
	t.Run("vulkan", func(t *testing.T) {
		testenv.NeedVulkan(t, vk.Open, vk.Options{})
		other := decode[task.TagsResult](t, succeed(t, "", "eval", "--model", model, "--data", data,
			"--device", "vulkan", "--json"))
		if math.Abs(other.Loss-result.Loss) > 1e-3 ||
			math.Abs(other.Parts.InstanceIoU-result.Parts.InstanceIoU) > 0.05 {
			t.Errorf("on Vulkan: loss %v and instance IoU %v; on the CPU: loss %v and instance IoU %v; want "+
				"differences up to 0.001 and 0.05", other.Loss, other.Parts.InstanceIoU, result.Loss,
				result.Parts.InstanceIoU)
		}
	})

	page := in("report.html")
	writeReport(t, page, "--examples", "4", model)
	text := readText(t, page)
	contains(t, text, fmt.Sprintf("%.4f", result.Parts.InstanceIoU), fmt.Sprintf("%.4f", *result.Baselines[0].ClassIoU),
		"24 points.", "bolt/head: ", "predicted by the model",
		fmt.Sprintf(`<th scope="row">%s</th><td class="n">%d</td><td class="n">%.4f</td>`,
			result.Parts.Categories[0].Category, result.Parts.Categories[0].Shapes, result.Parts.Categories[0].IoU))
	checkNodeTags(t, text, model, data)
	occurs(t, text, `<figcaption>wrong predictions`, 4)

	set := must.Get(seq.OpenDataset(data))(t)
	f := must.Get(set.Open("test"))(t)
	defer f.Close()
	lines := writeText(t, in("lines.jsonl"), succeed(t, "", "data", "head", in("data/test.arrow"), "--rows", "9"))
	replies := strings.Split(strings.TrimSpace(succeed(t, "", "predict", "--model", model,
		"--device", "cpu", lines)), "\n")
	found := map[string]bool{} // mistakes in the replies
	for i, line := range replies {
		var r partsReply
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Length != 24 ||
			len(r.Tags) != 24 || len(r.Scores) != 24 {
			t.Fatalf("got reply %s, error %v; want length 24, 24 tags and 24 scores", line, err)
		}
		e := must.Get(f.Example(i))(t)
		for at, label := range e.Labels {
			if name := set.Manifest.LabelNames[label]; name != r.Tags[at] {
				found[fmt.Sprint(i, at, name, r.Tags[at])] = true
			}
		}
	}
	if len(replies) != 9 || len(found) != len(wrong) {
		t.Errorf("%d replies with %d mistakes, eval found %d", len(replies), len(found), len(wrong))
	}
	for _, m := range wrong {
		if !found[fmt.Sprint(m.Row, m.Token, m.Label, m.Predicted)] {
			t.Errorf("eval's mistake %+v is missing in the output of predict", m)
		}
	}
	names := strings.Join(set.Manifest.LabelNames, ",")
	done(t, "", "data", "convert", "--from", lines, "--to", in("again"), "--features", "features", "--feature-names",
		"x,y,z,nx,ny,nz", "--tags", "tags", "--labels", names, "--split", "0,0,1")
	var again task.TagsResult
	if err := json.Unmarshal([]byte(succeed(t, "", "eval", "--model", model, "--data", in("again"), "--device", "cpu",
		"--json")), &again); err != nil || !reflect.DeepEqual(again.Parts, result.Parts) || again.Loss != result.Loss {
		t.Errorf("eval of the converted lines: %+v, expected %+v, %v", again.Parts, result.Parts, err)
	}
	occurs(t, succeed(t, "", "embed", "--model", model, lines), `"embedding"`, 9)
	succeed(t, "", "predict", "--model", model, "--input", lines, "--features", "features", "--output", in("o.csv"))
	if rows := strings.Split(readText(t, in("o.csv")), "\n"); len(rows) != 11 || rows[0] != "id,tags,scores,error" ||
		!strings.Contains(rows[1], `/`) {
		t.Errorf("got %d parts between newlines, the first two %q; want 11 parts, the header id,tags,scores,error "+
			"and a / in the second", len(rows), rows[:min(2, len(rows))])
	}
	succeed(t, "", "predict", "--model", model, "--input", in("data/test.arrow"), "--output", in("o.arrow"))
	for want, args := range map[string][]string{
		"a model that tags the tokens of a text, found a model of task tagging, whose tokens": {"predict", "--model",
			model, "--input", lines, "--features", "features", "--output", in("o.bed")},
		"tokens with features, which have no order and therefore no spans, one of accuracy (": {"train", "custom",
			"--members", "sft",
			"--data", data, "--out", in("spans"), "--select", "span-f1"},
	} {
		contains(t, failing(t, "", args...), want)
	}
}

// TestConvertParts checks that a folder in the layout of ShapeNetPart is converted to a data set of
// parts, and that a line without a part is an error with --strict.
func TestConvertParts(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "data")
	writeText(t, filepath.Join(from, "synsetoffset2category.txt"), "Mug\t03797390\nLamp\t03636649\n")
	for i, folder := range []string{"03797390", "03636649"} {
		must.Succeed(t, os.Mkdir(filepath.Join(from, folder), 0o777))
		for n := range 8 {
			writeText(t, filepath.Join(from, folder, fmt.Sprintf("%d.txt", n)),
				fmt.Sprintf("0 0 0 0 0 1 %d\n1 %d 1 0 1 0 %d\n", 2*i, n, 2*i+1))
		}
	}
	out := printed(t, "", "data", "convert", "cloud", "--from", from, "--to", to, "--parts",
		"--val-part", "0.3", "--seed", "1")
	contains(t, out, "labels: Lamp/2, Lamp/3, Mug/0, Mug/1")
	contains(t, succeed(t, "", "data", "head", filepath.Join(to, "train.arrow"), "--rows", "1"),
		`"tags":["Lamp/2","Lamp/3"]`)
	writeText(t, filepath.Join(from, "03797390", "7.txt"), "0 0 0 0 0 1\n")
	contains(t, failing(t, "", "data", "convert", "cloud", "--from", from, "--to", to+"2", "--parts", "--strict"),
		"7.txt: the file cannot be read: line 1: found 6 numbers, expected 4 or 7")
}

// TestPartsExample runs the commands in the section "Parts of shapes" of docs/data-clouds-graphs.md,
// with less data.
func TestPartsExample(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	_, section, _ := strings.Cut(readText(t, "../../docs/data-clouds-graphs.md"), "\n### Parts of shapes\n")
	_, commands, _ := strings.Cut(section, "```sh\n")
	commands, _, _ = strings.Cut(commands, "```")
	smallerFlags := map[string][]string{"generate": {"--train", "40", "--val", "8", "--test", "4", "--points", "16"},
		"shape-parts": {"--epochs", "1", "--device", "cpu"}}
	dir, output := t.TempDir(), ""
	for line := range strings.Lines(commands) {
		input := ""
		for command := range strings.SplitSeq(line, " | ") {
			args := strings.Fields(command)[1:]
			for i, word := range args {
				if strings.Contains(word, "/") {
					args[i] = filepath.Join(dir, word)
				}
			}
			args = append(args, smallerFlags[args[1]]...)
			out, _ := exits(t, exitOK, input, args...)
			input, output = out, out
		}
	}
	if strings.Count(output, `"tags":["`) != 3 || strings.Count(output, `"length":16}`) != 3 {
		t.Errorf("the last command: got %s, want 3 replies with tags and length 16", output)
	}
}
