package gouprobe

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInstructions(t *testing.T) {
	const (
		check = "493b6610 0f865d020000"
		save  = "55 4889e5"
	)
	for _, test := range []struct {
		name, code string
		push       int
		returns    []int // none: it is refused
	}{
		{"a small frame", check + save + "4883ec58 90 4883c458 5d c3", 10, []int{24}},
		{"a short jump", "493b6610 7640" + save + "4883ec58 4883c458 5d c3", 6, []int{19}},
		{"a large frame", "4c8da42400ffffff 4d3b6610 0f865d020000" + save + "4881ec80010000 4881c480010000 5d c3", 18, []int{37}},
		{"a middling frame", "4c8d6424a8 4d3b6610 7640" + save + "4883c480 4883ec80 5d c3", 11, []int{24}},
		{"two returns", check + save + "4883ec58 4883c458 5d c3 90 4883c458 5d c3", 10, []int{23, 30}},
		{"nothing", "", 0, nil},
		{"no check", save + "4883ec58 4883c458 5d c3", 0, nil},
		{"half a check", "493b66", 0, nil},
		{"a cut check", "4c8da424", 0, nil},
		{"a check of something else", "4c8d6424a8 493b6610 7640" + save + "4883ec58 4883c458 5d c3", 0, nil},
		{"no jump", "493b6610" + save + "4883ec58 4883c458 5d c3", 0, nil},
		{"no BP", check + "4883ec58 4883c458 5d c3", 0, nil},
		{"BP later", check + "90" + save + "4883ec58 4883c458 5d c3", 0, nil},
		{"a breakpoint", check + "cc 4889e5 4883ec58 4883c458 5d c3", 0, nil},
		{"no frame", check + save + "90909090 5d c3 90", 0, nil},
		{"a cut frame", check + save + "4883ec", 0, nil},
		{"another frame at the end", check + save + "4883ec58 4883c450 5d c3", 0, nil},
		{"no return", check + save + "4883ec58 4883c458 5d 90", 0, nil},
		{"too many returns", check + save + "4883ec58" + strings.Repeat("4883c458 5d c3", maxReturns+1), 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, err := hex.DecodeString(strings.ReplaceAll(test.code, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			push, returns, err := instructions(code)
			if (err != nil) != (test.returns == nil) || push != test.push {
				t.Errorf("got %d, %v, %v, want %d", push, returns, err, test.push)
			}
			if diff := cmp.Diff(test.returns, returns); diff != "" {
				t.Errorf("returns (-want +got):\n%s", diff)
			}
		})
	}
}
