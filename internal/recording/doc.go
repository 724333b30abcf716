// Package recording holds what a sidecar saw, or a service of itself, in a file:
// gaps of probes, collections and suspensions of processes, what the machine did
// to their threads, what each source watched, the machine, the doctor's answers.
//
// The file is append-only and survives a crash up to its last second. It is the
// line [Magic], then records. A record is
//
//	u32  length of what follows the checksum, little endian, 1 to MaxRecord
//	u32  CRC-32C of that
//	u8   kind
//	...  payload
//
// Gaps come by the thousand and are binary, see gap.go; all other payloads are
// JSON, so that a field can be added without another version. A
// reader skips kinds that it does not know, and counts them.
//
// A file without an [End] was cut off: by a crash, or it is being written still.
// Zeros to the end are what a machine leaves that loses power while it writes.
// What is whole before the cut counts. A Reader takes every length and every
// number in the file for hostile.
package recording

import "errors"

// Magic is the first line of a recording, with the version of the format.
const Magic = "otelgc recording 1\n"

// The limits of the format.
const (
	// MaxRecord is the longest record: kind and payload.
	MaxRecord = 1 << 20
	// MaxGaps is the number of gaps of one record.
	MaxGaps = 1 << 14
	// MaxName is the length of a name in evidence, in bytes; longer ones are cut.
	MaxName = 64
	// MaxPending is how many gaps wait for the next flush, and maxPendingBytes how
	// many bytes of other records; more are dropped and counted. A quarter of the
	// bytes are for one target, so that one with endless events leaves room for
	// the others.
	MaxPending       = 1 << 16
	maxPendingBytes  = 16 << 20
	maxBytesOfTarget = maxPendingBytes / 4
)

// ErrVersion says that a recording is of a format that is not known here.
var ErrVersion = errors.New("recording version not supported")

// ErrFormat says that the bytes are not what the format allows.
var ErrFormat = errors.New("broken recording")
