package manifests

import (
	"os"
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

// TestAdmitted: Pod Security admits each pod to its namespace, and no namespace but
// the sidecar's enforces less than restricted.
func TestAdmitted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		docs := build(t, name)
		enforced := levels(t, docs)
		for n, at := range enforced {
			if n != "otelgc-sidecar" && at.Level != api.LevelRestricted {
				t.Errorf("%s: namespace %s enforces %s, want restricted", name, n, at.Level)
			}
		}
		for _, w := range workloads(t, docs) {
			at, ok := enforced[w.namespace]
			if !ok {
				t.Errorf("%s: %s is in namespace %q, which is not there", name, w.name, w.namespace)
				continue
			}
			for _, r := range evaluator.EvaluatePod(at, &metav1.ObjectMeta{Name: w.name}, &w.pod.Spec) {
				if !r.Allowed {
					t.Errorf("%s: %s in namespace %s: %s: %s", name, w.name, w.namespace, r.ForbiddenReason, r.ForbiddenDetail)
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
	for _, w := range workloads(t, examples(t)) {
		for _, r := range evaluator.EvaluatePod(at, &metav1.ObjectMeta{Name: w.name}, &w.pod.Spec) {
			if !r.Allowed {
				t.Errorf("%s: %s: %s", w.name, r.ForbiddenReason, r.ForbiddenDetail)
			}
		}
	}
}

// TestBoardOfApplications: only with its component does a service read the board,
// through a claim that is there, is bound to the sidecar's directory, and cannot be
// written.
func TestBoardOfApplications(t *testing.T) {
	for _, w := range workloads(t, build(t, "apps")) {
		for _, v := range w.pod.Spec.Volumes {
			if v.HostPath != nil || v.PersistentVolumeClaim != nil {
				t.Errorf("%s has volume %s, want none but its own", w.name, v.Name)
			}
		}
	}
	docs := build(t, withBoard)
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
	readers := 0
	for _, w := range workloads(t, docs) {
		for _, v := range w.pod.Spec.Volumes {
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
	for _, w := range workloads(t, build(t, "kubernetes")) {
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
// long as the component asks for these two, it amounts to the node.
func TestRightsOfDotnetAreSaid(t *testing.T) {
	const words = "may read and write the memory and the files of every process on the node"
	component := read(t, deploy+"sidecar/dotnet/kustomization.yaml")
	both := strings.Contains(component, "value: SYS_PTRACE") && strings.Contains(component, "value: DAC_OVERRIDE")
	for _, file := range []string{deploy + "sidecar/dotnet/kustomization.yaml", "../../../docs/deploy.md"} {
		text := strings.Join(strings.Fields(strings.ReplaceAll(read(t, file), "\n# ", "\n")), " ")
		if got := strings.Contains(text, words); got != both {
			t.Errorf("%s says %q: %v, and the component has both capabilities: %v", file, words, got, both)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
