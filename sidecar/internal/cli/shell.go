package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// printCompletion prints what has a shell complete commands and flags.
func printCompletion(w io.Writer, args []string) error {
	shell := strings.Join(args, " ")
	switch shell {
	case "bash":
		return completeBash(w)
	case "zsh":
		return completeZsh(w)
	case "fish":
		return completeFish(w)
	}
	return wrong("completion: shell %q: want bash, zsh or fish", shell)
}

// allFlags returns the flags of c, in the order of their names.
func (c *command) allFlags() (all []*flag.Flag) {
	set := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.defineFlags(set)
	set.VisitAll(func(f *flag.Flag) { all = append(all, f) })
	return all
}

// flagNames returns the names of the flags of c, as they are written.
func (c *command) flagNames() (names []string) {
	for _, f := range c.allFlags() {
		names = append(names, "--"+f.Name)
	}
	return names
}

// isSwitch reports whether a flag is given without a value.
func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// entry is a command as a list shows it.
type entry struct{ name, summary string }

// entries returns all commands, and last those that say how to use the others.
func entries() (all []entry) {
	for _, c := range commands {
		all = append(all, entry{c.name, c.summary})
	}
	return append(all,
		entry{"help", "print the flags of a command"},
		entry{"completion", "print what completes commands and flags in bash, zsh or fish"},
		entry{"man", "print the manual page"})
}

func completeBash(w io.Writer) error {
	var b strings.Builder
	var names []string
	for _, e := range entries() {
		names = append(names, e.name)
	}
	fmt.Fprintf(&b, `# bash completion for otelgc-sidecar
_otelgc_sidecar() {
	local cur=${COMP_WORDS[COMP_CWORD]} words='%s'
	[ "$COMP_CWORD" -eq 1 ] || case ${COMP_WORDS[1]} in
	help) ;;
	completion) words='bash zsh fish' ;;
	*) words= ;;&
`, strings.Join(names, " "))
	for _, c := range commands {
		fmt.Fprintf(&b, "	%s) words='%s' ;;\n", c.name, strings.Join(c.flagNames(), " "))
	}
	b.WriteString(`	esac
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _otelgc_sidecar otelgc-sidecar
`)
	_, err := io.WriteString(w, b.String())
	return err
}

func completeZsh(w io.Writer) error {
	quote := strings.NewReplacer("'", `'\''`, ":", `\:`, "[", `\[`, "]", `\]`)
	var b strings.Builder
	b.WriteString("#compdef otelgc-sidecar\n\n_otelgc_sidecar() {\n\tlocal -a commands=(\n")
	for _, e := range entries() {
		fmt.Fprintf(&b, "\t\t'%s:%s'\n", e.name, quote.Replace(e.summary))
	}
	b.WriteString(`	)
	if (( CURRENT == 2 )); then
		_describe command commands
		return
	fi
	local command=$words[2]
	shift words
	(( CURRENT-- ))
	case $command in
	help) _describe command commands ;;
	completion) _values shell bash zsh fish ;;
`)
	for _, c := range commands {
		fmt.Fprintf(&b, "\t%s) _arguments", c.name)
		for _, f := range c.allFlags() {
			what, value := firstSentence(f), ":value:_default"
			if isSwitch(f) {
				value = ""
			}
			fmt.Fprintf(&b, " \\\n\t\t'--%s[%s]%s'", f.Name, quote.Replace(what), value)
		}
		b.WriteString(" \\\n\t\t'*:file:_files' ;;\n")
	}
	b.WriteString("\tesac\n}\n\n_otelgc_sidecar \"$@\"\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func completeFish(w io.Writer) error {
	quote := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	var b strings.Builder
	b.WriteString("# fish completion for otelgc-sidecar\n")
	for _, e := range entries() {
		fmt.Fprintf(&b, "complete -c otelgc-sidecar -f -n __fish_use_subcommand -a %s -d '%s'\n", e.name, quote.Replace(e.summary))
	}
	b.WriteString("complete -c otelgc-sidecar -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n")
	for _, c := range commands {
		for _, f := range c.allFlags() {
			value := " -r"
			if isSwitch(f) {
				value = ""
			}
			fmt.Fprintf(&b, "complete -c otelgc-sidecar -n '__fish_seen_subcommand_from %s' -l %s%s -d '%s'\n",
				c.name, f.Name, value, quote.Replace(firstSentence(f)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// firstSentence returns the usage of a flag up to what explains it, in one line.
func firstSentence(f *flag.Flag) string {
	_, usage := flag.UnquoteUsage(f)
	usage = strings.Join(strings.Fields(usage), " ")
	for _, end := range []string{": ", "; ", ". "} {
		usage, _, _ = strings.Cut(usage, end)
	}
	return usage
}

// printManual prints the manual page, in the macros of man(7).
func printManual(w io.Writer) error {
	plain := strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ")
	var b strings.Builder
	fmt.Fprintf(&b, ".TH OTELGC\\-SIDECAR 1 \"\" \"otelgc %s\"\n.SH NAME\notelgc\\-sidecar \\- watch the machine next to a service\n.SH SYNOPSIS\n", plain.Replace(version()))
	for _, c := range commands {
		fmt.Fprintf(&b, ".B otelgc\\-sidecar %s\n[flags]%s\n.br\n", c.name, c.operands)
	}
	b.WriteString(".SH COMMANDS\n")
	for _, c := range commands {
		fmt.Fprintf(&b, ".SS %s\n%s.\n", c.name, plain.Replace(c.summary))
		for _, f := range c.allFlags() {
			kind, usage := flag.UnquoteUsage(f)
			fmt.Fprintf(&b, ".TP\n.B \\-\\-%s", plain.Replace(f.Name))
			if kind != "" {
				fmt.Fprintf(&b, " \\fI%s\\fR", plain.Replace(kind))
			}
			fmt.Fprintf(&b, "\n\\&%s", plain.Replace(usage))
			if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "-1" && d != "0s" {
				fmt.Fprintf(&b, " (default %s)", plain.Replace(d))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString(`.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
failed
.TP
.B 2
wrong arguments
.TP
.B 3
the numbers cannot be believed
.SH ENVIRONMENT
.TP
.B OTEL_*
exporters, resource and intervals, as the specification of OpenTelemetry has them
.TP
.B OTELGC_BOARD
the file through which services learn of gaps
.TP
.B NO_COLOR
print without colour
`)
	_, err := io.WriteString(w, b.String())
	return err
}
