package chart

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// objects are the documents by what they are, decoded.
type objects struct {
	workloads []workload
	services  map[string]*corev1.Service // by name.namespace
	configs   map[string]bool            // likewise
}

func decode(t *testing.T, docs [][]byte) objects {
	t.Helper()
	all := objects{workloads(t, docs), map[string]*corev1.Service{}, map[string]bool{}}
	for _, doc := range docs {
		obj, err := external(doc)
		if err != nil {
			t.Fatal(err)
		}
		switch o := obj.(type) {
		case *corev1.Service:
			all.services[o.Name+"."+o.Namespace] = o
		case *corev1.ConfigMap:
			all.configs[o.Name+"."+o.Namespace] = true
		}
	}
	return all
}

// TestPlaces: what one document names of another is there: the pods and ports of
// a service, the ConfigMap of a volume, the service that is an endpoint.
func TestPlaces(t *testing.T) {
	all := decode(t, append(render(t, asItIs), applications(t)...))
	for name, s := range all.services {
		found := false
		for _, w := range all.workloads {
			if w.namespace == s.Namespace && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(w.pod.Labels)) {
				found = true
				checkPorts(t, s, &w)
			}
		}
		if !found {
			t.Errorf("service %s selects no pods", name)
		}
	}
	for _, w := range all.workloads {
		for _, v := range w.pod.Spec.Volumes {
			if v.ConfigMap != nil && !all.configs[v.ConfigMap.Name+"."+w.namespace] {
				t.Errorf("%s: there is no ConfigMap %s", w.name, v.ConfigMap.Name)
			}
		}
		for _, e := range w.pod.Spec.Containers[0].Env {
			if e.Name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
				all.checkEndpoint(t, &w, e.Value)
			}
		}
	}
	agents, gateways := all.services["otelgc-agent.otelgc"], all.services["otelgc-gateway.otelgc"]
	if p := agents.Spec.InternalTrafficPolicy; p == nil || *p != corev1.ServiceInternalTrafficPolicyLocal {
		t.Error("the service of the agents goes to other nodes: they would stamp the wrong boot id")
	}
	if gateways.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Error("the service of the gateways is not headless: agents see one address, and cannot share out")
	}
}

// TestHostName: who exports says host.name of its node, or it would be the name
// of the pod.
func TestHostName(t *testing.T) {
	all := workloads(t, append(render(t, withAll), examples(t, "*/*.yaml")...))
	exporting := 0
	for _, w := range all {
		for _, c := range w.pod.Spec.Containers {
			endpoint, said := environment(&c)
			if endpoint == "" {
				continue
			}
			exporting++
			if !strings.Contains(","+said+",", ",host.name=$(NODE),") {
				t.Errorf("%s: %s exports with OTEL_RESOURCE_ATTRIBUTES=%q, want host.name=$(NODE) in it", w.name, c.Name, said)
			}
		}
	}
	if exporting < 5 {
		t.Errorf("%d containers export, want the sidecar, the two services and the examples", exporting)
	}
}

// environment returns where a container exports to, and its resource attributes
// if NODE in them is the name of its node: what is defined later is not expanded.
func environment(c *corev1.Container) (endpoint, attributes string) {
	node := false
	for _, e := range c.Env {
		switch e.Name {
		case "NODE":
			node = e.ValueFrom != nil && e.ValueFrom.FieldRef != nil && e.ValueFrom.FieldRef.FieldPath == "spec.nodeName"
		case "OTEL_EXPORTER_OTLP_ENDPOINT":
			endpoint = e.Value
		case "OTEL_RESOURCE_ATTRIBUTES":
			if node {
				attributes = e.Value
			}
		}
	}
	return endpoint, attributes
}

// TestExamplesExport: the examples export to a service of the deployment.
func TestExamplesExport(t *testing.T) {
	all := decode(t, render(t, asItIs))
	for _, w := range workloads(t, examples(t, "*/*.yaml")) {
		for _, c := range w.pod.Spec.Containers {
			if endpoint, _ := environment(&c); endpoint != "" {
				all.checkEndpoint(t, &w, endpoint)
			}
		}
	}
}

func checkPorts(t *testing.T, s *corev1.Service, w *workload) {
	t.Helper()
	for _, p := range s.Spec.Ports {
		found := false
		for _, c := range w.pod.Spec.Containers[0].Ports {
			found = found || c.Name == p.TargetPort.StrVal && c.ContainerPort == p.Port
		}
		if !found {
			t.Errorf("service %s: %s has no port %s", s.Name, w.name, p.TargetPort.StrVal)
		}
	}
}

// checkEndpoint: the host is a service, by the name that its pods' DNS has.
func (o *objects) checkEndpoint(t *testing.T, w *workload, endpoint string) {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	host := u.Hostname()
	if !strings.Contains(host, ".") {
		host += "." + w.namespace
	}
	s := o.services[host]
	if s == nil {
		t.Errorf("%s: endpoint %s: there is no service %s", w.name, endpoint, host)
		return
	}
	for _, p := range s.Spec.Ports {
		if u.Port() == fmt.Sprint(p.Port) && (p.Name == "sidecar") == (w.name == "otelgc-sidecar") {
			return
		}
	}
	t.Errorf("%s: endpoint %s: service %s has no such port for it", w.name, endpoint, host)
}

// TestStorage: what OTELGC_STORAGE names is a volume that outlives the container,
// and of a gateway the pod.
func TestStorage(t *testing.T) {
	claimed := map[string]bool{}
	for _, doc := range render(t, asItIs) {
		obj, err := external(doc)
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := obj.(*appsv1.StatefulSet); ok {
			for _, c := range s.Spec.VolumeClaimTemplates {
				claimed[s.Name+" "+c.Name] = true
			}
		}
	}
	for _, w := range workloads(t, render(t, asItIs)) {
		c := w.pod.Spec.Containers[0]
		i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "OTELGC_STORAGE" })
		if i < 0 {
			if strings.HasPrefix(w.name, "otelgc-agent") || strings.HasPrefix(w.name, "otelgc-gateway") {
				t.Errorf("%s has no OTELGC_STORAGE", w.name)
			}
			continue
		}
		k := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == c.Env[i].Value && !m.ReadOnly })
		if k < 0 {
			t.Errorf("%s: %s is no volume", w.name, c.Env[i].Value)
			continue
		}
		if name := c.VolumeMounts[k].Name; w.name == "otelgc-gateway" && !claimed[w.name+" "+name] {
			t.Errorf("%s: volume %s dies with the pod", w.name, name)
		}
	}
}
