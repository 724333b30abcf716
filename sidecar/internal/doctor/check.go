package doctor

import (
	"errors"
	"io/fs"
)

// Status is the verdict of a check.
type Status string

const (
	OK   Status = "ok"
	Info Status = "info" // explains numbers, spoils none
	Warn Status = "warn" // numbers are worse than they need to be
	Fail Status = "fail" // numbers cannot be believed, or the probe does harm
	NA   Status = "n/a"  // could not be read: nothing is known
)

// Check is one thing that was looked at.
type Check struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
	File   string `json:"file,omitempty"` // that says so, if a file does
	Value  string `json:"value"`          // what it says, or why it says nothing
	Advice string `json:"advice"`         // what follows from it; empty if nothing does
}

// about begins a check of what a file says.
func about(id, file string) Check {
	if file != "" {
		file = "/" + file
	}
	return Check{ID: id, File: file}
}

func (c Check) verdict(s Status, value, advice string) Check {
	if value == "" { // an empty file
		s, value, advice = NA, "empty", ""
	}
	c.Status, c.Value, c.Advice = s, value, advice
	return c
}

func (c Check) ok(value string) Check           { return c.verdict(OK, value, "") }
func (c Check) info(value, advice string) Check { return c.verdict(Info, value, advice) }
func (c Check) warn(value, advice string) Check { return c.verdict(Warn, value, advice) }
func (c Check) fail(value, advice string) Check { return c.verdict(Fail, value, advice) }
func (c Check) none(why string) Check           { return c.verdict(NA, why, "") }

// unread is none for a file that could not be read.
func (c Check) unread(err error) Check { return c.none(why(err)) }

// why says in a few words why a file could not be read.
func why(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	}
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}
