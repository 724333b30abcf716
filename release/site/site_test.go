package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
)

func whole(t *testing.T) *site {
	t.Helper()
	s, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLinks: each link into the repository leads to a file, and to a heading where it names
// one; and each page of docs is led to.
func TestLinks(t *testing.T) {
	s := whole(t)
	for _, p := range s.sorted() {
		if len(p.links) == 0 && p.path != "CHANGELOG.md" {
			t.Logf("%s leads to nothing", p.path)
		}
		for _, link := range p.links {
			to, fragment, _ := strings.Cut(link, "#")
			if _, err := os.Stat(filepath.Join(s.root, to)); err != nil {
				t.Errorf("%s leads to %s: %v", p.path, link, err)
			} else if fragment != "" && (s.pages[to] == nil || !s.pages[to].anchors[fragment]) {
				t.Errorf("%s leads to %s, where there is no such heading", p.path, link)
			}
		}
	}
	for _, dir := range []string{"docs/*.md", "docs/*/*.md", "examples/*/README.md", "*.md"} {
		found, err := filepath.Glob(filepath.Join(s.root, dir))
		if err != nil || len(found) == 0 {
			t.Errorf("%s: %d files, %v", dir, len(found), err)
		}
		for _, f := range found {
			at, err := filepath.Rel(s.root, f)
			if err != nil {
				t.Fatal(err)
			}
			if s.pages[at] == nil {
				t.Errorf("no page leads to %s", at)
			}
		}
	}
}

// TestBlocks: each block of code says what it is, so that no command is among the others.
func TestBlocks(t *testing.T) {
	languages := []string{"sh", "go", "yaml", "sql", "promql", "text"}
	for _, p := range whole(t).sorted() {
		err := ast.Walk(p.doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
			switch n := n.(type) {
			case *ast.CodeBlock:
				if enter {
					t.Errorf("%s: a block without a language: %s", p.path, n.Lines().Value(p.source))
				}
			case *ast.FencedCodeBlock:
				if language := string(n.Language(p.source)); enter && !slices.Contains(languages, language) {
					t.Errorf("%s: a block of %q, want one of %q:\n%s", p.path, language, languages, n.Lines().Value(p.source))
				}
			}
			return ast.WalkContinue, nil
		})
		if err != nil {
			t.Error(err)
		}
		if _, err := p.commands(); err != nil {
			t.Error(err)
		}
	}
}

// TestPictures: each picture is written by a command of the repository.
func TestPictures(t *testing.T) {
	s := whole(t)
	var makers strings.Builder
	for _, pattern := range []string{"Makefile", "scripts/*"} {
		found, err := filepath.Glob(filepath.Join(s.root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		for _, f := range found {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			makers.Write(text)
		}
	}
	if len(s.pictures) == 0 {
		t.Error("there are no pictures")
	}
	for picture := range s.pictures {
		if !strings.Contains(makers.String(), picture) {
			t.Errorf("no command writes %s", picture)
		}
	}
}

// TestAlerts: each alert leads to a paragraph of its own, which says what to do.
func TestAlerts(t *testing.T) {
	s := whole(t)
	rules, err := os.ReadFile(filepath.Join(s.root, "collector/deploy/prometheus/otelgc.rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	if len(alerts) == 0 {
		t.Fatal("there are no alerts")
	}
	for _, a := range alerts {
		anchor := strings.ToLower(a[1])
		if !s.pages["docs/operators.md"].anchors[anchor] {
			t.Errorf("docs/operators.md does not say what to do about %s", a[1])
		}
		if link := "runbook_url: " + repository + "docs/operators.md#" + anchor + "\n"; strings.Count(string(rules), link) != 1 {
			t.Errorf("alert %s does not lead to it: %s", a[1], link)
		}
	}
}

// TestWrite: the site has all pages and pictures, its links lead to files of it, and a
// command that no test runs says why.
func TestWrite(t *testing.T) {
	out := t.TempDir()
	if err := run("../..", out); err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`(?:href|src)="([^"#]+)`)
	for _, p := range whole(t).sorted() {
		text, err := os.ReadFile(filepath.Join(out, file(p.path)))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			to := string(m[1])
			if strings.Contains(to, ":") {
				continue
			}
			if _, err := os.Stat(filepath.Join(out, filepath.Dir(file(p.path)), to)); err != nil {
				t.Errorf("%s: %v", file(p.path), err)
			}
		}
		commands, err := p.commands()
		if err != nil {
			t.Fatal(err)
		}
		var not int
		for _, c := range commands {
			if c.not != "" {
				not++
			}
		}
		if got := strings.Count(string(text), "No test runs this:"); got != not {
			t.Errorf("%s says of %d commands that no test runs them, want %d", file(p.path), got, not)
		}
	}
}
