package chart

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// collector is what of a Collector's configuration decides whether spans are lost
// with it.
type collector struct {
	Receivers struct {
		OTLP struct {
			Protocols struct {
				GRPC struct {
					Keepalive struct {
						Policy struct {
							MinTime text `json:"min_time"`
						} `json:"enforcement_policy"`
					} `json:"keepalive"`
				} `json:"grpc"`
			} `json:"protocols"`
		} `json:"otlp"`
	} `json:"receivers"`
	Connectors struct {
		Stall struct {
			Wait          text `json:"wait"`
			WaitForResult bool `json:"wait_for_result"`
		} `json:"stall"`
	} `json:"connectors"`
	Exporters map[string]exporter `json:"exporters"`
	Service   struct {
		Extensions []string `json:"extensions"`
		Pipelines  map[string]struct {
			Processors []string `json:"processors"`
			Exporters  []string `json:"exporters"`
		} `json:"pipelines"`
	} `json:"service"`
}

type exporter struct {
	Resolver any  `json:"resolver"`
	Timeout  text `json:"timeout"`
	Queue    struct {
		Storage   string `json:"storage"`
		Sizer     string `json:"sizer"`
		Consumers int    `json:"num_consumers"`
	} `json:"sending_queue"`
	Retry struct {
		MaxElapsed text `json:"max_elapsed_time"`
	} `json:"retry_on_failure"`
	Protocol struct {
		OTLP struct {
			Timeout   text `json:"timeout"`
			Keepalive struct {
				Time text `json:"time"`
			} `json:"keepalive"`
		} `json:"otlp"`
	} `json:"protocol"`
}

// text is a value, maybe the default of a variable.
type text string

func (v text) duration(t *testing.T) time.Duration {
	t.Helper()
	s := string(v)
	if _, after, ok := strings.Cut(s, ":-"); ok {
		s = strings.TrimSuffix(after, "}")
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatalf("%q: %v", v, err)
	}
	return d
}

func configured(t *testing.T, tier string) (c collector) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, chartDir+"config/"+tier+".yaml")), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOrderOfEvents: each exporter of logs of the agent sends one batch at a
// time, or a status would overtake the events before it.
func TestOrderOfEvents(t *testing.T) {
	c := configured(t, "agent")
	logs := slices.Concat(c.Service.Pipelines["logs"].Exporters, c.Service.Pipelines["logs/sidecar"].Exporters)
	if len(logs) != 2 {
		t.Fatalf("exporters of logs %v, want one of services and one of the sidecar", logs)
	}
	for _, name := range logs {
		if e := c.Exporters[name]; e.Queue.Consumers != 1 || e.Queue.Sizer != "bytes" || e.Resolver == nil {
			t.Errorf("exporter %s: got %+v, want num_consumers 1 and the rest as of the others", name, e)
		}
	}
}

// TestNothingOnlyInMemory: whoever answers that he has data has it on disk, and
// tries for ever; nobody in between answers for himself.
func TestNothingOnlyInMemory(t *testing.T) {
	for _, tier := range []string{"agent", "gateway"} {
		c := configured(t, tier)
		sends := 0
		for name, p := range c.Service.Pipelines {
			if slices.Contains(p.Processors, "batch") {
				t.Errorf("%s, pipeline %s: the processor batch answers for itself", tier, name)
			}
			for _, id := range p.Exporters {
				if id == "stall" || id == "prometheus" {
					continue
				}
				sends++
				e := c.Exporters[id]
				if !slices.Contains(c.Service.Extensions, e.Queue.Storage) {
					t.Errorf("%s, exporter %s: its queue is in memory: storage %q of extensions %q", tier, id, e.Queue.Storage, c.Service.Extensions)
				}
				if d := e.Retry.MaxElapsed.duration(t); d != 0 {
					t.Errorf("%s, exporter %s gives up after %v", tier, id, d)
				}
			}
		}
		if sends == 0 {
			t.Errorf("%s sends nothing", tier)
		}
	}
}

// TestAgentsWait for longer than a gateway holds spans, and look after it no more
// often than it allows.
func TestAgentsWait(t *testing.T) {
	agent, gateway := configured(t, "agent"), configured(t, "gateway")
	stall := gateway.Connectors.Stall
	if !stall.WaitForResult {
		t.Error("the gateway answers before it has handed spans on")
	}
	for name, e := range agent.Exporters {
		within, around := e.Protocol.OTLP.Timeout.duration(t), e.Timeout.duration(t)
		if least := stall.Wait.duration(t) * 5 / 4; within != around || within < least {
			t.Errorf("exporter %s: timeout %v, within %v; want the same twice, and at least %v", name, around, within, least)
		}
		looks, allowed := e.Protocol.OTLP.Keepalive.Time.duration(t), gateway.Receivers.OTLP.Protocols.GRPC.Keepalive.Policy.MinTime.duration(t)
		if looks < allowed {
			t.Errorf("exporter %s looks every %v, the gateway hangs up below %v", name, looks, allowed)
		}
	}
}
