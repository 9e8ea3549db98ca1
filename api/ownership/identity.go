package ownership

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Holder is what speaks for an owner: one object in one Kubernetes cluster.
type Holder struct {
	// Central is the id by which users name that cluster: STRIMZI_CENTRAL_CLUSTER_ID.
	Central string
	// Cluster is the uid of that cluster's namespace kube-system: two clusters never have the same, whatever users name them.
	Cluster types.UID
	// Object is the uid of the object, such as a Kafka.
	Object types.UID
}

// String returns the three parts with colons between, as marks hold them.
func (h Holder) String() string { return h.Central + ":" + string(h.Cluster) + ":" + string(h.Object) }

// ParseHolder reads what String returns.
func ParseHolder(text string) (Holder, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return Holder{}, fmt.Errorf("%q is not a holder: <id of a cluster>:<uid>:<uid> is expected", text)
	}
	return Holder{Central: parts[0], Cluster: types.UID(parts[1]), Object: types.UID(parts[2])}, nil
}

// hash is short enough for a mark, and too long to meet by accident.
func (h Holder) hash() string {
	sum := sha256.Sum256([]byte(h.String()))
	return hex.EncodeToString(sum[:8])
}

// Owner is who writes.
type Owner struct {
	// ID is a random UUID, the same for as long as the owned objects live, whoever holds them. Empty if there is none yet.
	ID string
	// Holder speaks for it now.
	Holder Holder
	// Epoch is 1 at first and grows with each change of holder.
	Epoch int64
}

// managerPrefix is what the field managers of owners begin with.
const managerPrefix = "strimzi-cluster-operator/"

// FieldManager is the name under which the owner applies, at most 72 of the 128 bytes that the API server takes. It differs between epochs,
// so that managedFields show which holder wrote, also where marks are lost. The API server refuses no former holder because of it: objects
// that exist are applied with force.
func (o Owner) FieldManager() string {
	return managerPrefix + o.ID + "/" + strconv.FormatInt(o.Epoch, 10)
}

// Term identifies the holder and the epoch.
func (o Owner) Term() Term { return Term{Epoch: o.Epoch, Holder: o.Holder.hash()} }

// Term is a holder's time.
type Term struct {
	// Epoch is the owner's.
	Epoch int64
	// Holder is a hash of the holder.
	Holder string
}

// String returns the term as a mark holds it: <epoch>.<hash>.
func (t Term) String() string { return strconv.FormatInt(t.Epoch, 10) + "." + t.Holder }

// ParseTerm reads what String returns.
func ParseTerm(text string) (Term, error) {
	epoch, holder, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(epoch, 10, 64)
	if err == nil && (n < 1 || len(holder) != 16) {
		err = errors.New("an epoch of at least 1, a dot and 16 digits are expected")
	}
	if err != nil {
		return Term{}, fmt.Errorf("%q is not the term of an owner: %w", text, err)
	}
	return Term{Epoch: n, Holder: holder}, nil
}
