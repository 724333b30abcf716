package hostcount

import "testing"

func TestOnline(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "0\n": 1, "0-3\n": 4, "0-3,8,10-11\n": 7, "3-0\n": 0, "0-\n": 0, "0-99999999999\n": 0, "much\n": 0,
	} {
		files := map[string]string{"sys/devices/system/cpu/online": text}
		if text == "" {
			files = nil
		}
		p, err := Open(machine(files), 7)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Online(); got != want {
			t.Errorf("%q: got %d CPUs, want %d", text, got, want)
		}
		p.Close()
	}
}
