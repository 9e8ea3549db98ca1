// Package removal decides which objects of a Kafka are deleted because it does not want them any more. Nothing else the operator decides
// can cost so much, so all facts are in one value, and so is the decision.
package removal

import (
	"cmp"
	"slices"
	"strings"
)

// Ref names an object in a Kubernetes cluster.
type Ref struct{ Cluster, Kind, Name string }

// Compare orders objects by cluster, kind and name.
func (r Ref) Compare(other Ref) int {
	return cmp.Or(cmp.Compare(r.Cluster, other.Cluster), cmp.Compare(r.Kind, other.Kind), cmp.Compare(r.Name, other.Name))
}

// Object is an object that exists.
type Object struct {
	Ref
	// Wanted reports that this pass wants the object, and Own that the operator made it, for this Kafka.
	Wanted, Own bool
	// Serves reports that clients may reach a pod by the object that is not replaced yet.
	Serves bool
	// Holds is what a Secret is for.
	Holds Content
	// Lists are the pods that a StrimziPodSet lists.
	Lists []string
	// Claim is what a PersistentVolumeClaim says.
	Claim Claim
}

// Content is what a Secret is for.
type Content int

// What Secrets are for. The keys of CAs are among those of others.
const (
	OfOthers Content = iota
	OfNode
	OfTopicOperator
)

// Claim is a PersistentVolumeClaim.
type Claim struct {
	// Pod is the pod that the claim is for, and Node the id of its node. Without a pod, the claim does not say whose it is.
	Pod  string
	Node int32
	// Deletable reports that the claim is to go with its node, and KeptByPool that its pool says otherwise by now.
	Deletable, KeptByPool bool
	// Terminating reports that the claim is being deleted.
	Terminating bool
	// Empty reports that the volume was empty when it was taken from its node.
	Empty bool
}

// Pod is a pod, and the claims that it mounts.
type Pod struct {
	Cluster, Name string
	Claims        []string
}

// Node is a wanted node.
type Node struct {
	Cluster, Pod string
	// HasPool reports that the node's pool exists.
	HasPool bool
}

// Answer is what keeps a node's data from being deleted, "" for nothing, as brokers say. One that is not fresh may be from before the node
// stopped.
type Answer struct {
	WhyKept string
	Fresh   bool
}

// Input is all that the decision depends on.
type Input struct {
	Objects []Object
	Nodes   []Node
	// Running are the pods with the Kafka's label, and Listed those in StrimziPodSets, which are made again if they are missing.
	Running, Listed []Pod
	// Away reports that a Kubernetes cluster of the Kafka can't be read. Pods may run there.
	Away bool
	// Planned reports that it is known by which objects nodes are reached: a network provider, if there is one, planned all of them.
	Planned bool
	// Replacing reports that nodes are still reached by Services that are not wanted any more.
	Replacing bool
	// TopicOperator reports that the Kafka wants a topic operator.
	TopicOperator bool
	// Cordons reports that brokers can keep new replicas out of volumes.
	Cordons bool
	// Forced reports that the user allows to delete data, and NeverRan that no node ever ran, so that there is none.
	Forced, NeverRan bool
	// Answers are what is known of nodes that left, by id.
	Answers map[int32]Answer
}

// Kept is an object that is not wanted and stays for now.
type Kept struct {
	Ref
	Why string
}

// Plan is a decision.
type Plan struct {
	Delete []Ref
	Kept   []Kept
	// Ask are the ids of the nodes that only an answer is missing about, or a fresh one if there is one.
	Ask []int32
}

// Decide decides which objects are deleted. What is unknown keeps them.
func Decide(in Input) Plan {
	var plan Plan
	for _, o := range in.Objects {
		if o.Wanted || !o.Own {
			continue
		}
		why := in.whyKept(o)
		if why == notAsked {
			plan.Ask = append(plan.Ask, o.Claim.Node)
		}
		if why == "" {
			plan.Delete = append(plan.Delete, o.Ref)
		} else {
			plan.Kept = append(plan.Kept, Kept{o.Ref, why})
		}
	}
	slices.SortFunc(plan.Delete, Ref.Compare)
	slices.SortFunc(plan.Kept, func(a, b Kept) int { return a.Compare(b.Ref) })
	slices.Sort(plan.Ask)
	plan.Ask = slices.Compact(plan.Ask)
	return plan
}

// notAsked is why a volume stays that may go if brokers say so.
const notAsked = "brokers were not asked yet which replicas its node has"

// CameBack is why the volume stays of a node that runs without it, and that no broker reported as empty before, such as that of a node that
// left and came back.
const CameBack = "its node runs without it, and nobody knows what it holds"

// whyKept returns why an object that is not wanted stays, "" if it is to go.
func (in Input) whyKept(o Object) string {
	switch o.Kind {
	case "Secret":
		return in.whySecretKept(o)
	case "ConfigMap":
		return in.whyPodMayRun(o.Name)
	case "PersistentVolumeClaim":
		return cmp.Or(o.Claim.whyKept(), in.whyUsed(o.Ref), in.whyFull(o.Claim))
	case "StrimziPodSet":
		if slices.ContainsFunc(o.Lists, in.wants) {
			return "it lists a wanted node"
		}
	case "Service", "Ingress", "NetworkPolicy", "PodDisruptionBudget": // which a network provider may plan
		if !in.Planned {
			return "it is unknown whether the network provider plans it"
		}
		if in.Replacing {
			return "nodes may be reached by it until it is known where they are reached instead"
		}
		if o.Serves { // of Services and Ingresses
			return "pods that are not replaced yet advertise it"
		}
	case "ServiceAccount", "Role", "RoleBinding", "Deployment":
	default:
		return "there is no rule for its kind"
	}
	return ""
}

func (in Input) whySecretKept(o Object) string {
	switch o.Holds {
	case OfNode:
		return in.whyPodMayRun(o.Name)
	case OfTopicOperator: // brokers take its key for that of a super user
		if in.TopicOperator {
			return "the topic operator is wanted"
		}
		return ""
	}
	return "it may hold the only copy of a key"
}

// whyPodMayRun returns why a pod may run, or is to run, "" if it certainly does not and is not.
func (in Input) whyPodMayRun(name string) string {
	switch {
	case in.Away:
		return "its pod may run in a Kubernetes cluster that can't be read"
	case in.wants(name):
		return "its pod is wanted"
	case slices.ContainsFunc(in.Running, func(pod Pod) bool { return pod.Name == name }):
		return "its pod runs"
	}
	return ""
}

func (in Input) wants(pod string) bool {
	return slices.ContainsFunc(in.Nodes, func(n Node) bool { return n.Pod == pod })
}

// whyKept returns why a claim stays whatever becomes of its node.
func (c Claim) whyKept() string {
	switch {
	case c.Pod == "":
		return "its name does not say whose it is"
	case c.Terminating:
		return "it is being deleted"
	case !c.Deletable:
		return "it is not to be deleted with its node"
	case c.KeptByPool:
		return "its pool does not want it to be deleted any more"
	}
	return ""
}

// whyUsed returns why something may still write to a volume, "" if its node is gone, or runs without it.
func (in Input) whyUsed(claim Ref) string {
	mounts := func(pod Pod) bool { return slices.Contains(pod.Claims, claim.Name) }
	switch {
	case slices.ContainsFunc(in.Running, func(pod Pod) bool { return pod.Cluster == claim.Cluster && mounts(pod) }):
		return "a pod mounts it"
	case slices.ContainsFunc(in.Listed, mounts):
		return "a StrimziPodSet lists a pod that mounts it"
	}
	for _, n := range in.Nodes {
		runs := func(pod Pod) bool { return pod.Cluster == n.Cluster && pod.Name == n.Pod }
		switch {
		case !strings.HasSuffix(claim.Name, "-"+n.Pod):
		case !n.HasPool:
			return "the pool of its node does not say whether it has the volume"
		case !slices.ContainsFunc(in.Running, runs):
			return "its node does not run without it yet"
		case !in.Cordons:
			return "Kafka may have placed a replica there before its node was restarted"
		}
	}
	return ""
}

// whyFull returns why a volume has, or may have, replicas. A node that left may have got a replica of a new topic after the last look at
// what it held and before it stopped. If it came back without the volume, Kafka does not know what the volume holds.
func (in Input) whyFull(c Claim) string {
	if in.Forced || in.NeverRan {
		return ""
	}
	if in.wants(c.Pod) {
		if c.Empty {
			return ""
		}
		return CameBack
	}
	switch answer, asked := in.Answers[c.Node]; {
	case asked && answer.WhyKept != "":
		return answer.WhyKept
	case !asked, !answer.Fresh:
		return notAsked
	}
	return ""
}
