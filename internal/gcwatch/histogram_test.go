package gcwatch

import (
	"testing"
	"time"
)

func TestEdges(t *testing.T) {
	s := newStory(t)
	for i, e := range s.edges {
		if e.Low > e.High || e.Middle < 0 || time.Duration(e.Middle*1e9) > e.High || i > 0 && e.Low != s.edges[i-1].High {
			t.Errorf("bucket %d: %+v", i, e)
		}
	}
	if last := s.edges[len(s.edges)-1]; last.High != maxDuration || last.Middle <= 0 {
		t.Errorf("last bucket: %+v", last)
	}
}
