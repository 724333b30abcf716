package shop

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

func TestSkipResponse(t *testing.T) {
	for _, test := range []struct{ name, response, rest, want string }{
		{"good", "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 3\r\n\r\nabcHTTP", "HTTP", ""},
		{"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP", "HTTP", ""},
		{"status", "HTTP/1.1 503 Busy\r\n", "", `status "HTTP/1.1 503 Busy"`},
		{"length", "HTTP/1.1 200 OK\r\n\r\n", "", "no Content-Length"},
		{"truncated", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "", "EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := bufio.NewReader(strings.NewReader(test.response))
			err := skipResponse(r)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if rest, _ := r.Peek(r.Buffered()); string(rest) != test.rest {
				t.Errorf("left %q, want %q", rest, test.rest)
			}
		})
	}
}

// All connections together send at the rate, evenly, and rounding does not pile
// up.
func TestDue(t *testing.T) {
	const conns, rate = 3, 7
	var got []time.Duration
	for k := range 700 {
		for i := range conns {
			got = append(got, due(i, k, conns, rate))
		}
	}
	for n, d := range got {
		want := time.Duration(n) * time.Second / 7
		if (d - want).Abs() > time.Microsecond {
			t.Fatalf("request %d is due at %v, want %v", n, d, want)
		}
	}
}
