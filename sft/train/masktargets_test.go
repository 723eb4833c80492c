package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestMaskTargetsAgainstReference checks that the loss of a model with mask targets is the mean
// cross-entropy of the targets, and that Fill returns an error for the model.
func TestMaskTargetsAgainstReference(t *testing.T) {
	testenv.NoRace(t, "compares with slow loops in float64")
	sounds := configtest.Tones(rand.New(rand.NewPCG(4, 3)), 300, 420, 90)
	m := modeltest.RandomModel(configtest.SoundConfig(t, 5, sounds), 3)
	want, tokens := modeltest.NewReference(m).FillMaskLoss(sounds)
	_, loss, err := Gradient(t.Context(), m, cpu.New(2), sounds)
	if err != nil || tokens < 50 || math.Abs(loss-want) > 1e-5 {
		t.Errorf("loss %v of %d masked tokens, expected %v of at least 50; error %v", loss, tokens, want, err)
	}
	must.Fail(t, "so it cannot fill masks",
		"filled")(modeltest.NewScorerOf(t, m, cpu.New(1)).Fill(t.Context(), [][]int32{{1, 2, 256}}))
}
