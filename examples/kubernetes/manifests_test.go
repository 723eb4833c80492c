// Package kubernetes checks the manifests beside it by the code that accepts or refuses them
// in a cluster: that of Kubernetes' API server and of the MPI operator.
package kubernetes

import (
	"os"
	"testing"

	kubeflow "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	mpivalidation "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/validation"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"sigs.k8s.io/yaml"
)

// read decodes a manifest, which may have no field that its kind does not know.
func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// internal gives an object its defaults and the type that the API server's checks have.
func internal[T any](t *testing.T, from runtime.Object) *T {
	t.Helper()
	legacyscheme.Scheme.Default(from)
	to := new(T)
	if err := legacyscheme.Scheme.Convert(from, to, nil); err != nil {
		t.Fatal(err)
	}
	return to
}

func report(t *testing.T, name string, errs field.ErrorList) {
	t.Helper()
	for _, err := range errs {
		t.Errorf("%s: %v", name, err)
	}
}

func TestScore(t *testing.T) {
	report(t, "score.yaml", checkJob(t, func(*batchv1.Job) {}))
	if errs := checkJob(t, func(j *batchv1.Job) { j.Spec.Completions = nil }); len(errs) == 0 {
		t.Error("an Indexed Job without completions is accepted")
	}
}

func checkJob(t *testing.T, change func(*batchv1.Job)) field.ErrorList {
	t.Helper()
	var job batchv1.Job
	read(t, "score.yaml", &job)
	change(&job)
	job.Namespace = metav1.NamespaceDefault
	job.UID = "1"
	in := internal[batch.Job](t, &job)
	generated := map[string]string{batchv1.ControllerUidLabel: "1", "controller-uid": "1",
		batchv1.JobNameLabel: job.Name, "job-name": job.Name}
	in.Spec.Template.Labels = generated // by the API server
	in.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "1"}}
	return validation.ValidateJob(in, validation.JobValidationOptions{RequirePrefixedLabels: true})
}

func TestTrain(t *testing.T) {
	errs, pods := checkMPIJob(t, func(*kubeflow.MPIJob) {})
	report(t, "train.yaml", append(errs, pods...))
	if errs, _ := checkMPIJob(t,
		func(j *kubeflow.MPIJob) { delete(j.Spec.MPIReplicaSpecs, kubeflow.MPIReplicaTypeLauncher) }); len(errs) == 0 {
		t.Error("an MPIJob without a launcher is accepted")
	}
	if _, pods := checkMPIJob(t, func(j *kubeflow.MPIJob) {
		j.Spec.MPIReplicaSpecs[kubeflow.MPIReplicaTypeWorker].Template.Spec.Volumes = nil
	}); len(pods) == 0 {
		t.Error("a mount without its volume is accepted")
	}
}

// checkMPIJob has the errors of the operator, and those of the pods.
func checkMPIJob(t *testing.T, change func(*kubeflow.MPIJob)) (errs, pods field.ErrorList) {
	t.Helper()
	var job kubeflow.MPIJob
	read(t, "train.yaml", &job)
	change(&job)
	scheme := runtime.NewScheme()
	if err := kubeflow.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.Default(&job)
	for kind, spec := range job.Spec.MPIReplicaSpecs {
		template := corev1.PodTemplate{Template: spec.Template}
		if template.Template.Spec.RestartPolicy == "" {
			template.Template.Spec.RestartPolicy = corev1.RestartPolicy(spec.RestartPolicy)
		}
		in := internal[core.PodTemplate](t, &template)
		pods = append(pods, corevalidation.ValidatePodTemplateSpec(&in.Template, field.NewPath(string(kind)),
			podutil.GetValidationOptionsFromPodTemplate(&in.Template, nil))...)
	}
	return mpivalidation.ValidateMPIJob(&job), pods
}
