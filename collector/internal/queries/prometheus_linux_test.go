package queries

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// prometheus is a server that scrapes a site and evaluates the rules.
type prometheus struct {
	*process
	url string
}

const scrapes = `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: otelgc
    honor_labels: true
    static_configs: [{targets: [%q, %q]}]
`

func (s *site) prometheus(t *testing.T) *prometheus {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("no prometheus: install Debian's prometheus")
	}
	rules, err := filepath.Abs(rules)
	if err != nil {
		t.Fatal(err)
	}
	dir, address := t.TempDir(), addresses(t, 1)[0]
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, scrapes, rules, s.page, s.self), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &prometheus{url: "http://" + address}
	p.process = start(t, nil, path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--enable-feature=exemplar-storage")
	eventually(t, "health of Prometheus", func() error { _, err := get(p.url + "/-/ready"); return err }, p.process)
	return p
}

// sample is one series of an answer.
type sample struct {
	Metric map[string]string
	Value  [2]any
}

func (s *sample) number() float64 {
	text, _ := s.Value[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// query returns what an expression is now. Samples that are no number are left
// out: they are a share of nothing.
func (p *prometheus) query(expr string) ([]sample, error) {
	var answer struct {
		Data struct{ Result []sample }
	}
	if err := p.get("/api/v1/query?query="+url.QueryEscape(expr), &answer); err != nil {
		return nil, err
	}
	var numbers []sample
	for _, s := range answer.Data.Result {
		if !math.IsNaN(s.number()) {
			numbers = append(numbers, s)
		}
	}
	return numbers, nil
}

func (p *prometheus) get(path string, answer any) error {
	text, err := get(p.url + path)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), answer)
}

// rule is one rule as Prometheus runs it.
type rule struct {
	Name, Query, Type, Health, LastError string
}

// rules returns all rules once each has been evaluated without an error.
func (p *prometheus) rules() ([]rule, error) {
	var answer struct {
		Data struct{ Groups []struct{ Rules []rule } }
	}
	if err := p.get("/api/v1/rules", &answer); err != nil {
		return nil, err
	}
	var all []rule
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				return nil, fmt.Errorf("rule %s: %s %s", r.Name, r.Health, r.LastError)
			}
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no rules")
	}
	return all, nil
}
