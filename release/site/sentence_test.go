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

// TestCommandsInSentences: a command within a sentence, which no test runs, has the name of
// one that is there: of a target, a script and what it takes, a step, a directory with a main
// package, or a command of the sidecar with flags that it has.
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
	targets, steps []string
	flags          map[string][]string // by the command of the sidecar
	scripts        map[string]string   // their texts
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
	n.scripts = make(map[string]string)
	for _, name := range []string{"scripts/release", "scripts/dashboard-picture", "scripts/soak"} {
		n.scripts[name] = read(name)
	}
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

// lacking returns what is not there of what a command names. Known counts the commands of
// the repository.
func (n *names) lacking(dir string, words []string, known *int) (missing []string) {
	first, rest := words[0], words[1:]
	switch text, script := n.scripts[first]; {
	case first == "make":
		missing = without(rest, n.targets)
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
	case first == "go" && len(rest) > 1 && rest[0] == "run":
		if found, _ := filepath.Glob(filepath.Join(dir, rest[1], "*.go")); len(found) == 0 {
			missing = []string{rest[1]}
		} else if rest[1] == "./sidecar" && len(rest) > 2 {
			missing = n.lackingOf(rest[2:])
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
