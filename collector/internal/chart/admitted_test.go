package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// levels returns what each namespace among documents enforces.
func levels(t *testing.T, docs [][]byte) map[string]api.LevelVersion {
	t.Helper()
	of := map[string]api.LevelVersion{}
	for _, doc := range docs {
		obj, err := external(doc)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := obj.(*corev1.Namespace); ok {
			p, errs := api.PolicyToEvaluate(n.Labels, api.Policy{})
			if len(errs) > 0 {
				t.Fatalf("namespace %s: %v", n.Name, errs.ToAggregate())
			}
			of[n.Name] = p.Enforce
		}
	}
	return of
}

// TestAdmitted: Pod Security admits each pod to its namespace: that of the release is
// made by the user, restricted as docs/start.md has it, and the sidecar's by the chart,
// which asks for more only where the sidecar needs more.
func TestAdmitted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(read(t, page), "kubectl label namespace otelgc pod-security.kubernetes.io/enforce=restricted") {
		t.Error("docs/start.md does not restrict the namespace of the release")
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, values := range all {
		docs := render(t, values)
		enforced := levels(t, docs)
		if n := len(enforced); n > 1 || (n == 0) != (values == noSidecar) {
			t.Errorf("%s: it makes %d namespaces", values, n)
		}
		for n, at := range enforced {
			needs := slices.Contains([]string{withAll, withBoard, spin, dotnet, goDoor}, values)
			if less := at.Level != api.LevelRestricted; less != needs {
				t.Errorf("%s: namespace %s enforces %s", values, n, at.Level)
			}
		}
		enforced["otelgc"] = restricted
		docs = append(docs, applications(t)...)
		maps.Copy(enforced, levels(t, applications(t)))
		if at := enforced["shop"]; at.Level != api.LevelRestricted {
			t.Errorf("the services' namespace enforces %s", at.Level)
		}
		for _, w := range workloads(t, docs) {
			at, ok := enforced[w.namespace]
			if !ok {
				t.Errorf("%s: %s is in namespace %q, which is not there", values, w.name, w.namespace)
				continue
			}
			for _, r := range evaluator.EvaluatePod(at, &metav1.ObjectMeta{Name: w.name}, &w.pod.Spec) {
				if !r.Allowed {
					t.Errorf("%s: %s in namespace %s: %s: %s", values, w.name, w.namespace, r.ForbiddenReason, r.ForbiddenDetail)
				}
			}
		}
	}
}

// TestExamplesAdmitted: nor does an example need more than baseline.
func TestExamplesAdmitted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := api.LevelVersion{Level: api.LevelBaseline, Version: api.LatestVersion()}
	for _, w := range workloads(t, examples(t, "*/*.yaml")) {
		for _, r := range evaluator.EvaluatePod(at, &metav1.ObjectMeta{Name: w.name}, &w.pod.Spec) {
			if !r.Allowed {
				t.Errorf("%s: %s: %s", w.name, r.ForbiddenReason, r.ForbiddenDetail)
			}
		}
	}
}

// TestBoardOfApplications: a service reads the board through a claim that the chart
// makes where it is asked to, is bound to the sidecar's directory, and cannot be written.
func TestBoardOfApplications(t *testing.T) {
	docs := append(render(t, withAll), applications(t)...)
	directories := map[string]string{} // of the node, by the claim that they are for
	claimed := map[string]string{}     // volumes, by claim
	for _, doc := range docs {
		obj, err := external(doc)
		if err != nil {
			t.Fatal(err)
		}
		switch o := obj.(type) {
		case *corev1.PersistentVolume:
			if r := o.Spec.ClaimRef; r != nil && o.Spec.HostPath != nil {
				directories[r.Namespace+"/"+r.Name+" "+o.Name] = o.Spec.HostPath.Path
			}
		case *corev1.PersistentVolumeClaim:
			claimed[o.Namespace+"/"+o.Name] = o.Spec.VolumeName
		}
	}
	if want := map[string]string{"shop/otelgc-board": "otelgc-board-shop", "other/otelgc-board": "otelgc-board-other"}; !maps.Equal(want, claimed) {
		t.Errorf("claims %v, want %v", claimed, want)
	}
	readers := 0
	for _, w := range workloads(t, docs) {
		for _, v := range w.pod.Spec.Volumes {
			if v.HostPath != nil && w.name != "otelgc-sidecar" {
				t.Errorf("%s has volume %s of the node", w.name, v.Name)
			}
			if v.PersistentVolumeClaim == nil {
				continue
			}
			readers++
			claim := w.namespace + "/" + v.PersistentVolumeClaim.ClaimName
			if got := directories[claim+" "+claimed[claim]]; got != boardDirectory(t) || !v.PersistentVolumeClaim.ReadOnly {
				t.Errorf("%s: claim %s has %q (%+v), want %s to read", w.name, claim, got, v.PersistentVolumeClaim, boardDirectory(t))
			}
		}
	}
	if readers != 1 {
		t.Errorf("%d services read the board, want one", readers)
	}
}

// boardDirectory returns the directory of the node in which the sidecar writes.
func boardDirectory(t *testing.T) string {
	t.Helper()
	for _, w := range workloads(t, render(t, withBoard)) {
		for _, v := range w.pod.Spec.Volumes {
			if v.Name == "board" && v.HostPath != nil {
				return v.HostPath.Path
			}
		}
	}
	t.Fatal("no board of the sidecar")
	return ""
}

// TestRightsOfDotnetAreSaid where they are given, and where they are read about: as
// long as it takes these two, it amounts to the node.
func TestRightsOfDotnetAreSaid(t *testing.T) {
	const words = "may read and write the memory and the files of every process on the node"
	given := string(document(t, render(t, dotnet), "kind: DaemonSet\nmetadata:\n  name: otelgc-sidecar"))
	both := strings.Contains(given, `"SYS_PTRACE"`) && strings.Contains(given, `"DAC_OVERRIDE"`)
	for _, file := range []string{chartDir + "templates/sidecar.yaml", root + "docs/operators.md"} {
		text := strings.Join(strings.Fields(read(t, file)), " ")
		if got := strings.Contains(text, words); got != both {
			t.Errorf("%s says %q: %v, and it is given both capabilities: %v", file, words, got, both)
		}
	}
}
