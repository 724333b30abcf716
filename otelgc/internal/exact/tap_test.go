package exact

import "testing"

func TestTapHasWholeGenerationsFromTheNextOn(t *testing.T) {
	s := newStream(testClock(t))
	write(t, s, testHeader, "past", endMark, "present")
	tapped, ok := s.tap(s.clock.Now())
	if !ok {
		t.Fatal("no tap on an open stream")
	}
	write(t, s, endMark, "future", endMark, "cut")
	missed := s.untap(tapped)
	got := ""
	for data := range tapped.out {
		got += string(data)
	}
	if want := testHeader + "future" + endMark; got != want || missed != 0 {
		t.Errorf("tapped %q, missed %d, want %q and 0", got, missed, want)
	}
	s.close()
	if _, ok := s.tap(0); ok {
		t.Error("a tap on a closed stream")
	}
}

// TestTapHasWhatBeganAfterItsReader: what is marked for a reader is all there in
// the generations that began after it came, and in no other.
func TestTapHasWhatBeganAfterItsReader(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []string // was written before the tap
		late   bool     // the reader came after the stream
		over   bool
		want   string
	}{
		{"a reader before the first generation", []string{testHeader, "fir"}, false, false, "first"},
		{"a reader before, but of a later one", []string{testHeader, "past", endMark, "fir"}, false, false, "next"},
		{"within the first", []string{testHeader, "fir"}, true, false, "next"},
		{"before anything was written", nil, true, false, "next"},
		{"between two", []string{testHeader, "past", endMark}, true, false, "next"},
		{"within one that is too long", []string{testHeader, "fir"}, true, true, "next"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStream(testClock(t))
			since := s.since
			if c.late {
				since++
			}
			write(t, s, c.before...)
			tapped, ok := s.tap(since)
			if !ok || tapped.joined != (c.want == "next") {
				t.Fatalf("tapped %v, in the midst %v", ok, tapped.joined)
			}
			if s.over = c.over; c.before == nil {
				write(t, s, testHeader, "fir")
			}
			write(t, s, "st", endMark, "next", endMark)
			s.untap(tapped)
			data := <-tapped.out
			if got, want := string(data), testHeader+c.want+endMark; got != want {
				t.Errorf("begins with %q, want %q", got, want)
			}
			s.close()
		})
	}
}

func TestTapThatIsSlowMissesAndHurtsNobody(t *testing.T) {
	s := newStream(testClock(t))
	write(t, s, testHeader)
	tapped, _ := s.tap(0)
	for range maxTapped + 3 {
		write(t, s, "generation", endMark)
	}
	if got := s.untap(tapped); got != 3 {
		t.Errorf("missed %d generations, want 3", got)
	}
	for range maxTaps {
		if _, ok := s.tap(0); !ok {
			t.Fatal("no tap though there is room")
		}
	}
	if _, ok := s.tap(0); ok {
		t.Errorf("more than %d taps on one stream", maxTaps)
	}
	s.close()
}
