package v1

import (
	"strconv"
	"strings"
)

// Roles are the roles of a node of Kafka.
type Roles struct {
	Controller, Broker bool
}

// RolesIn returns the roles in a pod's labels.
func RolesIn(labels map[string]string) Roles {
	return Roles{Controller: labels[LabelControllerRole] == "true", Broker: labels[LabelBrokerRole] == "true"}
}

// NodeID returns the node's id, which the name of its pod, and those of its pod's claims, end with. Only a number as Strimzi writes it is
// an id: without a sign or leading zeros.
func NodeID(name string) (id int32, ok bool) {
	at := strings.LastIndexByte(name, '-')
	n, err := strconv.ParseInt(name[at+1:], 10, 32)
	if at < 0 || err != nil || n < 0 || strconv.FormatInt(n, 10) != name[at+1:] {
		return 0, false
	}
	return int32(n), true
}

// HoldReason reports whether the annotations of a pod or StrimziPodSet put it on hold, and why; empty if they do not say. Any value but
// "false" counts, because a misspelt value must not restart anything.
func HoldReason(annotations map[string]string) (why string, held bool) {
	why, annotated := annotations[AnnotationHold]
	switch {
	case !annotated || why == "false":
		return "", false
	case why == "true":
		return "", true
	}
	return why, true
}
