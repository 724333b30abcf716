package chart

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// inMemory is how many times their size batches on their way take: decoded, and
// once more as they are split among gateways.
const inMemory = 9

// TestAgentHasRoom: what an agent has on its way while a gateway does not answer
// is less than that at which it refuses services: its disk is to fill first. The
// garbage goes before anybody is refused, and he who refuses is not killed.
func TestAgentHasRoom(t *testing.T) {
	var c struct {
		Processors struct {
			Limiter struct {
				Limit int64 `json:"limit_mib"`
				Spike int64 `json:"spike_limit_mib"`
			} `json:"memory_limiter"`
		} `json:"processors"`
		Exporters map[string]struct {
			Queue struct {
				Consumers int64 `json:"num_consumers"`
				Batch     struct {
					Least int64 `json:"min_size"`
				} `json:"batch"`
			} `json:"sending_queue"`
		} `json:"exporters"`
	}
	if err := yaml.Unmarshal([]byte(read(t, chartDir+"config/agent.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	var onTheWay int64
	for _, e := range c.Exporters {
		onTheWay += e.Queue.Consumers * e.Queue.Batch.Least * inMemory
	}
	limit, spike := c.Processors.Limiter.Limit<<20, c.Processors.Limiter.Spike<<20
	if onTheWay == 0 || onTheWay > limit-spike {
		t.Errorf("%d bytes are on their way at once, services are refused from %d on", onTheWay, limit-spike)
	}
	for _, w := range workloads(t, render(t, asItIs)) {
		if w.name != "otelgc-agent" {
			continue
		}
		container := w.pod.Spec.Containers[0]
		var collects int64
		for _, e := range container.Env {
			if e.Name == "GOMEMLIMIT" {
				q := resource.MustParse(strings.TrimSuffix(e.Value, "B"))
				collects = q.Value()
			}
		}
		if killed := container.Resources.Limits.Memory().Value(); collects < limit-spike || collects >= limit || killed < limit+limit/8 {
			t.Errorf("refuses from %d on, GOMEMLIMIT %d, limit %d, of the pod %d: want them in this order, the last with an eighth to spare",
				limit-spike, collects, limit, killed)
		}
		return
	}
	t.Error("there is no otelgc-agent")
}
