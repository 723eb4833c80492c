package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/testenv"
)

// listopsRun generates a data set and trains on it for 20 steps. It returns the directories of the run and
// the data set.
func listopsRun(t *testing.T, flags ...string) (run, data string) {
	t.Helper()
	data, run = generated(t), filepath.Join(t.TempDir(), "run")
	smallRun(t, data, run, append([]string{"--steps", "20"}, flags...)...)
	return run, data
}

// writeReport runs report and returns its standard error.
func writeReport(t *testing.T, page string, args ...string) string {
	t.Helper()
	status, out, errs := program(nil, append([]string{"report", "--out", page}, args...)...)
	if status != 0 || out != "" || !strings.Contains(errs, page+": report of ") {
		t.Fatalf("report %q: got status %d, output %q, standard error %q; want 0, \"\", one that contains %q", args,
			status, out, errs, page+": report of ")
	}
	return errs
}

// TestReportInBrowser opens reports and a chart of plot in a browser, on wide and narrow screens. It
// checks that a page requests nothing outside itself, logs nothing and shows every image and chart. No
// text in a chart may be cut off or overlap another text.
func TestReportInBrowser(t *testing.T) {
	testenv.NeedPrograms(t, "chromium")
	run1, data := listopsRun(t)
	run2 := filepath.Join(t.TempDir(), "other")
	smallRun(t, data, run2, "--steps", "30", "--seed", "6")
	curves := filepath.Join(t.TempDir(), "curves.html")
	writeReport(t, curves, "--examples", "4", run1, run2)

	standalone := filepath.Join(t.TempDir(), "curves.svg")
	done(t, "", "plot", "--output", standalone, run1, run2)

	data = filepath.Join(t.TempDir(), "pathfinder")
	mustRunData(t, "generate", "pathfinder", "--out", data, "--train", "8", "--val", "2", "--test", "4",
		"--train-shortest", "13")
	contains(t, readText(t, filepath.Join(data, "dataset.json")), `"train_shortest": 13`)
	run := filepath.Join(t.TempDir(), "run")
	if status, _, errs := program(strings.NewReader(""), "train", "pathfinder", "--data", data, "--out", run,
		"--steps", "3", "--batch", "4",
		"--hidden", "16", "--layers", "2", "--k", "32", "--stages", "1:first4", "--eval-every", "2",
		"--log-every", "1"); status != 0 {
		t.Fatalf("train: got status %d, want 0\n%s", status, errs)
	}
	examplesPage := filepath.Join(t.TempDir(), "examples.html")
	writeReport(t, examplesPage, "--examples", "3", run)

	t.Parallel()
	b := openBrowser(t)
	for _, width := range []int{1200, 430} {
		b.resize(width, 900)
		// 5 learning curves with 2 legend entries, 1 chart of accuracy by length; for each run 2 charts of
		// reliability and 2 of ROC and PR with 7 legend entries; 8 examples.
		checkPage(t, b, curves, 0, 5+2+1+2*(2+2)+2*7+8)
		// 3 examples, each with the image, two layers and the pooling; 5 learning curves with 1 legend entry;
		// 2 charts of reliability and 2 of ROC and PR with 2 legend entries.
		checkPage(t, b, examplesPage, 3*4, 5+1+2+2+2)
		checkPage(t, b, standalone, 0, 1)
	}
}

// checkPage opens a page and checks its requests, its log, its numbers of images and drawings, and
// its layout.
func checkPage(t *testing.T, b *browser, page string, images, drawings int) {
	t.Helper()
	address := (&url.URL{Scheme: "file", Path: page}).String()
	for _, e := range b.open(address) {
		switch e.Method {
		case "Network.requestWillBeSent":
			var request struct{ Request struct{ URL string } }
			must.Succeed(t, json.Unmarshal(e.Params, &request))
			if u := request.Request.URL; u != address && !strings.HasPrefix(u, "data:") {
				t.Errorf("%s requests %s, want only %s and data: URLs", filepath.Base(page), u, address)
			}
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed":
			t.Errorf("%s: got %s %s, want no errors and no log", filepath.Base(page), e.Method, e.Params)
		}
	}
	var found struct {
		Title            string
		Images, Drawings int
		Empty, Misplaced []string
		Width, Room      int
	}
	b.evaluate(`(() => {
		const all = s => [...document.querySelectorAll(s)];
		const area = e => { const r = e.getBoundingClientRect(); return r.width + r.height; };
		const empty = all('img').filter(e => !e.complete || !e.naturalWidth || !area(e))
			.concat(all('svg').filter(e => !area(e) || !e.querySelector('path')))
			.concat(all('svg path, svg circle, svg rect, svg text').filter(e => !area(e)));
		// The bounding box of a text is taller than its letters.
		const letters = e => { const r = e.getBoundingClientRect(), h = r.height; return {e, left: r.left, right: r.right, top: r.top + 0.2 * h, bottom: r.bottom - 0.2 * h}; };
		const misplaced = [];
		for (const svg of document.querySelectorAll('svg')) {
			const room = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll('text')].map(letters);
			texts.forEach((a, i) => {
				if (a.left < room.left || a.right > room.right || a.top < room.top || a.bottom > room.bottom) misplaced.push('cut off: ' + a.e.outerHTML);
				for (const b of texts.slice(0, i))
					if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) misplaced.push(a.e.outerHTML + ' over ' + b.e.outerHTML);
			});
		}
		return {Misplaced: misplaced, Title: document.title, Images: all('img').length, Drawings: all('svg').length, Empty: empty.map(e => e.outerHTML.slice(0, 200)),
			Width: document.documentElement.scrollWidth, Room: window.innerWidth};
	})()`, &found)
	if found.Images != images || found.Drawings != drawings || strings.HasSuffix(page, ".html") &&
		!strings.HasPrefix(found.Title, "Training report: ") {
		t.Errorf("%s: got title %q, %d images, %d drawings; want %d images, %d drawings, and in HTML the title "+
			"prefix \"Training report: \"", filepath.Base(page), found.Title, found.Images, found.Drawings, images,
			drawings)
	}
	for _, e := range found.Empty {
		t.Errorf("%s: not drawn: %s", filepath.Base(page), e)
	}
	for _, e := range found.Misplaced {
		t.Errorf("%s: got a text cut off or over another, want none: %s", filepath.Base(page), e)
	}
	if found.Width > found.Room && strings.HasSuffix(page, ".html") {
		var wide []string
		b.evaluate(`[...document.querySelectorAll('body *')].filter(e => !(e.parentElement.closest('.scroll')) && e.scrollWidth > window.innerWidth).map(e => e.outerHTML.slice(0, 100))`, &wide)
		t.Errorf("the page is %d pixels wide, the window %d: %q", found.Width, found.Room, wide)
	}
}

// TestReport compares the numbers on the page with the output of eval, and checks the notes about missing
// data and models and the errors of invalid command lines.
func TestReport(t *testing.T) {
	run, data := listopsRun(t)
	page := filepath.Join(t.TempDir(), "page.html")
	errs := ""
	show := func(args ...string) string {
		t.Helper()
		errs = writeReport(t, page, args...)
		return readText(t, page)
	}
	r := decode[metrics.Report](t, succeed(t, "", "eval", "--model", run, "--data", data, "--json"))
	starts := must.Get(provenance.ReadStarts(run))(t)
	own := show(run)
	equal(t, errs, page+": report of run\n")
	contains(t, own, fmt.Sprintf(">%.2f%%<", 100*r.Accuracy), fmt.Sprintf(">%.4f<", r.MacroF1), data+", split test",
		"Examples", "learning_rate",
		"at most 2k positions", ">num_sampled_tokens<", ">training rows</th><td>40<", ">cpu (",
		">"+starts[0].Time.Format("2006-01-02 15:04 MST")+"<",
		"Reliability", "ROC and precision–recall", fmt.Sprintf("(ECE): %.4f", r.CalibrationError),
		fmt.Sprintf("macro mean: AUC %.4f", *r.MacroAUC))
	for _, k := range r.Classes {
		if k.Rows > 0 {
			contains(t, own, fmt.Sprintf(`<th scope="row">%s</th><td class="n">%d</td>`, k.Name, k.Rows))
		}
	}
	occurs(t, own, `class="example"`, 6)
	equal(t, show(run), own)
	measured := decode[evaluation.Evidence](t, succeed(t, "", "eval", "--model", run, "--data", data, "--evidence", "7",
		"--json"))
	percent := func(n int) string { return fmt.Sprintf("%.2f%%", 100*float64(n)/float64(measured.Rows)) }
	contains(t, show("--evidence", "7", run), fmt.Sprintf(
		`<td class="n">%d</td><td class="n">%s (%s)</td><td class="n">%s (%s)</td><td class="n">%.2g</td>`,
		measured.Rows, percent(measured.Kept), percent(measured.RandomKept), percent(measured.Changed),
		percent(measured.RandomChanged), measured.P))
	if none := show("--evidence", "0", run); strings.Contains(none, "Evidence") || !strings.Contains(own, "Evidence") {
		t.Error("--evidence 0: the page has evidence, or the default has none")
	}
	if none := show("--examples", "0", run); strings.Contains(none, "Examples") {
		t.Error("--examples 0: the page has examples")
	}
	contains(t, show("--split", "val", run), "split val")
	contains(t, show("--data", filepath.Join(data, "train.arrow"), run), "train.arrow")
	contains(t, show("--data", generated(t, "--seed", "9"), run), "not from the data set of the run")
	// A run in progress, and a run whose data was moved.
	metricsPath := filepath.Join(run, "metrics.jsonl")
	lines := readText(t, metricsPath)
	writeText(t, metricsPath, lines+`{"kind":"train","st`)
	contains(t, show(run), "The last line of metrics.jsonl is incomplete")
	must.Succeed(t, os.Rename(data, data+"-gone"))
	contains(t, show(run), "No confusion matrix", "does not exist at "+data, "pass its path with --data", "Curves")
	must.Succeed(t, os.Rename(generated(t, "--seed", "9"), data))
	contains(t, show(run), "has changed since the training")
	must.Succeed(t, os.Remove(filepath.Join(run, "model.safetensors")))
	contains(t, show(run), "has no model yet")
	contains(t, errs, "warning: run: the report omits the results on rows, such as accuracy by length and examples: the "+
		"run has no model yet")
	// An error leaves the page unchanged.
	before := readText(t, page)
	writeText(t, metricsPath, strings.Replace(lines, `"loss"`, `"lost"`, 1))
	refuse(t, exitError, metricsPath+`:1: line of kind train: the key "loss" is missing`, "",
		"report", "--out", page, run)
	refuse(t, exitUsage, "no run directory", "", "report", "--out", page)
	refuse(t, exitUsage, "--examples -1", "", "report", "--examples", "-1", run)
	refuse(t, exitUsage, "--evidence -1", "", "report", "--evidence", "-1", run)
	refuse(t, exitUsage, "read twice", "", "report", "--data", "-", run)
	refuse(t, exitError, "config.json", "", "report", "--out", page, t.TempDir())
	equal(t, readText(t, page), before)
}

// TestStarts checks that a run records its start and its resumption, and that the report shows the
// resumption. Resuming a finished run records no start.
func TestStarts(t *testing.T) {
	run, data := listopsRun(t)
	smallRun(t, data, run, "--resume", "--steps", "20")
	temporary := writeText(t, filepath.Join(run, "."+provenance.StartsFile+".abc.tmp"), "{") // left by a killed program
	smallRun(t, data, run, "--resume", "--steps", "40")
	noFile(t, temporary)
	starts := must.Get(provenance.ReadStarts(run))(t)
	if len(starts) != 2 || starts[0].Step != 0 || starts[1].Step != 20 || starts[1].TrainRows != 40 ||
		starts[1].ValidationRows != 20 || starts[0].Time.After(starts[1].Time) {
		t.Errorf("unexpected starts: %+v", starts)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	writeReport(t, page, "--examples", "0", run)
	if text := readText(t, page); !strings.Contains(text, "resumed 1×, last on") {
		t.Error("the page does not show the resumption")
	}
	path := filepath.Join(run, provenance.StartsFile)
	writeText(t, path, readText(t, path)+"{\n")
	refuse(t, exitError, path+":3: expected a JSON object", "", "report", "--out", page, run)
	must.Succeed(t, os.Remove(path)) // runs of earlier versions do not have this file
	writeReport(t, page, "--examples", "0", run)
}

// TestStartsAfterPatience checks that resuming a run that --patience stopped records no start.
func TestStartsAfterPatience(t *testing.T) {
	run, data := filepath.Join(t.TempDir(), "run"), unequalData(t)
	args := []string{"train", "custom", "--members", "sft", "--data", data, "--out", run, "--hidden", "8",
		"--steps", "60", "--eval-every",
		"1", "--lr", "0", "--patience", "1", "--select", "loss"}
	for range 2 {
		done(t, "", args...)
		args = append(args, "--resume")
	}
	starts, err := provenance.ReadStarts(run)
	if err != nil || len(starts) != 1 {
		t.Errorf("unexpected starts %+v, error %v", starts, err)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	writeReport(t, page, "--examples", "0", run)
	if text := readText(t, page); !strings.Contains(text, "(step 1, selected by loss)") {
		t.Error("the page does not name the step and metric of the best model")
	}
}

// TestRunNames checks that reports name runs by the last elements of their directories, and by whole
// paths if two last elements are equal.
func TestRunNames(t *testing.T) {
	for _, c := range []struct{ dirs, want []string }{
		{[]string{"runs/a/", "runs/b"}, []string{"a", "b"}},
		{[]string{"x/seed-1", "y/seed-1"}, []string{"x/seed-1", "y/seed-1"}},
	} {
		equal(t, fmt.Sprint(runNames(c.dirs)), fmt.Sprint(c.want), c.dirs)
	}
	equal(t, runNames([]string{"."})[0], "sftseq")
}
