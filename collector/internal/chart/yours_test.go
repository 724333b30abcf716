package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestYours: the values that docs/start.md has for what is the user's own leave no
// image nor backend of the chart as it is.
func TestYours(t *testing.T) {
	_, text, _ := strings.Cut(read(t, page), "```yaml\n# values.yaml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("docs/start.md has no values.yaml")
	}
	seen := 0
	for _, doc := range render(t, text) {
		if err := validate(doc); err != nil {
			t.Errorf("%v\n%s", err, doc)
		}
		if strings.Contains(string(doc), "registry.example.com") {
			t.Errorf("an image of the chart is left in\n%s", doc)
		}
		seen += strings.Count(string(doc), " image: ")
	}
	if seen != 3 {
		t.Errorf("%d images, want those of the agent, the gateway and the sidecar", seen)
	}
}

// TestPolicies: each is of pods that are there, and its ports have names of theirs;
// who sends to a gateway may.
func TestPolicies(t *testing.T) {
	docs := render(t, asItIs)
	all := workloads(t, docs)
	got := map[string]map[string]string{} // by policy and port
	for _, doc := range docs {
		obj, err := external(doc)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := obj.(*networkingv1.NetworkPolicy)
		if !ok {
			continue
		}
		of := selected(all, p.Namespace, &p.Spec.PodSelector)
		if len(of) != 1 {
			t.Errorf("policy %s is of %d workloads, want one", p.Name, len(of))
			continue
		}
		named := map[string]bool{}
		for _, port := range of[0].pod.Spec.Containers[0].Ports {
			named[port.Name] = true
		}
		got[p.Name] = map[string]string{}
		for _, rule := range p.Spec.Ingress {
			from := "anybody"
			for _, peer := range rule.From {
				from = senders(all, p.Namespace, &peer)
			}
			for _, port := range rule.Ports {
				if got[p.Name][port.Port.StrVal] += from; !named[port.Port.StrVal] {
					t.Errorf("policy %s: %s has no port %s", p.Name, of[0].name, port.Port)
				}
			}
		}
	}
	want := map[string]map[string]string{
		"otelgc-gateway": {"grpc": "otelgc-agent", "metrics": "anybody", "self": "anybody", "health": "anybody"},
		// Who sends to its last port is believed of the machine.
		"otelgc-agent":   {"grpc": "any pod", "http": "any pod", "self": "anybody", "health": "anybody", "sidecar": "otelgc-sidecar"},
		"otelgc-sidecar": {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who may send where (-want +got):\n%s", diff)
	}
}

// senders returns the workload that a peer of a policy is, or "any pod".
func senders(all []workload, namespace string, peer *networkingv1.NetworkPolicyPeer) string {
	if peer.PodSelector == nil && len(peer.NamespaceSelector.MatchLabels) == 0 {
		return "any pod"
	}
	if peer.NamespaceSelector != nil {
		namespace = peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]
	}
	names := ""
	for _, w := range selected(all, namespace, peer.PodSelector) {
		names += w.name
	}
	return names
}

// selected returns the workloads of a namespace whose pods s picks.
func selected(all []workload, namespace string, s *metav1.LabelSelector) (of []workload) {
	for _, w := range all {
		if w.namespace == namespace && labels.SelectorFromSet(s.MatchLabels).Matches(labels.Set(w.pod.Labels)) {
			of = append(of, w)
		}
	}
	return of
}

// TestPriority: everything has the class, which is there and pushes nobody out.
func TestPriority(t *testing.T) {
	docs, class := render(t, withAll), ""
	for _, doc := range docs {
		obj, err := external(doc)
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := obj.(*schedulingv1.PriorityClass); ok {
			if class = c.Name; c.PreemptionPolicy == nil || *c.PreemptionPolicy != "Never" {
				t.Errorf("class %s costs services their place", class)
			}
		}
	}
	for _, w := range workloads(t, docs) {
		if got := w.pod.Spec.PriorityClassName; got != class || got == "" {
			t.Errorf("%s has priority %q, want %q", w.name, got, class)
		}
	}
}

// TestTLS: where nobody chose anything both tiers are told of their certificates, and have
// them where they are told.
func TestTLS(t *testing.T) {
	docs, told := render(t, asItIs), 0
	for _, doc := range docs {
		if s := string(doc); strings.Contains(s, "kind: ConfigMap") {
			told += strings.Count(s, "\n  tls.yaml: ")
		}
	}
	if told != 2 {
		t.Errorf("%d ConfigMaps have tls.yaml, want those of the agents and of the gateways", told)
	}
	for _, w := range workloads(t, docs) {
		if w.name == "otelgc-sidecar" {
			continue
		}
		c, place := w.pod.Spec.Containers[0], ""
		for _, m := range c.VolumeMounts {
			if m.Name == "tls" {
				place = m.MountPath
			}
		}
		file := read(t, chartDir+"config/"+strings.TrimPrefix(w.name, "otelgc-")+"-tls.yaml")
		if n := strings.Count(file, "${env:OTELGC_TLS:-"+place+"}/"); n != 3 || place == "" {
			t.Errorf("%s has its certificates in %q, and reads %d files there, want 3", w.name, place, n)
		}
		if got := strings.Join(c.Args, " "); got != "--config=/etc/otelgc/config.yaml --config=/etc/otelgc/tls.yaml" {
			t.Errorf("%s is started with %s", w.name, got)
		}
	}
}
