package sft_test

import (
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestCopiedScales checks that CopyFrom copies the scales of features.
func TestCopiedScales(t *testing.T) {
	newScaled := func(scale float32) *sft.Model {
		c := configtest.TinyConfig()
		must.Succeed(t, c.DescribeDataset(configtest.SeriesSet(t, []string{"v"},
			[][]float32{{scale}}, [][]float32{{-scale}})))
		return sft.NewModel(c, 1)
	}
	from, to := newScaled(3), newScaled(500)
	must.Get(to.CopyFrom(from))(t)
	if want := []config.Number{{Name: "v", Mean: 0, Deviation: 3}}; !slices.Equal(to.Config.FeatureScales, want) {
		t.Errorf("scales %+v, want %+v", to.Config.FeatureScales, want)
	}
}
