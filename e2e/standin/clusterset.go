package standin

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ServiceExports is the CustomResourceDefinition of ServiceExports, which export Services to other clusters of a set, with the parts that
// ClusterSet needs.
const ServiceExports = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: serviceexports.multicluster.x-k8s.io
  annotations:
    api-approved.kubernetes.io: https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/1645-multi-cluster-services-api
spec:
  group: multicluster.x-k8s.io
  scope: Namespaced
  names: {kind: ServiceExport, plural: serviceexports, singular: serviceexport}
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// Domain is the domain of the cluster set.
const Domain = "clusterset.local"

// ClusterSet answers DNS queries for the pods of headless Services that clusters of a set export, until the context ends:
// POD.CLUSTER.SERVICE.NAMESPACE.svc.clusterset.local. It maps the ids of clusters to readers of their API servers, and reads them for each
// query.
type ClusterSet map[string]client.Reader

// Serve serves DNS on a connection, and closes it.
func (s ClusterSet) Serve(ctx context.Context, conn net.PacketConn) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	buffer := make([]byte, 512)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		query := append([]byte{}, buffer[:n]...)
		go func() {
			if answer, err := s.answer(ctx, query); err == nil {
				_, _ = conn.WriteTo(answer, from) // a client without a response retries
			}
		}()
	}
}

func (s ClusterSet) answer(ctx context.Context, packet []byte) ([]byte, error) {
	var query dnsmessage.Message
	if err := query.Unpack(packet); err != nil {
		return nil, err
	}
	out := dnsmessage.Message{Header: dnsmessage.Header{ID: query.ID, Response: true, Authoritative: true}, Questions: query.Questions}
	for _, q := range query.Questions {
		address, err := s.lookup(ctx, q.Name.String())
		switch {
		case err != nil:
			out.RCode = dnsmessage.RCodeServerFailure
		case !address.IsValid():
			out.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			header := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
			out.Answers = append(out.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: address.As4()}})
		}
	}
	return out.Pack()
}

// lookup returns the address of a pod; an invalid one if there is no pod of that name.
func (s ClusterSet) lookup(ctx context.Context, name string) (none netip.Addr, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(name), ".svc."+Domain+"."), ".")
	if len(labels) != 4 || s[labels[1]] == nil {
		return none, nil
	}
	k8s, namespace := s[labels[1]], labels[3]
	export := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceExport"}}
	if err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: labels[2]}, export); err != nil {
		return none, client.IgnoreNotFound(err)
	}
	pod := &corev1.Pod{}
	if err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: labels[0]}, pod); err != nil {
		return none, client.IgnoreNotFound(err)
	}
	if pod.Status.PodIP == "" {
		return none, nil
	}
	return netip.ParseAddr(pod.Status.PodIP)
}
