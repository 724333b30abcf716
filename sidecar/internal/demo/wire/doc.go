// Package wire is what the sample service tells the demo over an inherited
// pipe: every resolved window with its share, the collections, the other stops of
// its runtime, the gaps of the probe in its process, and what its runtime says
// of itself.
//
// A stream is a sequence of frames:
//
//	type     1 byte   the Kind
//	length   uvarint  of the payload, at most 64 KiB
//	payload
//
// The payloads of Hello and Farewell are JSON, that of Failure is a text, which
// may come at any time and is the last frame. Those of Window, Collection,
// Suspension and Gap are varints (zig-zag where a value may be negative), each
// instant but the first as the difference to the one before it. A window holds
// its causes as a bit set and then only the causes that are in it: about 30 bytes
// in all.
//
// The reader trusts nobody: lengths are checked before anything is allocated,
// values against their ranges, and a share has to sum to its total.
package wire
