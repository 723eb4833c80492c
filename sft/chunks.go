package sft

// CacheExports makes a scorer keep the exported rows of chunks, up to limit bytes. Later calls then
// compute only chunks that differ, and results have the same bits. It reports whether the scorer has
// a chunked model. No call may be running.
func (s *Scorer) CacheExports(limit int64) bool {
	var cached []*Scorer
	for _, member := range append([]*Scorer{s}, s.others...) {
		if member.runner != nil && member.Config().Chunks != nil {
			cached = append(cached, member)
		}
	}
	for _, member := range cached {
		member.runner.CacheExports(limit / int64(len(cached)))
	}
	return cached != nil
}

// ChunkCounts returns the number of chunks that were computed since [Scorer.CacheExports], and of
// chunks whose exports were in the cache.
func (s *Scorer) ChunkCounts() (computed, reused int64) {
	for _, member := range append([]*Scorer{s}, s.others...) {
		if member.runner != nil {
			c, r := member.runner.ChunkCounts()
			computed, reused = computed+c, reused+r
		}
	}
	return computed, reused
}
