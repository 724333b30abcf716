package stall

import (
	"errors"
	"regexp"
	"runtime"
	"testing"
)

func TestBootID(t *testing.T) {
	got, err := BootID()
	if runtime.GOOS != "linux" {
		if !errors.Is(err, ErrNotSupported) {
			t.Errorf("error: got %v, want ErrNotSupported", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(got) {
		t.Errorf("boot id: got %q, want a UUID and nothing else", got)
	}
	if again, _ := BootID(); again != got {
		t.Errorf("boot id read again: got %q, want %q", again, got)
	}
}
