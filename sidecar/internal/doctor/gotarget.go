package doctor

import (
	"fmt"
	"strings"

	"github.com/otelgc/otelgc/internal/goprocess"
)

// targetGo judges what a Go target was started with.
func (m *machine) targetGo() []Check {
	if m.target == 0 {
		return nil
	}
	c := about("target.go", m.targetFile("exe"))
	p, err := goprocess.Read(m.FS, m.target)
	if err != nil {
		return []Check{c.none(why(err))}
	}
	if p.EnvErr != nil {
		return []Check{c.none(fmt.Sprintf("%s, but its environment: %s", p.Version, why(p.EnvErr)))}
	}
	value := p.Version
	if p.Experiment != "" {
		value += " GOEXPERIMENT=" + fmt.Sprintf("%.60s", p.Experiment)
	}
	var set []string
	for _, name := range goprocess.Variables {
		if v, ok := p.Env[name]; ok {
			set = append(set, fmt.Sprintf("%s=%.60s", name, v))
		}
	}
	if len(set) > 0 {
		value += ", " + strings.Join(set, " ")
	}
	return []Check{c.info(value, ""), m.maxProcs(p)}
}
