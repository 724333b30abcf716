package doctor

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
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

// Check is the result of one check.
type Check struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
	File   string `json:"file,omitempty"` // the source of Value, if it is a file
	Value  string `json:"value"`          // what was found, or why nothing was
	Advice string `json:"advice"`         // what Value means and what to do; may be empty
}

// check is one row of the tables: its name, the file that it reads, and its verdict.
type check struct {
	id string
	// file is shown with the result. CPU# stands for the number of the probe's CPU,
	// PID for the target's.
	file string
	// verdict returns a Check without its ID, and without its File if that is file.
	// The zero Check is left out of the report.
	verdict func(m *machine, file string) Check
}

// read returns a function that reads the file of a check by get and asks verdict about it.
func read[T any](get func(root, string) (T, error), verdict func(*machine, T) Check) func(*machine, string) Check {
	return func(m *machine, file string) Check {
		v, err := get(m.root, file)
		if err != nil {
			return unread(err)
		}
		return verdict(m, v)
	}
}

// appendChecks appends the results of checks.
func (m *machine) appendChecks(list []Check, checks []check) []Check {
	for _, c := range checks {
		file := strings.NewReplacer("CPU#", strconv.Itoa(m.cpu), "PID", strconv.Itoa(m.target)).Replace(c.file)
		result := c.verdict(m, file)
		if result.Status == "" {
			continue
		}
		if result.File == "" {
			result.File = file
		}
		if result.File != "" {
			result.File = "/" + result.File
		}
		if result.Value == "" {
			result.Status, result.Value, result.Advice = NA, "empty", ""
		}
		result.ID = c.id
		list = append(list, result)
	}
	return list
}

func ok(value string) Check           { return Check{Status: OK, Value: value} }
func info(value, advice string) Check { return Check{Status: Info, Value: value, Advice: advice} }
func warn(value, advice string) Check { return Check{Status: Warn, Value: value, Advice: advice} }
func fail(value, advice string) Check { return Check{Status: Fail, Value: value, Advice: advice} }
func unknown(why string) Check        { return Check{Status: NA, Value: why} }

// unread is the result for a file that could not be read.
func unread(err error) Check { return unknown(why(err)) }

// in returns c with the file that it is about.
func (c Check) in(file string) Check {
	c.File = file
	return c
}

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
