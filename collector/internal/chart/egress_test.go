package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestPoliciesHold: a policy says nothing of a pod in the network of its node.
func TestPoliciesHold(t *testing.T) {
	for _, values := range all {
		for _, w := range workloads(t, render(t, values)) {
			if w.pod.Spec.HostNetwork {
				t.Errorf("%s: %s has the network of its node", values, w.name)
			}
		}
	}
}

// TestEgressOfTheSidecar: it reaches the agents, on the port that it exports to, the
// cluster's DNS, and nothing else; nobody reaches it.
func TestEgressOfTheSidecar(t *testing.T) {
	docs := render(t, withAll)
	var to []string
	policies := 0
	for _, doc := range docs {
		obj, err := external(doc)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := obj.(*networkingv1.NetworkPolicy)
		if !ok || p.Namespace != "otelgc-sidecar" {
			continue
		}
		policies++
		if !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) || len(p.Spec.Ingress) > 0 {
			t.Errorf("policy %s lets somebody in", p.Name)
		}
		if !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
			t.Errorf("policy %s does not limit what goes out", p.Name)
		}
		for _, r := range p.Spec.Egress {
			to = append(to, peers(t, r)...)
		}
	}
	if policies != 1 {
		t.Errorf("%d policies of the sidecar, want one", policies)
	}
	want := []string{
		"otelgc app=otelgc-agent " + exportsTo(t, decode(t, docs)),
		"kube-system k8s-app=kube-dns 53/UDP", "kube-system k8s-app=kube-dns 53/TCP",
	}
	if diff := cmp.Diff(want, to); diff != "" {
		t.Errorf("the sidecar reaches (-want +got):\n%s", diff)
	}
}

// peers returns what a rule lets out to: namespace, pods and port of each. A rule
// without a peer or a port lets out to all.
func peers(t *testing.T, r networkingv1.NetworkPolicyEgressRule) (all []string) {
	t.Helper()
	if len(r.To) == 0 || len(r.Ports) == 0 {
		t.Errorf("a rule has %d peers and %d ports", len(r.To), len(r.Ports))
	}
	for _, peer := range r.To {
		if peer.IPBlock != nil || peer.NamespaceSelector == nil || peer.PodSelector == nil {
			t.Errorf("a rule has a peer that is no pods of a namespace: %v", peer)
			continue
		}
		for _, port := range r.Ports {
			to := peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]
			for k, v := range peer.PodSelector.MatchLabels {
				to += " " + k + "=" + v
			}
			to += " " + port.Port.String()
			if port.Protocol != nil && port.Port.IntValue() > 0 {
				to += "/" + string(*port.Protocol)
			}
			all = append(all, to)
		}
	}
	return all
}

// exportsTo returns the name that the agents' pods have for the port that the sidecar
// exports to.
func exportsTo(t *testing.T, all objects) string {
	t.Helper()
	for _, w := range all.workloads {
		if w.name != "otelgc-sidecar" {
			continue
		}
		endpoint, _ := environment(&w.pod.Spec.Containers[0])
		host, port, _ := strings.Cut(strings.TrimPrefix(endpoint, "http://"), ":")
		s := all.services[host]
		if s == nil {
			t.Fatalf("the sidecar exports to %q, which is no service", endpoint)
		}
		for _, p := range s.Spec.Ports {
			if port == p.TargetPort.String() || port == fmt.Sprint(p.Port) {
				return p.TargetPort.String()
			}
		}
	}
	t.Fatal("the sidecar exports to no port of the agents")
	return ""
}
