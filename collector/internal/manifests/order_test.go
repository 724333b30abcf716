package manifests

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestOrderOfEvents: each exporter of logs of the agent sends one batch at a
// time, or a status would overtake the events before it.
func TestOrderOfEvents(t *testing.T) {
	text, err := os.ReadFile(deploy + "agent/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Exporters map[string]struct {
			Resolver any `json:"resolver"`
			Queue    struct {
				Sizer     string `json:"sizer"`
				Consumers int    `json:"num_consumers"`
			} `json:"sending_queue"`
		} `json:"exporters"`
		Service struct {
			Pipelines map[string]struct {
				Exporters []string `json:"exporters"`
			} `json:"pipelines"`
		} `json:"service"`
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	logs := c.Service.Pipelines["logs"].Exporters
	if len(logs) == 0 {
		t.Fatal("no exporter of logs")
	}
	for _, name := range logs {
		if e := c.Exporters[name]; e.Queue.Consumers != 1 || e.Queue.Sizer != "bytes" || e.Resolver == nil {
			t.Errorf("exporter %s: got %+v, want num_consumers 1 and the rest as of the others", name, e)
		}
	}
}
