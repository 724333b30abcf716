package hostcount

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// maxFile bounds what is read of a file.
const maxFile = 1 << 16

// file is a file that is read again and again: it stays open, as opening it
// costs more than reading it.
type file struct {
	root  fs.FS
	name  string
	first bool // only what fits at first is wanted
	open  fs.File
	text  []byte
}

// read returns what the file holds now. It is valid until the next call.
func (f *file) read() ([]byte, error) {
	if f.open == nil {
		open, err := f.root.Open(f.name)
		if err != nil {
			return nil, err
		}
		f.open = open
	}
	at, ok := f.open.(io.ReaderAt)
	if !ok {
		return nil, fmt.Errorf("read /%s: %w", f.name, errors.ErrUnsupported)
	}
	if f.text == nil {
		f.text = make([]byte, 512)
	}
	for {
		n, err := at.ReadAt(f.text, 0)
		switch {
		case err == nil && !f.first && len(f.text) < maxFile:
			// It is longer, and another read would show another moment.
			f.text = make([]byte, 2*len(f.text))
			continue
		case err != nil && !errors.Is(err, io.EOF):
			f.close()
			return nil, err
		}
		return f.text[:n], nil
	}
}

func (f *file) close() {
	if f.open != nil {
		_ = f.open.Close() // it was only read
		f.open = nil
	}
}

// field returns the n-th of the fields of text between blanks, from 0; nil if
// there are fewer.
func field(text []byte, n int) []byte {
	for {
		text = bytes.TrimLeft(text, " \t\n")
		if len(text) == 0 {
			return nil
		}
		end := bytes.IndexAny(text, " \t\n")
		if end < 0 {
			end = len(text)
		}
		if n == 0 {
			return text[:end]
		}
		text = text[end:]
		n--
	}
}

// number parses a decimal number, and reports false for anything else.
func number(text []byte) (n uint64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' || n > (1<<63-1)/10-1 {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, len(text) > 0
}
