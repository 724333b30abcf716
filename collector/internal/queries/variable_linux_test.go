package queries

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// variable is one of the dashboard that Prometheus fills.
type variable struct{ Name, Type, Query string }

// labelValues is the one kind of query of a variable that is used here.
var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// variables returns those of the dashboard that are queries.
func variables(t *testing.T) (all []variable) {
	t.Helper()
	text, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Templating struct{ List []variable }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		t.Fatal("the dashboard has no variable that is a query")
	}
	return all
}

// values asks what Grafana's Prometheus data source asks for label_values(SERIES,
// LABEL): the values that the label has on the series.
func (p *prometheus) values(query string) ([]string, error) {
	m := labelValues.FindStringSubmatch(query)
	if m == nil {
		return nil, fmt.Errorf("%s: want label_values(SERIES, LABEL)", query)
	}
	var answer struct{ Data []string }
	err := p.get("/api/v1/label/"+m[2]+"/values?match[]="+url.QueryEscape(m[1]), &answer)
	return answer.Data, err
}

// checkVariables: each variable offers every service. Each query that it narrows
// has data of one of them, and none of one that is not there.
func (p *prometheus) checkVariables(t *testing.T, services ...string) error {
	t.Helper()
	for _, v := range variables(t) {
		got, err := p.values(v.Query)
		if err != nil {
			return err
		}
		for _, want := range services {
			if !slices.Contains(got, want) {
				return fmt.Errorf("variable %s offers %q, want %s among them", v.Name, got, want)
			}
		}
		of := map[string]int{} // how many of the services have data, by query
		for _, s := range append(services, nobody) {
			for _, q := range targetsOf(t, v.Name, s) {
				if !strings.Contains(q.raw, "$"+v.Name) {
					continue
				}
				found, err := p.query(q.expr)
				if err != nil {
					return err
				}
				if s == nobody && len(found) > 0 {
					return fmt.Errorf("%s: %d series of a service that is not there", q.panel, len(found))
				}
				of[q.raw] += len(found)
			}
		}
		if len(of) == 0 {
			return fmt.Errorf("variable %s narrows no query", v.Name)
		}
		for raw, n := range of {
			if n == 0 {
				return fmt.Errorf("none of %q has data of %s", services, raw)
			}
		}
	}
	return nil
}

const nobody = "nobody"
