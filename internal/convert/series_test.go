package convert

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestSeriesWithoutTargets checks that a column name with * matches no target or id column, and that
// notes describe the matched columns. A column that is both input and target must be refused.
func TestSeriesWithoutTargets(t *testing.T) {
	set := func(table string, change func(o *Options)) Options {
		o := textOptions(t, writeFile(t, "x.csv", table))
		o.Text, o.Tokenizer, o.Label = "", nil, ""
		change(&o)
		return o
	}
	rows := "t1,t2,t3,target,tid\n1,2,3,5,a\n4,5,6,7,b\n"
	for text, c := range map[string]struct {
		steps int
		set   Options
	}{
		"the series t* has 3 columns, t1 to t3, without target, tid, which other flags use": {3,
			set(rows, func(o *Options) { o.Series, o.Numbers, o.ID = []string{"t*"}, []string{"target"}, "tid" })},
		"the series * has 4 columns, t1 to target, without tid": {4,
			set(rows, func(o *Options) { o.Series, o.Label = []string{"*"}, "tid" })},
		"in the order of the file, in which t2 follows t10": {3,
			set("t1,t10,t2,y\n1,1,5,b\n2,3,4,a\n", func(o *Options) { o.Series, o.Label = []string{"t*"}, "y" })},
		"columns are missing between t1 and t3": {2,
			set("t1,t3,y\n1,5,b\n2,4,a\n", func(o *Options) { o.Series, o.Label = []string{"t*"}, "y" })},
	} {
		d, skipped := mustConvert(t, c.set)
		f := must.Get(d.Open("train"))(t)
		if e := must.Get(f.Example(0))(t); len(e.Features) != c.steps || !strings.Contains(skipped.String(), text) {
			t.Errorf("got %d steps, want %d; got notes %s, want %s", len(e.Features), c.steps, skipped, text)
		}
		f.Close()
	}
	for _, change := range []func(o *Options){
		func(o *Options) { o.Series, o.Label = []string{"t1", "target"}, "target" },
		func(o *Options) { o.Series, o.Numbers = []string{"target"}, []string{"target"} },
		func(o *Options) { o.Text, o.Label = "target", "target" },
		func(o *Options) { o.Pair, o.Label = []string{"t1", "target"}, "target" },
		func(o *Options) { o.Text, o.LabelColumns = "target", []string{"target", "t1"} },
	} {
		_, _, err := Convert(t.Context(), set(rows, change))
		if err == nil || !strings.Contains(err.Error(),
			`column "target": expected different columns for the input and the target, found the same`) {
			t.Errorf("got error %v, want one on column target as input and target", err)
		}
	}
}
