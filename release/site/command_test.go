package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

func TestCommandOf(t *testing.T) {
	for _, test := range []struct {
		info string
		want *command
		err  string
	}{
		{"sh", &command{}, ""},
		{"text", nil, ""},
		{`sh until="listening"`, &command{until: "listening"}, ""},
		{`sh prints='"\d+" gaps'`, &command{prints: `"\d+" gaps`}, ""},
		{`sh not="it is yours" instead="dotnet"`, &command{not: "it is yours", instead: "dotnet"}, ""},
		{`sh until="listening" prints="gaps"`, nil, `block of shell:  until="listening" prints="gaps": want prints or until or not, and instead beside not`},
		{`sh instead="dotnet"`, nil, `block of shell:  instead="dotnet": want prints or until or not, and instead beside not`},
		{`sh not=""`, nil, `block of shell: not is empty`},
		{`sh prints="("`, nil, "block of shell: prints: error parsing regexp: missing closing ): `(`"},
		{`sh when="now"`, nil, "block of shell: when: want prints, until, not or instead"},
		{`sh not=reason`, nil, `block of shell: " not=reason": want NAME="VALUE"`},
	} {
		source := []byte("```" + test.info + "\necho\n```\n")
		doc := markdown.Parser().Parse(text.NewReader(source))
		got, err := commandOf(doc.FirstChild().(*ast.FencedCodeBlock), source)
		if test.want != nil {
			test.want.text = "echo\n"
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(command{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.info, diff)
		}
		var said string
		if err != nil {
			said = err.Error()
		}
		if said != test.err {
			t.Errorf("%s: error %q, want %q", test.info, said, test.err)
		}
	}
}
