package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/options"
)

// CopyExporter is the argument with which the program copies the JMX exporter to the folder that follows, and does nothing else.
const CopyExporter = model.CopyExporter

// Copy copies the JMX exporter out of the operator's image to a folder.
func Copy(folder string) error { return copyFile(model.ExporterFile, folder) }

// copyFile copies a file to a folder. The copy is complete or not there.
func copyFile(file, folder string) error {
	from, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	to, err := os.CreateTemp(folder, ".copy-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(to.Name()) }() // it has another name by then, if all went well
	_, err = io.Copy(to, from)
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(to.Name(), 0o644) // Kafka runs as another user
	}
	if err == nil {
		err = os.Rename(to.Name(), filepath.Join(folder, filepath.Base(file)))
	}
	return err
}

// exporterImage returns the image that brings the JMX exporter to nodes, "" if there is none.
func exporterImage(ctx context.Context, reader client.Reader, o options.Options, file string) (string, error) {
	switch o.ExporterImage {
	case options.NoImage:
		return "", nil
	case options.OwnImage:
	default:
		return o.ExporterImage, nil
	}
	if _, err := os.Stat(file); err != nil {
		return "", nil // not in the image that the Dockerfile makes
	}
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: o.OperatorNamespace, Name: identity()}
	switch err := reader.Get(ctx, key, pod); {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		log.FromContext(ctx).Info("The operator does not know its own image: without STRIMZI_JMX_EXPORTER_IMAGE, Kafkas have no "+
			"metrics", "pod", key,
			"reason", err.Error())
		return "", nil
	case err != nil:
		return "", fmt.Errorf("get the operator's own pod %s: %w", key, err)
	}
	return imageOf(pod), nil
}

// mainContainer is the annotation that names a pod's main container. Source: kubectl.
const mainContainer = "kubectl.kubernetes.io/default-container"

// imageOf returns the image of a pod's main container: injected sidecars may precede it.
func imageOf(pod *corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == pod.Annotations[mainContainer] {
			return c.Image
		}
	}
	return pod.Spec.Containers[0].Image
}
