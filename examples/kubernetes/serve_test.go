package kubernetes

import (
	"bytes"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"sigs.k8s.io/yaml"
)

func TestServe(t *testing.T) {
	report(t, "serve.yaml", checkServe(t, func(*appsv1.Deployment, *corev1.Service) {}))
	for defect, change := range map[string]func(*appsv1.Deployment, *corev1.Service){
		"a selector of other pods": func(d *appsv1.Deployment, _ *corev1.Service) { d.Spec.Template.Labels = nil },
		"a mount without a volume": func(d *appsv1.Deployment, _ *corev1.Service) { d.Spec.Template.Spec.Volumes = nil },
		"a service without a port": func(_ *appsv1.Deployment, s *corev1.Service) { s.Spec.Ports = nil },
		"a probe of an invalid port": func(d *appsv1.Deployment, _ *corev1.Service) {
			d.Spec.Template.Spec.Containers[0].ReadinessProbe.HTTPGet.Path = ""
			d.Spec.Template.Spec.Containers[0].ReadinessProbe.HTTPGet.Port.StrVal = "no port"
		},
	} {
		if errs := checkServe(t, change); len(errs) == 0 {
			t.Errorf("%s is accepted", defect)
		}
	}
}

// checkServe decodes the Deployment and the Service strictly and validates them like the API
// server.
func checkServe(t *testing.T, change func(*appsv1.Deployment, *corev1.Service)) field.ErrorList {
	t.Helper()
	text, err := os.ReadFile("serve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, second, ok := bytes.Cut(text, []byte("\n---\n"))
	if !ok {
		t.Fatal("serve.yaml: expected two documents")
	}
	var deployment appsv1.Deployment
	var service corev1.Service
	for _, document := range []struct {
		text []byte
		into any
	}{{first, &deployment}, {second, &service}} {
		if err := yaml.UnmarshalStrict(document.text, document.into); err != nil {
			t.Fatalf("serve.yaml: %v", err)
		}
	}
	change(&deployment, &service)
	deployment.Namespace, service.Namespace = metav1.NamespaceDefault, metav1.NamespaceDefault
	in := internal[apps.Deployment](t, &deployment)
	errs := appsvalidation.ValidateDeployment(in, podutil.GetValidationOptionsFromPodTemplate(&in.Spec.Template, nil))
	return append(errs, corevalidation.ValidateServiceCreate(internal[core.Service](t, &service))...)
}
