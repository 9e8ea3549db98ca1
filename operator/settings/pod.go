package settings

import "strings"

// PodNamespace is the variable with the namespace that the program runs in, as manifests usually set it through the downward API.
const PodNamespace = "POD_NAMESPACE"

// podNamespaceFile is where Kubernetes writes the namespace of the service account.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// InPod adds to an environment what Kubernetes writes to files in a pod: the namespace of the service account, if POD_NAMESPACE is not set.
// Outside of a pod it changes nothing.
func InPod(lookup func(string) (string, bool), readFile func(string) ([]byte, error)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := lookup(name)
		if name != PodNamespace || value != "" {
			return value, ok
		}
		content, err := readFile(podNamespaceFile)
		if err != nil {
			return value, ok
		}
		return strings.TrimSpace(string(content)), true
	}
}

// Home returns the namespace of the program's own objects: the one that it runs in, else the first one that it watches, else default.
func (r *Reading) Home(watched Namespaces) string {
	if pod, _ := r.lookup(PodNamespace); namespacePattern.MatchString(pod) {
		return pod
	}
	if len(watched.Names) > 0 {
		return watched.Names[0]
	}
	return "default"
}
