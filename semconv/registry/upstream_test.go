package registry

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// upstreamVersion is the one that manifest.yaml depends on.
const upstreamVersion = "v1.43.0"

// upstream is what OpenTelemetry's registry has, as its constants for Go say.
type upstream struct {
	attributes map[string]*attribute
	metrics    map[string]*group // by id, such as metric.go.cpu.time
}

// goLeavesOut are the names in use that OpenTelemetry's registry has and its module for Go
// does not: model/dotnet of semantic-conventions, its texts without their markup.
func goLeavesOut(u *upstream) {
	generation := &attribute{Type: attributeType{Name: "enum"}, Stability: "stable", Brief: "Name of the garbage collector managed heap generation."}
	for _, value := range []string{"gen0", "gen1", "gen2", "loh", "poh"} {
		generation.Type.Members = append(generation.Type.Members, member{ID: value, Value: value, Stability: "stable"})
	}
	u.attributes["dotnet.gc.heap.generation"] = generation
	for _, m := range []group{
		{MetricName: "dotnet.gc.collections", Instrument: "counter", Unit: "{collection}", Brief: "The number of garbage collections that have occurred since the process has started."},
		{MetricName: "dotnet.gc.heap.total_allocated", Instrument: "counter", Unit: "By", Brief: "The approximate number of bytes allocated on the managed GC heap since the process has started. The returned value does not include any native allocations."},
		{MetricName: "dotnet.gc.last_collection.heap.size", Instrument: "updowncounter", Unit: "By", Brief: "The managed GC heap size (including fragmentation), as observed during the latest garbage collection."},
		{MetricName: "dotnet.gc.last_collection.heap.fragmentation.size", Instrument: "updowncounter", Unit: "By", Brief: "The heap fragmentation, as observed during the latest garbage collection."},
		{MetricName: "dotnet.gc.pause.time", Instrument: "counter", Unit: "s", Brief: "The total amount of time paused in GC since the process has started."},
	} {
		u.metrics["metric."+m.MetricName] = &m
	}
}

// readUpstream parses the source of OpenTelemetry's constants: their types are in the
// comments alone.
func readUpstream(t *testing.T) *upstream {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "go.opentelemetry.io/otel/semconv/"+upstreamVersion).Output()
	if err != nil {
		t.Fatalf("find the constants of OpenTelemetry: %v", err)
	}
	dir := strings.TrimSpace(string(out))
	u := &upstream{attributes: map[string]*attribute{}, metrics: map[string]*group{}}
	u.readAttributes(t, filepath.Join(dir, "attribute_group.go"))
	paths, err := filepath.Glob(filepath.Join(dir, "*conv", "metric.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("find the metrics of OpenTelemetry: %d files, %v", len(paths), err)
	}
	for _, path := range paths {
		u.readMetrics(t, path)
	}
	if len(u.attributes) < 500 || len(u.metrics) < 200 {
		t.Fatalf("OpenTelemetry has %d attributes and %d metrics: the form of its constants is another", len(u.attributes), len(u.metrics))
	}
	goLeavesOut(u)
	return u
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var (
	typeLine      = regexp.MustCompile(`(?m)^Type: (.*)$`)
	sentence      = regexp.MustCompile(`It represents (?:the )?([^.]*\.)`)
	stabilityLine = regexp.MustCompile(`(?m)^Stability: (.*)$`)
	goTypes       = map[string]string{"Enum": "enum", "[]string": "string[]", "[]int": "int[]"}
)

// readAttributes reads constants such as GoCPUStateKey = attribute.Key("go.cpu.state"), and
// variables such as GoCPUStateUser = GoCPUStateKey.String("user").
func (u *upstream) readAttributes(t *testing.T, path string) {
	keys := map[string]*attribute{}
	for _, decl := range parse(t, path).Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range d.Specs {
			s, ok := spec.(*ast.ValueSpec)
			if !ok || len(s.Values) != 1 {
				continue
			}
			method, value, ok := call(s.Values[0])
			if !ok {
				continue
			}
			name, doc := s.Names[0].Name, s.Doc.Text()
			if method == "attribute.Key" {
				a := &attribute{Type: attributeType{Name: first(typeLine, doc)}, Stability: strings.ToLower(first(stabilityLine, doc)), Brief: capital(first(sentence, oneLine(doc)))}
				if to, ok := goTypes[a.Type.Name]; ok {
					a.Type.Name = to
				}
				keys[name], u.attributes[value] = a, a
			} else if of := keys[strings.TrimSuffix(method, ".String")]; of != nil && value != "_OTHER" { // which leaves a list open
				of.Type.Members = append(of.Type.Members, member{ID: value, Value: value})
			}
		}
	}
}

// readMetrics reads types such as CPUTime, with the instrument in it and the methods that
// return its name, unit and description.
func (u *upstream) readMetrics(t *testing.T, path string) {
	types := map[string]*group{}
	of := func(name string) *group {
		if types[name] == nil {
			types[name] = new(group)
		}
		return types[name]
	}
	for _, decl := range parse(t, path).Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				s, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				fields, ok := s.Type.(*ast.StructType)
				if !ok || len(fields.Fields.List) != 1 {
					continue
				}
				if embedded, ok := fields.Fields.List[0].Type.(*ast.SelectorExpr); ok {
					kind := strings.ToLower(strings.NewReplacer("Int64", "", "Float64", "", "Observable", "").Replace(embedded.Sel.Name))
					of(s.Name.Name).Instrument = kind
				}
			}
		case *ast.FuncDecl:
			if d.Recv == nil || len(d.Body.List) != 1 {
				continue
			}
			receiver, ok := d.Recv.List[0].Type.(*ast.Ident)
			returned, isReturn := d.Body.List[0].(*ast.ReturnStmt)
			if !ok || !isReturn || len(returned.Results) != 1 {
				continue
			}
			value, _ := literal(returned.Results[0])
			switch m := of(receiver.Name); d.Name.Name {
			case "Name":
				m.MetricName = value
			case "Unit":
				m.Unit = value
			case "Description":
				m.Brief = value
			}
		}
	}
	for _, m := range types {
		if m.MetricName != "" {
			u.metrics["metric."+m.MetricName] = m
		}
	}
}

// call returns the name of what e calls, and its one argument, a string.
func call(e ast.Expr) (name, argument string, ok bool) {
	c, ok := e.(*ast.CallExpr)
	if !ok || len(c.Args) != 1 {
		return "", "", false
	}
	f, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", "", false
	}
	on, ok := f.X.(*ast.Ident)
	if !ok {
		return "", "", false
	}
	argument, ok = literal(c.Args[0])
	return on.Name + "." + f.Sel.Name, argument, ok
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil
}

func first(r *regexp.Regexp, s string) string {
	if m := r.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// constants returns the texts that a file gives to constants.
func constants(t *testing.T, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, decl := range parse(t, path).Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, spec := range d.Specs {
			s := spec.(*ast.ValueSpec)
			for i, name := range s.Names {
				if i < len(s.Values) {
					if value, ok := literal(s.Values[i]); ok {
						all[name.Name] = value
					}
				}
			}
		}
	}
	return all
}
