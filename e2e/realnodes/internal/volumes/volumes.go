// Package volumes is what a node's volume provisioner decides: claims for volumes of a node become folders on it, and folders
// whose claims are gone go as well. It reads and writes nothing.
package volumes

import (
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// StorageClass is the class of the claims, which names the Provisioner.
	StorageClass = "standard"
	// Provisioner is whose volumes these are.
	Provisioner = "realnodes.test/local"

	// The scheduler notes on a claim where its pod will be, and volume controllers on a volume who provisioned it.
	annotationSelectedNode  = "volume.kubernetes.io/selected-node"
	annotationProvisionedBy = "pv.kubernetes.io/provisioned-by"
)

// Plan is what to do.
type Plan struct {
	// Create are volumes whose folders have to be made first.
	Create []corev1.PersistentVolume
	// Delete are volumes whose folders have to be removed first.
	Delete []corev1.PersistentVolume
}

// For returns what to do on a node that has its folders below root, given all claims and volumes of the cluster. Doing it
// twice does no harm: the name of a volume follows from its claim.
func For(node, root string, claims []corev1.PersistentVolumeClaim, present []corev1.PersistentVolume) Plan {
	var plan Plan
	names := map[string]bool{}
	for _, v := range present {
		names[v.Name] = true
		ours := v.Annotations[annotationProvisionedBy] == Provisioner && v.Labels[corev1.LabelHostname] == node
		if ours && v.Status.Phase == corev1.VolumeReleased && v.DeletionTimestamp == nil &&
			v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
			plan.Delete = append(plan.Delete, v)
		}
	}
	for _, c := range claims {
		if wanted(&c, node) && !names[volumeName(&c)] {
			plan.Create = append(plan.Create, volume(&c, node, root))
		}
	}
	return plan
}

func wanted(c *corev1.PersistentVolumeClaim, node string) bool {
	return c.Spec.StorageClassName != nil && *c.Spec.StorageClassName == StorageClass &&
		c.Annotations[annotationSelectedNode] == node && c.Spec.VolumeName == "" && c.DeletionTimestamp == nil
}

func volumeName(c *corev1.PersistentVolumeClaim) string { return "pvc-" + string(c.UID) }

func volume(c *corev1.PersistentVolumeClaim, node, root string) corev1.PersistentVolume {
	name := volumeName(c)
	mode := corev1.PersistentVolumeFilesystem
	return corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{corev1.LabelHostname: node},
			Annotations: map[string]string{annotationProvisionedBy: Provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: StorageClass,
			Capacity:         corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:      c.Spec.AccessModes,
			VolumeMode:       &mode,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
			},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			// Not a host path, to whose files kubelet does not give the group that a pod wants.
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: filepath.Join(root, name)}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn,
					Values: []string{node}}},
			}}}},
		},
	}
}
