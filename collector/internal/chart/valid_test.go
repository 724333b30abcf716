package chart

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	schedulingvalidation "k8s.io/kubernetes/pkg/apis/scheduling/validation"
)

// validate says what the API server would refuse in a document.
func validate(doc []byte) error {
	obj, err := internal(doc)
	if err != nil {
		return err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if m.GetNamespace() == "" {
		m.SetNamespace("default") // as kubectl does
	}
	return refusals(obj).ToAggregate()
}

func refusals(obj runtime.Object) field.ErrorList {
	var pods corevalidation.PodValidationOptions
	switch o := obj.(type) {
	case *apps.DaemonSet:
		return appsvalidation.ValidateDaemonSet(o, pods)
	case *apps.StatefulSet:
		return appsvalidation.ValidateStatefulSet(o, appsvalidation.StatefulSetValidationOptions{}, pods)
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(o, pods)
	case *core.Service:
		if o.Spec.ClusterIP != "" {
			o.Spec.ClusterIPs = []string{o.Spec.ClusterIP} // as the API server does first
		}
		return corevalidation.ValidateServiceCreate(o)
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(o)
	case *core.PersistentVolume:
		o.Namespace = "" // it is in none
		return corevalidation.ValidatePersistentVolume(o, corevalidation.PersistentVolumeSpecValidationOptions{})
	case *core.PersistentVolumeClaim:
		return corevalidation.ValidatePersistentVolumeClaim(o, corevalidation.PersistentVolumeClaimSpecValidationOptions{})
	case *core.Namespace:
		o.Namespace = "" // it is in none
		return corevalidation.ValidateNamespace(o)
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(o, policyvalidation.PodDisruptionBudgetValidationOptions{})
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(o, networkingvalidation.NetworkPolicyValidationOptions{})
	case *scheduling.PriorityClass:
		o.Namespace = "" // it is in none
		return schedulingvalidation.ValidatePriorityClass(o)
	}
	return field.ErrorList{field.InternalError(nil, fmt.Errorf("nothing here validates a %T", obj))}
}

// TestValid: the API server takes every document.
func TestValid(t *testing.T) {
	for _, values := range all {
		for _, doc := range render(t, values) {
			if err := validate(doc); err != nil {
				t.Errorf("%s: %v\n%s", values, err, doc)
			}
		}
	}
}

// TestExamplesValid: so are the files that are applied as they are.
func TestExamplesValid(t *testing.T) {
	for _, doc := range examples(t, "*/*.yaml") {
		if err := validate(doc); err != nil {
			t.Errorf("%v\n%s", err, doc)
		}
	}
}

// examples returns the documents that are applied as they are.
func examples(t *testing.T, pattern string) (docs [][]byte) {
	t.Helper()
	files, err := filepath.Glob(root + "examples/" + pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, file := range files {
		docs = append(docs, split(read(t, file))...)
	}
	return docs
}

// TestRefused: what is wrong is found, so that the tests above say something.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown field", "tolerations:", "toleration:", `unknown field "spec.template.spec.toleration"`},
		{"selector of nothing", "matchLabels: {app: otelgc-agent}", "matchLabels: {app: agent}", "does not match template `labels`"},
		{"volume that is not there", "- {name: config, mountPath: /etc/otelgc,", "- {name: other, mountPath: /etc/otelgc,", "Not found"},
		{"port that is none", "containerPort: 4317", "containerPort: 431700", "must be between 1 and 65535"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := string(document(t, render(t, asItIs), "kind: DaemonSet\nmetadata:\n  name: otelgc-agent"))
			changed := strings.Replace(doc, c.old, c.new, 1)
			if changed == doc {
				t.Fatalf("no %q in\n%s", c.old, doc)
			}
			if err := validate([]byte(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
}

// document returns the one that has text in it.
func document(t *testing.T, docs [][]byte, text string) []byte {
	t.Helper()
	for _, doc := range docs {
		if bytes.Contains(doc, []byte(text)) {
			return doc
		}
	}
	t.Fatalf("no document with %q", text)
	return nil
}
