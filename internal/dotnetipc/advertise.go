package dotnetipc

import (
	"fmt"
	"io"
)

// advertiseMagic begins what a runtime says of itself when it dials a reverse
// port: magic, cookie, u64 pid, u16 zero. ds-ipc.c, ds_ipc_advertise_v1_icp.
const advertiseMagic = "ADVR_V1\x00"

const advertiseSize = len(advertiseMagic) + len(Cookie{}) + 8 + 2

type advertisement struct {
	cookie   Cookie
	innerPID uint64
}

func readAdvertisement(r io.Reader) (advertisement, error) {
	var b [advertiseSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return advertisement{}, fmt.Errorf("read advertisement of %d bytes: %w", len(b), noEOF(err))
	}
	d := decoder{b: b[:]}
	if got := d.take(len(advertiseMagic), "magic"); string(got) != advertiseMagic {
		return advertisement{}, fmt.Errorf("read advertisement: magic is %q, want %q", got, advertiseMagic)
	}
	a := advertisement{cookie: d.cookie(), innerPID: d.u64()}
	return a, d.err
}
