package controller

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// This file checks the objects that the operator made for a Kafka in one Kubernetes cluster. It uses the rules of Kubernetes, and not
// package model.

// scene holds all objects of a namespace.
type scene map[facts.Key]client.Object

// sceneOf returns copies of the objects of an API server.
func sceneOf(s *apiServer) scene {
	all := scene{}
	for key, o := range s.objects {
		if key.Kind != "Pod" { // method pods reads them from the StrimziPodSets
			all[key] = copied(o.Object)
		}
	}
	return all
}

// made returns the keys of the objects that users did not write, except for those that are being deleted.
func (s scene) made() []facts.Key {
	return slices.DeleteFunc(sortedKeys(s), func(key facts.Key) bool {
		return s[key].GetDeletionTimestamp() != nil || key.Kind == "Kafka" || key.Kind == "KafkaNodePool" || strings.HasPrefix(key.Name, "given-")
	})
}

// pods returns the pods that StrimziPodSets list, and the pods of Deployments.
func (s scene) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, key := range sortedKeys(s) {
		switch o := s[key].(type) {
		case *core.StrimziPodSet:
			for _, raw := range o.Spec.Pods {
				pod := &corev1.Pod{}
				if err := json.Unmarshal(raw.Raw, pod); err != nil {
					panic(err)
				}
				pods = append(pods, pod)
			}
		case *appsv1.Deployment:
			pod := &corev1.Pod{ObjectMeta: *o.Spec.Template.ObjectMeta.DeepCopy(), Spec: *o.Spec.Template.Spec.DeepCopy()}
			pod.Name = o.Name
			pods = append(pods, pod)
		}
	}
	return pods
}

// findings describe what is wrong with the objects.
type findings []string

func (f *findings) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// wrong adds the problems that a validation function of Kubernetes returned.
func (f *findings) wrong(of string, problems ...string) {
	for _, p := range problems {
		f.add("%s: %s", of, p)
	}
}

// illegal returns the names, labels, annotations and ports that an API server rejects.
func (s scene) illegal() findings {
	var f findings
	for _, key := range s.made() {
		of, o := key.Kind+" "+key.Name, s[key]
		switch key.Kind {
		case "Service": // until Kubernetes 1.35 names of Services do not begin with a digit
			f.wrong(of, utilvalidation.IsDNS1035Label(key.Name)...)
		default:
			f.wrong(of, utilvalidation.IsDNS1123Subdomain(key.Name)...)
		}
		f.meta(of, o)
		switch o := o.(type) {
		case *corev1.Service:
			f.service(of, o)
		case *corev1.ConfigMap:
			for name, text := range o.Data {
				f.wrong(of+" "+name, utilvalidation.IsConfigMapKey(name)...)
				if len(text) > 1<<20 {
					f.add("%s: %s is too large", of, name)
				}
			}
		case *corev1.Secret:
			for name := range o.Data {
				f.wrong(of+" "+name, utilvalidation.IsConfigMapKey(name)...)
			}
		case *networkingv1.Ingress:
			for _, r := range o.Spec.Rules {
				f.wrong(of+" "+r.Host, utilvalidation.IsDNS1123Subdomain(r.Host)...)
			}
		case *core.StrimziPodSet:
			f.selector(of, &o.Spec.Selector)
		case *appsv1.Deployment:
			f.selector(of, o.Spec.Selector)
		}
	}
	for _, pod := range s.pods() {
		f.pod("pod "+pod.Name, pod)
	}
	return f
}

func (f *findings) meta(of string, o metav1.Object) {
	for _, err := range slices.Concat(metav1validation.ValidateLabels(o.GetLabels(), field.NewPath("labels")),
		validation.ValidateAnnotations(o.GetAnnotations(), field.NewPath("annotations"))) {
		f.wrong(of, err.Error())
	}
	for _, name := range o.GetFinalizers() {
		f.wrong(of, utilvalidation.IsQualifiedName(name)...)
	}
}

func (f *findings) selector(of string, selector *metav1.LabelSelector) {
	for _, err := range metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{},
		field.NewPath("selector")) {
		f.wrong(of, err.Error())
	}
}

func (f *findings) service(of string, o *corev1.Service) {
	names, numbers := map[string]bool{}, map[int32]bool{}
	for _, p := range o.Spec.Ports {
		f.wrong(of+" port "+p.Name, append(utilvalidation.IsDNS1123Label(p.Name), utilvalidation.IsValidPortNum(int(p.Port))...)...)
		if target := p.TargetPort; target.Type == intstr.String {
			f.wrong(of+" target "+target.StrVal, utilvalidation.IsValidPortName(target.StrVal)...)
		} else {
			f.wrong(of+" target "+target.String(), utilvalidation.IsValidPortNum(int(target.IntVal))...)
		}
		if names[p.Name] || numbers[p.Port] {
			f.add("%s: port %s or %d is there twice", of, p.Name, p.Port)
		}
		names[p.Name], numbers[p.Port] = true, true
	}
	for _, err := range metav1validation.ValidateLabels(o.Spec.Selector, field.NewPath("selector")) {
		f.wrong(of, err.Error())
	}
}

func (f *findings) pod(of string, pod *corev1.Pod) {
	f.meta(of, pod)
	f.wrong(of, utilvalidation.IsDNS1123Subdomain(pod.Name)...)
	for _, name := range []string{pod.Spec.Hostname, pod.Spec.Subdomain} {
		if name != "" {
			f.wrong(of+" "+name, utilvalidation.IsDNS1123Label(name)...)
		}
	}
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		f.wrong(of+" volume "+v.Name, utilvalidation.IsDNS1123Label(v.Name)...)
		if volumes[v.Name] {
			f.add("%s: volume %s is there twice", of, v.Name)
		}
		volumes[v.Name] = true
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names, numbers, mounts, variables := map[string]bool{}, map[int32]bool{}, map[string]bool{}, map[string]bool{}
		for _, p := range c.Ports {
			f.wrong(of+" port "+p.Name, append(utilvalidation.IsValidPortName(p.Name), utilvalidation.IsValidPortNum(int(p.ContainerPort))...)...)
			if names[p.Name] || numbers[p.ContainerPort] {
				f.add("%s: port %s or %d is there twice", of, p.Name, p.ContainerPort)
			}
			names[p.Name], numbers[p.ContainerPort] = true, true
		}
		for _, m := range c.VolumeMounts {
			if mounts[m.MountPath] {
				f.add("%s: %s is mounted twice", of, m.MountPath)
			}
			mounts[m.MountPath] = true
		}
		for _, e := range c.Env {
			f.wrong(of+" variable "+e.Name, utilvalidation.IsEnvVarName(e.Name)...)
			if variables[e.Name] {
				f.add("%s: variable %s is there twice", of, e.Name)
			}
			variables[e.Name] = true
		}
	}
}

// dangling returns the references to objects that do not exist.
func (s scene) dangling() findings {
	var f findings
	for _, key := range s.made() {
		of := key.Kind + " " + key.Name
		for _, owner := range s[key].GetOwnerReferences() {
			if o := s[facts.Key{Kind: owner.Kind, Name: owner.Name}]; o == nil || o.GetUID() != owner.UID {
				f.add("%s: its owner %s %s does not exist", of, owner.Kind, owner.Name)
			}
		}
		if key.Kind != "StrimziPodSet" && strings.Contains(jsonText(s[key]), "{node") {
			f.add("%s: a template was not filled in", of)
		}
		switch o := s[key].(type) {
		case *corev1.Service:
			s.service(&f, of, o)
		case *networkingv1.Ingress:
			for _, r := range o.Spec.Rules {
				for _, p := range r.HTTP.Paths {
					back := p.Backend.Service
					service, _ := s[facts.Key{Kind: "Service", Name: back.Name}].(*corev1.Service)
					if service != nil && service.DeletionTimestamp != nil {
						continue // the operator makes it again after the deletion
					}
					if service == nil || !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == back.Port.Number }) {
						f.add("%s: there is no port %d of Service %s", of, back.Port.Number, back.Name)
					}
				}
			}
		case *rbacv1.RoleBinding:
			s.needs(&f, of, o.RoleRef.Kind, o.RoleRef.Name)
			for _, subject := range o.Subjects {
				if subject.Namespace == historyNamespace {
					s.needs(&f, of, subject.Kind, subject.Name)
				}
			}
		case *rbacv1.Role:
			for _, r := range o.Rules {
				for _, name := range r.ResourceNames {
					if slices.Contains(r.Resources, "secrets") {
						s.needs(&f, of, "Secret", name)
					}
				}
			}
		case *networkingv1.NetworkPolicy:
			s.selects(&f, of, o.Spec.PodSelector.MatchLabels)
		case *policyv1.PodDisruptionBudget:
			s.selects(&f, of, o.Spec.Selector.MatchLabels)
		case *core.StrimziPodSet:
			for _, raw := range o.Spec.Pods {
				pod := &corev1.Pod{}
				_ = json.Unmarshal(raw.Raw, pod)
				if !labels.SelectorFromSet(o.Spec.Selector.MatchLabels).Matches(labels.Set(pod.Labels)) {
					f.add("%s: its selector does not select pod %s", of, pod.Name)
				}
				s.node(&f, pod)
			}
		}
	}
	for _, pod := range s.pods() {
		s.podNeeds(&f, pod)
	}
	return f
}

// needs adds a finding if an object is missing.
func (s scene) needs(f *findings, of, kind, name string) {
	if s[facts.Key{Kind: kind, Name: name}] == nil {
		f.add("%s: %s %s does not exist", of, kind, name)
	}
}

// key adds a finding if a key of a ConfigMap or Secret is missing.
func (s scene) key(f *findings, of, kind, name, key string) {
	found := false
	switch o := s[facts.Key{Kind: kind, Name: name}].(type) {
	case *corev1.ConfigMap:
		_, found = o.Data[key]
	case *corev1.Secret:
		_, found = o.Data[key]
	}
	if !found {
		f.add("%s: %s %s has no %s", of, kind, name, key)
	}
}

func (s scene) selected(selector map[string]string) []*corev1.Pod {
	return slices.DeleteFunc(s.pods(), func(p *corev1.Pod) bool { return !labels.SelectorFromSet(selector).Matches(labels.Set(p.Labels)) })
}

func (s scene) selects(f *findings, of string, selector map[string]string) {
	if len(selector) == 0 || len(s.selected(selector)) == 0 {
		f.add("%s selects no pod by %v", of, selector)
	}
}

// service checks that each port of a Service leads to a pod, and that the Service of one pod selects one pod.
func (s scene) service(f *findings, of string, o *corev1.Service) {
	pods := s.selected(o.Spec.Selector)
	if o.Spec.Selector[core.LabelPodName] != "" && len(pods) != 1 {
		f.add("%s is of one pod, and selects %d", of, len(pods))
	}
	for _, port := range o.Spec.Ports {
		if !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return hasPort(p, port.TargetPort.String(), port.TargetPort.IntVal) }) {
			f.add("%s: no pod has a port %s", of, port.TargetPort.String())
		}
	}
}

// hasPort reports whether a pod has a port of a name or a number.
func hasPort(pod *corev1.Pod, name string, number int32) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == name || p.ContainerPort == number })
	})
}

// podNeeds checks that the objects and volumes that a pod refers to exist.
func (s scene) podNeeds(f *findings, pod *corev1.Pod) {
	of := "pod " + pod.Name
	s.needs(f, of, "ServiceAccount", pod.Spec.ServiceAccountName)
	for _, secret := range pod.Spec.ImagePullSecrets {
		s.needs(f, of, "Secret", secret.Name)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
		s.volume(f, of, v)
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Image == "" {
			f.add("%s: container %s has no image", of, c.Name)
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				f.add("%s: container %s mounts volume %s, which does not exist", of, c.Name, m.Name)
			}
		}
		for _, e := range c.Env {
			if from := e.ValueFrom; from != nil && from.SecretKeyRef != nil {
				s.key(f, of, "Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key)
			} else if from != nil && from.ConfigMapKeyRef != nil {
				s.key(f, of, "ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key)
			}
		}
		s.topicOperator(f, of, c)
	}
}

// topicOperator checks the references in the environment of the topic operator's container.
func (s scene) topicOperator(f *findings, of string, c corev1.Container) {
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	if c.Name != "topic-operator" {
		return
	}
	s.key(f, of, "Secret", env["STRIMZI_TLS_SECRET_NAME"], env["STRIMZI_TLS_KEY_NAME"])
	s.key(f, of, "Secret", env["STRIMZI_TLS_SECRET_NAME"], env["STRIMZI_TLS_CERT_NAME"])
	s.key(f, of, "Secret", env["STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME"], "ca.crt")
	s.address(f, of, env["STRIMZI_KAFKA_BOOTSTRAP_SERVERS"])
}

func (s scene) volume(f *findings, of string, v corev1.Volume) {
	optional := func(o *bool) bool { return o != nil && *o }
	keys := func(kind, name string, items []corev1.KeyToPath) {
		s.needs(f, of, kind, name)
		for _, item := range items {
			s.key(f, of, kind, name, item.Key)
		}
	}
	switch {
	case v.Secret != nil && !optional(v.Secret.Optional):
		keys("Secret", v.Secret.SecretName, v.Secret.Items)
	case v.ConfigMap != nil && !optional(v.ConfigMap.Optional):
		keys("ConfigMap", v.ConfigMap.Name, v.ConfigMap.Items)
	case v.PersistentVolumeClaim != nil && !strings.HasPrefix(v.PersistentVolumeClaim.ClaimName, "given-"):
		s.needs(f, of, "PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				keys("Secret", source.Secret.Name, source.Secret.Items)
			}
		}
	}
}

// address checks that a host and port in this namespace lead to a pod or a Service.
func (s scene) address(f *findings, of, at string) {
	host, text, err := net.SplitHostPort(at)
	number, wrong := strconv.ParseInt(text, 10, 32)
	if err != nil || wrong != nil {
		f.add("%s: %q is no address", of, at)
		return
	}
	inside, _, found := strings.Cut(host, "."+historyNamespace+".svc")
	if !found {
		return
	}
	names := strings.Split(inside, ".")
	service, _ := s[facts.Key{Kind: "Service", Name: names[len(names)-1]}].(*corev1.Service)
	if service == nil {
		f.add("%s: the Service of %s does not exist", of, at)
	}
	if service == nil || service.DeletionTimestamp != nil { // the operator makes it again after the deletion
		return
	}
	if len(names) == 1 {
		if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == int32(number) }) {
			f.add("%s: Service %s has no port %d", of, service.Name, number)
		}
		return
	}
	if !slices.ContainsFunc(s.selected(service.Spec.Selector), func(p *corev1.Pod) bool {
		return p.Spec.Hostname == names[0] && p.Spec.Subdomain == service.Name && service.Spec.ClusterIP == corev1.ClusterIPNone &&
			hasPort(p, "-", int32(number))
	}) {
		f.add("%s: no pod serves %s", of, at)
	}
}

var lookup = regexp.MustCompile(`\$\{strimzi(\w+):([^:}]+):?([^}]*)\}`)

// node checks the references in a node's configuration: files, volumes, and the addresses of voters and of the node itself.
func (s scene) node(f *findings, pod *corev1.Pod) {
	of, config := "node "+pod.Name, map[string]string{}
	text, _ := s[facts.Key{Kind: "ConfigMap", Name: pod.Name}].(*corev1.ConfigMap)
	if text == nil {
		return // podNeeds reports that the object is missing
	}
	for line := range strings.SplitSeq(text.Data["server.config"], "\n") {
		key, value, _ := strings.Cut(line, "=")
		config[key] = value
	}
	files, mounts := s.files(pod)
	for _, found := range lookup.FindAllStringSubmatch(text.Data["server.config"], -1) {
		switch provider, at, file := found[1], found[2], found[3]; {
		case provider == "dir" && !files[path.Join(at, file)]:
			f.add("%s: there is no file %s in %s", of, file, at)
		}
	}
	for dir := range strings.SplitSeq(config["log.dirs"]+","+config["metadata.log.dir"], ",") {
		if !mounts[path.Dir(dir)] {
			f.add("%s: log directory %q is on no volume", of, dir)
		}
	}
	for voter := range strings.SplitSeq(config["controller.quorum.voters"], ",") {
		_, at, _ := strings.Cut(voter, "@")
		s.address(f, of, at)
	}
	s.advertised(f, of, pod, config)
}

// files returns the files in a node's volumes, and the directories where the volumes are mounted.
func (s scene) files(pod *corev1.Pod) (files, mounts map[string]bool) {
	files, mounts = map[string]bool{}, map[string]bool{}
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		mounts[m.MountPath] = true
		for _, v := range pod.Spec.Volumes {
			switch {
			case v.Name != m.Name:
			case v.Projected != nil:
				for _, source := range v.Projected.Sources {
					for _, item := range cmp.Or(source.Secret, &corev1.SecretProjection{}).Items {
						files[path.Join(m.MountPath, item.Path)] = true
					}
				}
			case v.DownwardAPI != nil:
				for _, item := range v.DownwardAPI.Items {
					files[path.Join(m.MountPath, item.Path)] = true
				}
			}
		}
	}
	return files, mounts
}

// advertised checks the addresses that a node advertises. On a listener with the node's own certificate, the certificate has to be valid
// for the host.
func (s scene) advertised(f *findings, of string, pod *corev1.Pod, config map[string]string) {
	secret, _ := s[facts.Key{Kind: "Secret", Name: pod.Name}].(*corev1.Secret)
	if secret == nil {
		return // podNeeds reports that the object is missing
	}
	block, _ := pem.Decode(secret.Data[pod.Name+".crt"])
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		f.add("%s: %v", of, err)
		return
	}
	for entry := range strings.SplitSeq(config["advertised.listeners"], ",") {
		name, at, _ := strings.Cut(entry, "://")
		if strings.HasPrefix(at, "${") {
			continue // the address is in an annotation of the pod
		}
		host, _, _ := net.SplitHostPort(at)
		if strings.Contains(host, "."+historyNamespace+".svc") { // the port that the user wants to be advertised does not matter
			at = net.JoinHostPort(host, name[strings.LastIndex(name, "-")+1:])
		}
		s.address(f, of+" "+name, at)
		chain := config["listener.name."+strings.ToLower(name)+".ssl.keystore.certificate.chain"]
		if strings.HasSuffix(chain, ":node.crt}") && certificate.VerifyHostname(host) != nil {
			f.add("%s: its certificate is not for %s, which it advertises on %s", of, host, name)
		}
	}
}

// leaks returns the confidential values that are in texts, or in objects other than Secrets.
func (s scene) leaks(texts ...string) findings {
	var f findings
	needles := map[string]string{}
	for key, o := range s {
		secret, is := o.(*corev1.Secret)
		if !is {
			continue
		}
		for name, value := range secret.Data {
			confidential := bytes.Contains(value, []byte("PRIVATE KEY")) || strings.HasSuffix(name, ".password") ||
				strings.HasPrefix(key.Name, "given-")
			if !confidential || bytes.HasPrefix(value, []byte("-----BEGIN CERT")) {
				continue
			}
			if block, _ := pem.Decode(value); block != nil {
				value = block.Bytes[len(block.Bytes)/2:]
				needles[base64.StdEncoding.EncodeToString(block.Bytes)[len(block.Bytes)/2:][:40]] = key.Name + " " + name
			}
			needles[string(value)] = key.Name + " " + name
			needles[base64.StdEncoding.EncodeToString(value)] = key.Name + " " + name
		}
	}
	look := func(where, text string) {
		for _, needle := range slices.Sorted(maps.Keys(needles)) {
			if strings.Contains(text, needle) {
				f.add("%s has what is secret in %s", where, needles[needle])
			}
		}
	}
	for _, key := range sortedKeys(s) {
		if key.Kind != "Secret" {
			look(key.Kind+" "+key.Name, jsonText(s[key]))
		}
	}
	for _, text := range texts {
		look("a log or an Event", text)
	}
	return f
}
