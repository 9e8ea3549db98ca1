package model

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// configured returns the value of a key in a node's configuration file, "" if it is not set.
func configured(config *corev1.ConfigMap, key string) string {
	for line := range strings.Lines(config.Data["server.config"]) {
		if value, found := strings.CutPrefix(line, key+"="); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// RolesIn returns the roles that a node's ConfigMap configures; none if the ConfigMap is not a node's.
func RolesIn(config *corev1.ConfigMap) topology.Roles {
	roles := strings.Split(configured(config, "process.roles"), ",")
	return topology.Roles{Controller: slices.Contains(roles, string(v1.RoleController)), Broker: slices.Contains(roles, string(v1.RoleBroker))}
}

// VotersIn returns the ids of the controllers that a node's ConfigMap configures.
func VotersIn(config *corev1.ConfigMap) []int32 {
	var voters []int32
	for voter := range strings.SplitSeq(configured(config, "controller.quorum.voters"), ",") {
		id, _, _ := strings.Cut(voter, "@")
		if n, err := strconv.ParseInt(id, 10, 32); err == nil {
			voters = append(voters, int32(n))
		}
	}
	return voters
}

// Unmounted returns the volumes of a node that a pod with the wanted storage would not mount. The volumes are those that the node's
// ConfigMap names, or without one (nil) its PersistentVolumeClaims. claims are the names of all claims.
func Unmounted(pod string, config *corev1.ConfigMap, claims []string, wanted v1.Storage) []string {
	mounted := map[string]volume{}
	for _, v := range volumesOf(wanted) {
		mounted[v.name()] = v
	}
	lasts := func(name string) bool { return slices.Contains(claims, name+"-"+pod) }
	var has []string
	if config != nil {
		for dir := range strings.SplitSeq(configured(config, "log.dirs"), ",") {
			if name, _, found := strings.Cut(strings.TrimPrefix(dir, dataDir+"/"), "/"); found {
				has = append(has, name)
			}
		}
	} else {
		for _, claim := range claims {
			if name, found := strings.CutSuffix(claim, "-"+pod); found {
				has = append(has, name)
			}
		}
	}
	return slices.DeleteFunc(has, func(name string) bool {
		v, is := mounted[name]
		return is && (!lasts(name) || v.Type == v1.StoragePersistentClaim)
	})
}
