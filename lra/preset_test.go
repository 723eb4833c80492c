package lra

import (
	"testing"

	"sftseq/sft"
)

// TestSetSchedule: from any schedule to any other, the settings can be trained with and
// have no number of another schedule; to itself they stay what they are.
func TestSetSchedule(t *testing.T) {
	of := func(schedule string) sft.Settings {
		s := published(3, 4, 0.01)
		s.StepSize, s.DecayRate = 3, 0.7
		if schedule != "step" {
			s.Schedule, s.StepSize, s.DecayRate, s.FinalRate = schedule, 0, 0, 0.2
		}
		return s
	}
	for _, from := range sft.Schedules {
		for _, to := range sft.Schedules {
			s, before := of(from), of(from)
			SetSchedule(&s, to)
			wantStep, wantDecay, wantFinal := before.StepSize, before.DecayRate, before.FinalRate
			switch {
			case to != "step":
				wantStep, wantDecay = 0, 0
			case from != "step":
				wantStep, wantDecay, wantFinal = 20, 0.9, 0
			}
			name := to
			if to == "step" {
				name = ""
			}
			if s.Schedule != name || s.StepSize != wantStep || s.DecayRate != wantDecay || s.FinalRate != wantFinal || s.Validate() != nil {
				t.Errorf("from %s to %s: %+v, %v", from, to, s, s.Validate())
			}
		}
	}
}
