package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// home is the page that leads to all others.
const home = "README.md"

// contents are the pages that each page leads to.
var contents = []struct{ path, title string }{
	{home, "otelgc"},
	{"docs/start.md", "Start in a minute"},
	{"docs/answer.md", "How to read the answer"},
	{"docs/accuracy.md", "Can I believe it"},
	{"docs/reference.md", "Reference"},
	{"docs/operators.md", "For operators"},
	{"docs/architecture.md", "For maintainers"},
}

// repository is where what is no page is looked at.
const repository = "https://github.com/otelgc/otelgc/blob/main/"

// site is the pages, by their path in the repository, and the paths of their pictures.
type site struct {
	root     string
	pages    map[string]*page
	pictures map[string]bool
}

// page is a file of Markdown.
type page struct {
	path    string
	source  []byte
	doc     ast.Node
	anchors map[string]bool
	links   []string // of the repository, with their fragments, pictures too
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))))

// read reads the pages of the contents, and all that they lead to.
func read(root string) (*site, error) {
	s := &site{root: root, pages: make(map[string]*page), pictures: make(map[string]bool)}
	var wanted []string
	from := make(map[string]string) // the page that leads to one
	for _, c := range contents {
		wanted = append(wanted, c.path)
	}
	for len(wanted) > 0 {
		at := wanted[0]
		wanted = wanted[1:]
		if s.pages[at] != nil {
			continue
		}
		p, err := s.readPage(at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cmp.Or(from[at], "contents"), err)
		}
		for _, link := range p.links {
			to, _, _ := strings.Cut(link, "#")
			switch path.Ext(to) {
			case ".md":
				wanted, from[to] = append(wanted, to), at
			case ".png":
				s.pictures[to] = true
			}
		}
		s.pages[at] = p
	}
	return s, nil
}

func (s *site) readPage(at string) (*page, error) {
	source, err := os.ReadFile(filepath.Join(s.root, at))
	if err != nil {
		return nil, err
	}
	p := &page{path: at, source: source, anchors: make(map[string]bool)}
	p.doc = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(ids(p.anchors)))))
	return p, ast.Walk(p.doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			if to, ok := p.resolve(string(n.Destination)); ok {
				p.links = append(p.links, to)
			}
		case *ast.Image:
			if to, ok := p.resolve(string(n.Destination)); ok {
				p.links = append(p.links, to)
			}
		}
		return ast.WalkContinue, nil
	})
}

// resolve returns what a link leads to in the repository, with its fragment.
func (p *page) resolve(link string) (to string, ok bool) {
	if rest, ours := strings.CutPrefix(link, repository); ours {
		return rest, true
	}
	u, err := url.Parse(link)
	if err != nil || u.IsAbs() {
		return "", false
	}
	to = p.path
	if u.Path != "" {
		to = path.Join(path.Dir(p.path), u.Path)
	}
	if u.Fragment != "" {
		to += "#" + u.Fragment
	}
	return to, true
}

// ids names headings as GitHub does.
type ids map[string]bool

// Generate implements [parser.IDs].
func (i ids) Generate(heading []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(heading)))
	id := name
	for n := 1; i[id]; n++ {
		id = fmt.Sprintf("%s-%d", name, n)
	}
	i[id] = true
	return []byte(id)
}

// Put implements [parser.IDs].
func (i ids) Put(id []byte) { i[string(id)] = true }

// title returns the text of the first heading.
func (p *page) title() string {
	for n := p.doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			return string(h.Lines().Value(p.source))
		}
	}
	return p.path
}

// sorted returns the pages in the order of their paths.
func (s *site) sorted() (all []*page) {
	for _, at := range slices.Sorted(maps.Keys(s.pages)) {
		all = append(all, s.pages[at])
	}
	return all
}
