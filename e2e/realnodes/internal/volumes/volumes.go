// Package volumes has the decisions of a node's volume provisioner: it creates folders for claims of volumes on the node, and deletes
// folders whose claims no longer exist. The package reads and writes nothing itself.
package volumes

import (
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// StorageClass is the class of the claims, which names the Provisioner.
	StorageClass = "standard"
	// Provisioner is the name of the provisioner of these volumes.
	Provisioner = "realnodes.test/local"

	// The scheduler annotates a claim with the node of its pod, and volume controllers annotate a volume with its provisioner.
	annotationSelectedNode  = "volume.kubernetes.io/selected-node"
	annotationProvisionedBy = "pv.kubernetes.io/provisioned-by"
)

// Plan is the work for a provisioner.
type Plan struct {
	// Create are volumes whose folders have to be made first.
	Create []corev1.PersistentVolume
	// Delete are volumes whose folders have to be removed first.
	Delete []corev1.PersistentVolume
}

// For returns the plan for a node with its folders below root, given all claims and volumes of the cluster. A plan can be carried out
// twice: the name of a volume depends on its claim only.
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
			// Not a host path: kubelet does not set the group of its files to the one that a pod requests.
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: filepath.Join(root, name)}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn,
					Values: []string{node}}},
			}}}},
		},
	}
}
