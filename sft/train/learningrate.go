package train

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Schedules lists the learning-rate schedules: multiplication by DecayRate every StepSize epochs, or a
// half cosine, a straight line or an exponential over the whole run.
var Schedules = []string{"step", cosine, linear, exponential}

const (
	cosine = "cosine"
	linear = "linear"

	exponential = "exponential"
)

// FollowsEnd reports whether the learning rate of a step depends on the length of the run.
func (s *Settings) FollowsEnd() bool { return s.Schedule != "" && s.Schedule != Schedules[0] }

// validateRate returns an error for the first invalid setting of the schedule or the warm-up. It also
// rejects numbers that only another schedule reads, because they would have no effect.
func (s *Settings) validateRate() error {
	if s.Schedule != "" && !slices.Contains(Schedules, s.Schedule) {
		return badSetting("schedule", fmt.Sprintf("%q", s.Schedule), "one of "+strings.Join(Schedules, ", "))
	}
	switch followsEnd := s.FollowsEnd(); {
	case followsEnd && s.StepSize != 0:
		return badSetting("step-size", s.StepSize, "none: the schedule is "+s.Schedule)
	case followsEnd && s.DecayRate != 0:
		return badSetting("decay-rate", s.DecayRate, "none: the schedule is "+s.Schedule)
	case followsEnd && !(s.FinalRate >= 0 && s.FinalRate <= 1):
		return badSetting("final-rate", s.FinalRate, "0 ≤ rate ≤ 1, a fraction of the learning rate")
	case s.Schedule == exponential && s.FinalRate == 0:
		return badSetting("final-rate", s.FinalRate, "0 < rate ≤ 1: the schedule is exponential")
	case !followsEnd && s.FinalRate != 0:
		return badSetting("final-rate", s.FinalRate, "none: the schedule is step")
	case !followsEnd && s.StepSize < 1:
		return badSetting("step-size", s.StepSize, "at least 1 epoch")
	case !followsEnd && !(s.DecayRate > 0 && s.DecayRate <= 1):
		return badSetting("decay-rate", s.DecayRate, "0 < rate ≤ 1")
	}
	_, err := s.warmup(1)
	return err
}

// learningRate returns the learning rate of the next step of a run with this number of steps. The
// warm-up counts updates, as AdamW does. The schedule "step" counts epochs, and the other schedules count
// steps, including skipped updates.
func (s *Settings) learningRate(state *State, steps int) float64 {
	warm, err := s.warmup(state.Update + 1)
	if err != nil {
		panic(err) // Validate has checked the warm-up
	}
	return s.LearningRate * warm * s.decay(int(state.Next.Epoch), min(1, float64(state.Step)/float64(steps)))
}

// warmup returns the factor of update t, counted from 1: min(1, t(1−β2)/2) for "untuned", min(1,
// t/N) for a number N, and 1 for 0.
func (s *Settings) warmup(t int) (float64, error) {
	if s.Warmup == "untuned" {
		return min(1, float64(t)*(1-beta2)/2), nil
	}
	n, err := strconv.Atoi(s.Warmup)
	if err != nil || n < 0 {
		return 0, badSetting("warmup", strconv.Quote(s.Warmup), "untuned or a number of steps")
	}
	if n == 0 {
		return 1, nil
	}
	return min(1, float64(t)/float64(n)), nil
}

// decay returns the schedule's factor. epoch counts from 0, and done is the completed fraction of the
// run's steps. The factor is 1 at the beginning of a run.
func (s *Settings) decay(epoch int, done float64) float64 {
	remaining := 1 - done
	switch s.Schedule {
	case cosine:
		remaining = (1 + math.Cos(math.Pi*done)) / 2
	case linear:
	case exponential:
		return math.Pow(s.FinalRate, done)
	default:
		return math.Pow(s.DecayRate, float64(epoch/s.StepSize))
	}
	return s.FinalRate + float64((1-s.FinalRate)*remaining)
}
