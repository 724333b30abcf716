package cost

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Side is what one of the two services of a pair did.
type Side struct {
	Requests int64   // while CPU was measured
	CPUs     float64 // CPU time meanwhile, in seconds
	Answers  int64   // that were timed
	LoadS    float64 // for so long it was sent requests meanwhile, in seconds
	P50      float64 // of the answers' times, in microseconds
	P99      float64
	P999     float64
	PeakKB   int64   // of its resident memory
	StartMS  float64 // from exec to the first answer
	BinaryB  int64   // size of its binary
	OutB     int64   // exported in its life
	LifeS    float64 // from exec to its end, in seconds
	TracedS  float64 // of the window it was traced, in seconds
	Cycles   int64   // garbage collections
}

// Row is a pair: a service as it is compared with, and one with something that watches it,
// which was there at the same time.
type Row struct {
	Shape, Setting string
	Pair           int64   // from 1
	Rate           float64 // requests per second; 0 is as many as it answers
	WindowS        float64 // length of the window, in seconds
	Without, With  Side
	BesideCPUs     float64 // CPU time of a process beside it, in the window, in seconds
	BesidePeakKB   int64
}

// columns are those of a file of rows, in the order of values.
var columns = func() []string {
	all := []string{"shape", "setting", "pair", "rate", "window_s"}
	for _, side := range []string{"without", "with"} {
		for _, name := range []string{"requests", "cpu_s", "answers", "load_s", "p50_us", "p99_us", "p999_us", "peak_kb", "start_ms", "binary_b", "out_b", "life_s", "traced_s", "cycles"} {
			all = append(all, side+"_"+name)
		}
	}
	return append(all, "beside_cpu_s", "beside_peak_kb")
}()

func (s *Side) values() []any {
	return []any{&s.Requests, &s.CPUs, &s.Answers, &s.LoadS, &s.P50, &s.P99, &s.P999, &s.PeakKB, &s.StartMS, &s.BinaryB, &s.OutB, &s.LifeS, &s.TracedS, &s.Cycles}
}

// values returns pointers to the values of a row.
func (r *Row) values() []any {
	return slices.Concat([]any{&r.Shape, &r.Setting, &r.Pair, &r.Rate, &r.WindowS}, r.Without.values(), r.With.values(), []any{&r.BesideCPUs, &r.BesidePeakKB})
}

// record returns a row as it is in a file.
func (r *Row) record() (texts []string) {
	for _, v := range r.values() {
		switch v := v.(type) {
		case *string:
			texts = append(texts, *v)
		case *int64:
			texts = append(texts, strconv.FormatInt(*v, 10))
		case *float64:
			texts = append(texts, strconv.FormatFloat(*v, 'f', -1, 64))
		}
	}
	return texts
}

func parseRow(texts []string) (r Row, err error) {
	for i, v := range r.values() {
		switch v := v.(type) {
		case *string:
			*v = texts[i]
		case *int64:
			*v, err = strconv.ParseInt(texts[i], 10, 64)
		case *float64:
			*v, err = strconv.ParseFloat(texts[i], 64)
		}
		if err != nil {
			return r, fmt.Errorf("column %s: %w", columns[i], err)
		}
	}
	if min(r.Without.Requests, r.With.Requests, r.Without.Answers, r.With.Answers) < 1 || r.Pair < 1 {
		return r, fmt.Errorf("%s/%s: no pair of services that answered", r.Shape, r.Setting)
	}
	return r, nil
}

// maxFile is how large a file of rows may be: a row has some 300 bytes.
const maxFile = 4 << 20

// Rows are those of a file, and its notes: lines that begin with "#", which say what was
// measured, and what was left out.
type Rows struct {
	Notes []string
	Rows  []Row
}

// ReadRows reads a file of rows.
func ReadRows(in io.Reader) (all Rows, err error) {
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return all, err
	}
	if len(text) > maxFile {
		return all, fmt.Errorf("more than %d bytes", maxFile)
	}
	for line := range strings.Lines(string(text)) {
		if note, ok := strings.CutPrefix(line, "# "); ok {
			all.Notes = append(all.Notes, strings.TrimSpace(note))
		}
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment, r.FieldsPerRecord = '#', len(columns)
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return all, nil
	}
	if err == nil && !slices.Equal(head, columns) {
		err = fmt.Errorf("unknown columns %q", head)
	}
	for err == nil {
		var texts []string
		if texts, err = r.Read(); err == nil {
			var row Row
			row, err = parseRow(texts)
			all.Rows = append(all.Rows, row)
		}
	}
	if err != io.EOF {
		return all, fmt.Errorf("read rows: %w", err)
	}
	return all, nil
}

// log keeps rows in a file as they come, so that none is lost when a run is interrupted.
// Without a path it keeps them in memory only.
type log struct {
	Rows
	path string
}

// openLog reads the rows that are in a file already, if it is there.
func openLog(path string) (*log, error) {
	l := &log{path: path}
	if path == "" {
		return l, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, l.append(strings.Join(columns, ",") + "\n")
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if l.Rows, err = ReadRows(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

func (l *log) append(text string) error {
	if l.path == "" {
		return nil
	}
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// note adds a note that is not there yet.
func (l *log) note(text string) error {
	if slices.Contains(l.Notes, text) {
		return nil
	}
	l.Notes = append(l.Notes, text)
	return l.append("# " + text + "\n")
}

// add adds a row.
func (l *log) add(r Row) error {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	_ = w.Write(r.record()) // to memory
	w.Flush()
	l.Rows.Rows = append(l.Rows.Rows, r)
	return l.append(text.String())
}

// here returns an error if the rows that are there are of another machine than the one that
// a note names, or of another version of Go.
func (l *log) here(note string) error {
	for _, other := range l.Notes {
		if was, is := machineOf(other), machineOf(note); was != "" && was != is {
			return fmt.Errorf("%s: its rows were measured on %s, and this is %s: name another file by -rows", l.path, was, is)
		}
	}
	return nil
}

var (
	measuredOn = regexp.MustCompile(`^Measured on (.*); \d{4}-\d\d-\d\d\. Again: `)
	frequency  = regexp.MustCompile(`, [0-9.]+ MHz`)
)

// machineOf returns the machine that a note names, empty if it names none: without the
// date, and the frequency that its CPU had just then.
func machineOf(note string) string {
	m := measuredOn.FindStringSubmatch(note)
	if m == nil {
		return ""
	}
	return frequency.ReplaceAllString(m[1], "")
}

// has reports whether a pair is there.
func (l *log) has(shape, setting string, pair int) bool {
	return slices.ContainsFunc(l.Rows.Rows, func(r Row) bool { return r.Shape == shape && r.Setting == setting && r.Pair == int64(pair) })
}
