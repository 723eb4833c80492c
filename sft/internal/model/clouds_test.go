package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestCloudTags checks that the targets of a batch of tagged clouds are the rows of the tagged
// points.
func TestCloudTags(t *testing.T) {
	c := configtest.WithTask(configtest.TinyConfig(), config.Tagging)
	c.NumLabels = 3
	configtest.CloudConfig(c)
	clouds := configtest.RandomClouds(c, rand.New(rand.NewPCG(4, 4)), 2, 3)
	clouds[0].Labels, clouds[1].Labels = []int32{1, seq.NoLabel}, []int32{seq.NoLabel, 0, 2}
	p := packOne(c, clouds, Drawing{Mode: LossMode})
	if !slices.Equal(p.targetRow, []int32{0, 3, 4}) || !slices.Equal(p.label, []int32{1, 0, 2}) {
		t.Errorf("target rows %v with labels %v, want rows [0 3 4] with labels [1 0 2]", p.targetRow, p.label)
	}
}
