package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// command is a block of shell of a page. What follows "sh" in its first line says how a
// test runs it:
//
//	sh                     it ends within minutes, with exit code 0
//	sh prints="REGEXP"     and it prints this
//	sh until="TEXT"        it goes on until its section ends; what follows waits until
//	                       it has printed this
//	sh not="REASON"        no test runs it
//	sh instead="NAME"      beside not: a test runs another program in its place, and
//	                       lets it go on
type command struct {
	page                        string
	line                        int
	level                       int // of the heading that it is under
	text                        string
	prints, until, not, instead string
}

var setting = regexp.MustCompile(`^ +([a-z]+)=(?:"([^"]*)"|'([^']*)')`)

// commandOf returns the command of a block, nil if it is none.
func commandOf(n *ast.FencedCodeBlock, source []byte) (*command, error) {
	if n.Info == nil || string(n.Language(source)) != "sh" {
		return nil, nil
	}
	c := &command{text: string(n.Lines().Value(source))}
	settings := strings.TrimPrefix(string(n.Info.Value(source)), "sh")
	rest := settings
	for strings.TrimSpace(rest) != "" {
		m := setting.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("block of shell: %q: want NAME=\"VALUE\"", rest)
		}
		to := map[string]*string{"prints": &c.prints, "until": &c.until, "not": &c.not, "instead": &c.instead}[m[1]]
		if to == nil {
			return nil, fmt.Errorf("block of shell: %s: want prints, until, not or instead", m[1])
		}
		if *to = m[2] + m[3]; *to == "" {
			return nil, fmt.Errorf("block of shell: %s is empty", m[1])
		}
		rest = rest[len(m[0]):]
	}
	if c.until != "" && c.prints != "" || c.not != "" && c.until+c.prints != "" || c.instead != "" && c.not == "" {
		return nil, fmt.Errorf("block of shell: %s: want prints or until or not, and instead beside not", settings)
	}
	if n.Parent() != nil && n.Parent().Kind() != ast.KindDocument {
		return nil, errors.New("block of shell: it is within a list or a quotation, where no test finds it")
	}
	if _, err := regexp.Compile(c.prints); err != nil {
		return nil, fmt.Errorf("block of shell: prints: %w", err)
	}
	return c, nil
}

// commands returns the commands of a page, in their order.
func (p *page) commands() (all []command, err error) {
	level := 0
	for n := p.doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			level = n.Level
			all = append(all, command{level: level}) // ends what goes on under a deeper one
		case *ast.FencedCodeBlock:
			c, err := commandOf(n, p.source)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.path, err)
			}
			if c != nil {
				c.page, c.level = p.path, level
				c.line = 1 + strings.Count(string(p.source[:n.Lines().At(0).Start]), "\n")
				all = append(all, *c)
			}
		}
	}
	return all, nil
}
