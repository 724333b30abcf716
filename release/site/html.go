package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	gohtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

//go:embed site.css
var style []byte

// file returns where in the site a page is.
func file(at string) string {
	if at == home {
		return "index.html"
	}
	return strings.TrimSuffix(at, ".md") + ".html"
}

// write writes the site to a directory in place of an older site there. It refuses a
// directory that holds something else.
func (s *site) write(out string) error {
	if err := empty(out); err != nil {
		return err
	}
	put := func(name string, data []byte) error {
		name = filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, data, 0o644)
	}
	if err := put("site.css", style); err != nil {
		return err
	}
	for picture := range s.pictures {
		data, err := os.ReadFile(filepath.Join(s.root, picture))
		if err != nil {
			return err
		}
		if err := put(picture, data); err != nil {
			return err
		}
	}
	for _, p := range s.sorted() {
		text, err := s.html(p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		if err := put(file(p.path), text); err != nil {
			return err
		}
	}
	return nil
}

// empty removes a site that was written before.
func empty(out string) error {
	names, err := os.ReadDir(out)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil
	} else if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(out, "site.css")); err != nil {
		return fmt.Errorf("write site: %s holds something else", out)
	}
	return os.RemoveAll(out)
}

// html returns a page as HTML.
func (s *site) html(p *page) ([]byte, error) {
	if err := s.lead(p); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	up := strings.Repeat("../", strings.Count(p.path, "/"))
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%s</title>
<link rel="stylesheet" href="%ssite.css"></head><body>
<nav aria-label="Pages"><ul>
`, html.EscapeString(p.title()), up)
	for _, c := range contents {
		here := ""
		if c.path == p.path {
			here = ` aria-current="page"`
		}
		fmt.Fprintf(&b, "<li><a href=\"%s%s\"%s>%s</a></li>\n", up, file(c.path), here, c.title)
	}
	b.WriteString("</ul></nav>\n<main>\n")
	err := markdown.Renderer().Render(&b, p.source, p.doc)
	b.WriteString("</main></body></html>\n")
	return b.Bytes(), err
}

// lead points the links of a page to pages of the site, and all others to the repository.
func (s *site) lead(p *page) error {
	up := strings.Repeat("../", strings.Count(p.path, "/"))
	return ast.Walk(p.doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		link, ok := n.(*ast.Link)
		if !enter || !ok {
			return ast.WalkContinue, nil
		}
		to, ours := p.resolve(string(link.Destination))
		if !ours {
			return ast.WalkContinue, nil
		}
		at, fragment, found := strings.Cut(to, "#")
		if s.pages[at] == nil {
			link.Destination = []byte(repository + path.Clean(to))
			return ast.WalkContinue, nil
		}
		to = up + file(at)
		if found {
			to += "#" + fragment
		}
		link.Destination = []byte(to)
		return ast.WalkContinue, nil
	})
}

// blocks writes blocks of code, with why no test runs one.
type blocks struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, node ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		n := node.(*ast.FencedCodeBlock)
		// With a tabindex the keyboard can scroll it.
		_, _ = w.WriteString(`<pre tabindex="0"><code>`)
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			gohtml.DefaultWriter.RawWrite(w, line.Value(source))
		}
		_, _ = w.WriteString("</code></pre>\n")
		c, err := commandOf(n, source)
		if err == nil && c != nil && c.not != "" {
			_, _ = fmt.Fprintf(w, "<p class=\"not\">No test runs this: %s.</p>\n", html.EscapeString(c.not))
		}
		return ast.WalkContinue, err
	})
}
