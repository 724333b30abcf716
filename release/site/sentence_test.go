package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
)

// TestCommandsInSentences: what a command within a sentence names is there, though no test
// runs it: a target, a script and what it takes, a step, a directory, a command of the sidecar
// with its flags, an experiment, or a benchmark.
func TestCommandsInSentences(t *testing.T) {
	s, there := whole(t), namesThere(t)
	known := 0
	for _, p := range s.sorted() {
		if p.path == "CHANGELOG.md" {
			continue // of what was, too
		}
		for _, code := range p.inline() {
			words := strings.Fields(code)
			if len(words) == 0 {
				continue
			}
			dir := s.root
			if words[0] == "cd" && len(words) > 3 && words[2] == "&&" {
				dir, words = filepath.Join(s.root, words[1]), words[3:]
			}
			for _, missing := range there.lacking(dir, words, &known) {
				t.Errorf("%s: %q: there is no %s", p.path, code, missing)
			}
		}
	}
	if known < 20 {
		t.Errorf("%d commands were looked for, want at least 20", known)
	}
}

// inline returns the code within the sentences of p.
func (p *page) inline() (all []string) {
	_ = ast.Walk(p.doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if code, is := n.(*ast.CodeSpan); is && enter {
			var text strings.Builder
			for c := code.FirstChild(); c != nil; c = c.NextSibling() {
				if part, is := c.(*ast.Text); is {
					text.Write(part.Value(p.source))
				}
			}
			all = append(all, text.String())
		}
		return ast.WalkContinue, nil
	})
	return all
}

// names are those that a command may have.
type names struct {
	targets, steps, experiments []string
	flags                       map[string][]string // by the command of the sidecar
	scripts                     map[string]string   // their texts
	benchmarks                  string              // their declarations
}

func namesThere(t *testing.T) (n names) {
	t.Helper()
	read := func(pattern string) (text string) {
		t.Helper()
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		for _, f := range found {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		return text
	}
	all := func(expression, text string) (found []string) {
		for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		return found
	}
	n.targets, n.steps = all(`(?m)^([\w-]+):`, read("Makefile")), all(`(?m)^step_(\w+)\(\)`, read(".ci/*.sh"))
	n.experiments = all(`\bName: "([\w-]+)", Title:`, read("bench/*/*.go"))
	n.scripts = make(map[string]string)
	scripts, _ := filepath.Glob("../../scripts/*")
	for _, path := range scripts {
		n.scripts["scripts/"+filepath.Base(path)] = read("scripts/" + filepath.Base(path))
	}
	n.benchmarks = benchmarks(t)
	c := exec.Command("go", "run", "./sidecar", "completion", "bash")
	c.Dir = "../.."
	c.Stderr = os.Stderr
	completion, err := c.Output()
	if err != nil {
		t.Fatalf("ask the sidecar for its flags: %v", err)
	}
	n.flags = map[string][]string{"help": nil, "man": nil, "completion": nil}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+)\) words='(--.*)' ;;$`).FindAllStringSubmatch(string(completion), -1) {
		n.flags[m[1]] = strings.Fields(m[2])
	}
	return n
}

// benchmarks returns the declarations of all benchmarks, a line each.
func benchmarks(t *testing.T) string {
	t.Helper()
	found, err := exec.Command("git", "-C", "../..", "grep", "-hoE", "^func Benchmark[A-Za-z]+", "--", "*_test.go").Output()
	if err != nil {
		t.Fatalf("look for benchmarks: %v", err)
	}
	return string(found)
}

// valueOf returns the value of a flag among words, empty if it is not there.
func valueOf(words []string, name string) string {
	if i := slices.Index(words, name); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

// lacking returns what is not there of what a command names. Known counts the commands of
// the repository.
func (n *names) lacking(dir string, words []string, known *int) (missing []string) {
	first, rest := words[0], words[1:]
	switch text, script := n.scripts[first]; {
	case first == "make":
		missing = without(slices.DeleteFunc(slices.Clone(rest), func(word string) bool { return strings.ContainsAny(word, "-=") }), n.targets)
	case first == ".ci/run":
		missing = without(rest, n.steps)
	case script:
		for _, word := range rest[:min(1, len(rest))] {
			if !strings.Contains(text, " = "+word+" ]") {
				missing = append(missing, word)
			}
		}
	case strings.HasPrefix(first, "scripts/"):
		missing = []string{first}
	case first == "go" && len(rest) > 1 && rest[0] == "run" && strings.HasPrefix(rest[1], "."):
		if found, _ := filepath.Glob(filepath.Join(dir, rest[1], "*.go")); len(found) == 0 {
			missing = []string{rest[1]}
		} else if rest[1] == "./sidecar" {
			missing = n.lackingOf(rest[2:])
		} else if filepath.Base(dir) == "bench" {
			missing = n.lackingExperiment(rest[2:])
		}
	case first == "go" && valueOf(rest, "-bench") != "" || first == "-bench":
		if name := valueOf(words, "-bench"); name != "." && !strings.Contains(n.benchmarks, "func Benchmark"+strings.Trim(name, "'^$")) {
			missing = []string{"Benchmark" + name}
		}
	case first == "otelgc-sidecar":
		missing = n.lackingOf(rest)
	case len(rest) > 0 && n.flags[first] != nil && strings.HasPrefix(rest[0], "--"):
		missing = n.lackingOf(words)
	default:
		return nil
	}
	*known++
	return missing
}

// lackingExperiment is lacking of what follows on bench: -o DIR, and an experiment with its
// flags.
func (n *names) lackingExperiment(words []string) []string {
	if len(words) > 1 && words[0] == "-o" {
		words = words[2:]
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || words[0] == "all" {
		return nil
	}
	return without(words[:1], n.experiments)
}

// lackingOf is lacking of the command line of the sidecar.
func (n *names) lackingOf(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	flags, is := n.flags[words[0]]
	if !is {
		return words[:1]
	}
	var given []string
	for _, word := range words[1:] {
		if name, _, _ := strings.Cut(word, "="); strings.HasPrefix(name, "--") {
			given = append(given, name)
		}
	}
	return without(given, flags)
}

// without returns those of a list that another one lacks.
func without(list, other []string) (missing []string) {
	for _, v := range list {
		if !slices.Contains(other, v) {
			missing = append(missing, v)
		}
	}
	return missing
}
