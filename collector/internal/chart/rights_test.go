package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// workload is what has pods.
type workload struct {
	name, namespace string
	pod             corev1.PodTemplateSpec
}

// workloads returns those among documents, decoded.
func workloads(t *testing.T, docs [][]byte) (all []workload) {
	t.Helper()
	for _, doc := range docs {
		obj, err := external(doc)
		if err != nil {
			t.Fatal(err)
		}
		switch o := obj.(type) {
		case *appsv1.DaemonSet:
			all = append(all, workload{o.Name, o.Namespace, o.Spec.Template})
		case *appsv1.StatefulSet:
			all = append(all, workload{o.Name, o.Namespace, o.Spec.Template})
		case *appsv1.Deployment:
			all = append(all, workload{o.Name, o.Namespace, o.Spec.Template})
		}
	}
	return all
}

// TestRights pins what each workload asks for beyond the level restricted of Pod
// Security, so that no right comes to them unseen.
func TestRights(t *testing.T) {
	restricted, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const (
		board  = `restricted volume types: volume "board" uses restricted volume type "hostPath"`
		root1  = `runAsNonRoot != true: pod or container "otelgc" must set securityContext.runAsNonRoot=true`
		root2  = `runAsUser=0: container "otelgc" must not set runAsUser=0`
		other  = `host namespaces: hostPID=true`
		traced = `restricted volume types: volume "tracefs" uses restricted volume type "hostPath"`
		both   = `restricted volume types: volumes "board", "tracefs" use restricted volume type "hostPath"`
	)
	caps := func(names ...string) string {
		return `unrestricted capabilities: container "otelgc" must not include "` + strings.Join(names, `", "`) + `" in securityContext.capabilities.add`
	}
	want := map[string]map[string][]string{
		asItIs:    {"otelgc-agent": nil, "otelgc-gateway": nil, "otelgc-sidecar": nil},
		plaintext: {"otelgc-agent": nil, "otelgc-gateway": nil, "otelgc-sidecar": nil},
		spin:      {"otelgc-agent": nil, "otelgc-gateway": nil, "otelgc-sidecar": {traced, root1, root2, caps("PERFMON")}},
		dotnet:    {"otelgc-agent": nil, "otelgc-gateway": nil, "otelgc-sidecar": {other, root1, root2, caps("DAC_OVERRIDE", "SYS_PTRACE")}},
		goDoor:    {"otelgc-agent": nil, "otelgc-gateway": nil, "otelgc-sidecar": {other, root1, root2, caps("BPF", "DAC_READ_SEARCH", "PERFMON", "SYS_PTRACE")}},
		withAll:   {"otelgc-agent": nil, "otelgc-gateway": nil, "otelgc-sidecar": {other, both, root1, root2, caps("BPF", "DAC_OVERRIDE", "DAC_READ_SEARCH", "PERFMON", "SYS_PTRACE")}},
		withBoard: {"otelgc-agent": nil, "otelgc-gateway": nil, "otelgc-sidecar": {board, root1, root2}},
		noSidecar: {"otelgc-agent": nil, "otelgc-gateway": nil},
	}
	got := map[string]map[string][]string{}
	for values := range want {
		got[values] = map[string][]string{}
		for _, w := range workloads(t, render(t, values)) {
			got[values][w.name] = beyond(restricted, w)
		}
	}
	const services = "examples/kubernetes"
	want[services] = map[string][]string{"orders": nil, "carts": nil, "invoices": nil}
	got[services] = map[string][]string{}
	for _, w := range workloads(t, applications(t)) {
		got[services][w.name] = beyond(restricted, w)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rights beyond restricted (-want +got):\n%s", diff)
	}
}

// TestSpinHasItsCPU: a probe that spins asks for all of one, and has no limit.
func TestSpinHasItsCPU(t *testing.T) {
	for _, w := range workloads(t, render(t, withAll)) {
		if w.name != "otelgc-sidecar" {
			continue
		}
		r := w.pod.Spec.Containers[0].Resources
		if got := r.Requests.Cpu().String(); got != "1" || !r.Limits.Cpu().IsZero() {
			t.Errorf("requests CPU %s, limit %s; want 1 and none", got, r.Limits.Cpu())
		}
	}
}

func beyond(e policy.Evaluator, w workload) (all []string) {
	at := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, r := range e.EvaluatePod(at, &metav1.ObjectMeta{Name: w.name}, &w.pod.Spec) {
		if !r.Allowed {
			all = append(all, r.ForbiddenReason+": "+r.ForbiddenDetail)
		}
	}
	slices.Sort(all)
	return all
}
