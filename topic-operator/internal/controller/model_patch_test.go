package controller

import (
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// modelPatch is the part of a patch that the operator uses.
type modelPatch struct {
	Metadata struct {
		ResourceVersion *string   `json:"resourceVersion"`
		Finalizers      *[]string `json:"finalizers"`
	} `json:"metadata"`
	Status modelDocument `json:"status"`
	// whole reports whether the patch replaces the stored status.
	whole bool
}

// status is the stored status after the patch.
func (p modelPatch) status(stored modelDocument) modelDocument {
	if p.whole {
		return p.Status
	}
	return stored.merged(p.Status)
}

// readPatch parses a patch of an object with the stored status: a merge patch, or the JSON patch operations that the operator uses.
func (s *modelServer) readPatch(obj client.Object, patch client.Patch, stored modelDocument) (p modelPatch, err error) {
	data, err := patch.Data(obj)
	if err != nil {
		return p, err
	}
	if patch.Type() == types.MergePatchType {
		return p, json.Unmarshal(data, &p)
	}
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(data, &operations); err != nil {
		return p, err
	}
	p.Status = modelDocument{}
	for _, o := range operations {
		field, inStatus := strings.CutPrefix(o.Path, "/status/")
		switch {
		case o.Op == "test" && s.gullible:
		case o.Op == "replace" && o.Path == "/metadata/resourceVersion":
			err = json.Unmarshal(o.Value, &p.Metadata.ResourceVersion)
		case o.Op == "test" && o.Path == "/status":
			err = refused(stored != nil, o.Path)
		case o.Op == "test" && inStatus:
			err = refused(stored == nil || stored[field] != nil, o.Path)
		case o.Op == "add" && o.Path == "/status":
			p.whole, err = true, json.Unmarshal(o.Value, &p.Status)
		case o.Op == "add" && inStatus:
			p.Status[field] = o.Value
		case o.Op == "remove" && inStatus:
			p.Status[field], err = json.RawMessage("null"), refused(stored[field] == nil, o.Path)
		default:
			err = fmt.Errorf("the model's API server does not know %s of %s", o.Op, o.Path)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// refused returns the API server's error for a failed operation of a JSON patch.
func refused(fails bool, path string) error {
	if !fails {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid,
		Message: "testing " + path}}
}
