package actuate

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// reconfigure validates all changes before it makes any. It retries what Kafka rejects key by key, so that one value does not block others.
func (a *Actuator) reconfigure(ctx context.Context, action roller.Action, node *roller.Node) (Result, []brokerconfig.Refusal, error) {
	writer := a.Brokers
	if !node.Roles.Broker {
		writer = a.Controllers
	}
	own, all := int32(node.ID), brokerconfig.EveryBroker
	running := slices.Concat(changesOf(own, action.Changes.Node), changesOf(all, action.Changes.Global))
	stored := slices.Concat(changesOf(own, action.Changes.StoredNode), changesOf(all, action.Changes.StoredGlobal))
	if len(running) > 0 && writer == nil || len(stored) > 0 && a.Controllers == nil {
		return NotDone, nil, fmt.Errorf("change the configuration of node %d: the controllers can't be reached", node.ID)
	}
	result, refused, err := a.alter(ctx, writer, running)
	if err != nil {
		return result, toRefusals(refused, false), err
	}
	result, others, err := a.alter(ctx, a.Controllers, stored)
	refusals := append(toRefusals(refused, false), toRefusals(others, true)...) // no other way exists to store a value
	if err != nil && len(running) > 0 {
		result = Unclear
	}
	if i := slices.IndexFunc(refused, change.elsewhere); err == nil && i >= 0 {
		result, err = NotDone, fmt.Errorf("%s has to wait for another key: %w", refused[i].Key, refused[i].refused)
	}
	return outcome(result, refusals, err)
}

// outcome returns Refused for an action with refusals and without an error.
func outcome(result Result, refusals []brokerconfig.Refusal, err error) (Result, []brokerconfig.Refusal, error) {
	if err != nil || len(refusals) == 0 {
		return result, refusals, err
	}
	var all []error
	for _, r := range refusals {
		what := r.Key + " without a value"
		if r.To != nil {
			what = r.Key + "=" + *r.To
		}
		all = append(all, fmt.Errorf("%s: %s", what, r.Why))
	}
	return Refused, refusals, errors.Join(all...)
}

// change changes a node's own value, or the cluster-wide one.
type change struct {
	brokerconfig.Change
	node int32
	// refused is Kafka's error about the change.
	refused error
}

func changesOf(node int32, changes []brokerconfig.Change) []change {
	all := make([]change, len(changes))
	for i, c := range changes {
		all[i] = change{Change: c, node: node}
	}
	return all
}

func (c change) resource() kafka.ConfigResource {
	if c.node == brokerconfig.EveryBroker {
		return kafka.ClusterResource()
	}
	return kafka.BrokerResource(c.node)
}

// alter makes the changes after all have been validated, and retries the rejected ones one by one. It returns those that Kafka still
// rejects.
func (a *Actuator) alter(ctx context.Context, writer kafka.ConfigWriter, changes []change) (Result, []change, error) {
	if len(changes) == 0 {
		return Done, nil, nil
	}
	taken, refused, err := ask(ctx, writer, changes, true)
	if err != nil {
		return NotDone, nil, err
	}
	if len(taken) > 0 {
		if err := a.held(ctx); err != nil {
			return TooLate, nil, err
		}
		_, others, err := ask(ctx, writer, taken, false)
		if err != nil {
			return Unclear, nil, err
		}
		refused = append(refused, others...)
	}
	if len(refused) > 1 {
		if refused, err = a.oneByOne(ctx, writer, refused); err != nil {
			return Unclear, refused, err
		}
	}
	return Done, refused, nil
}

// oneByOne retries changes that Kafka rejected together one by one, as long as some succeed: one key may depend on another.
func (a *Actuator) oneByOne(ctx context.Context, writer kafka.ConfigWriter, left []change) ([]change, error) {
	for {
		var still []change
		for _, c := range left {
			_, refused, err := ask(ctx, writer, []change{c}, true)
			if err == nil && len(refused) == 0 {
				if err = a.held(ctx); err == nil {
					_, refused, err = ask(ctx, writer, []change{c}, false)
				}
			}
			if err != nil {
				return still, err
			}
			still = append(still, refused...)
		}
		if len(still) == 0 || len(still) == len(left) {
			return still, nil
		}
		left = still
	}
}

// ask sends changes to Kafka, or lets Kafka validate them. Kafka takes or rejects the changes of one node, or of all brokers, together.
func ask(ctx context.Context, writer kafka.ConfigWriter, changes []change, validateOnly bool) (taken, refused []change, err error) {
	answers, failed := writer.AlterConfigs(ctx, grouped(changes), validateOnly)
	for _, c := range changes {
		err := failed
		if err == nil {
			err = answers[c.resource()]
		}
		switch {
		case err == nil:
			taken = append(taken, c)
		case refuses(err):
			c.refused = err
			refused = append(refused, c)
		default:
			return nil, nil, err
		}
	}
	return taken, refused, nil
}

// grouped returns the changes grouped by resource, as Kafka's clients send them.
func grouped(changes []change) []kafka.ConfigChange {
	var all []kafka.ConfigChange
	for _, c := range changes {
		i := slices.IndexFunc(all, func(x kafka.ConfigChange) bool { return x.Resource == c.resource() })
		if i < 0 {
			i, all = len(all), append(all, kafka.ConfigChange{Resource: c.resource(), Set: map[string]string{}})
		}
		if c.To == nil {
			all[i].Delete = append(all[i].Delete, c.Key)
		} else {
			all[i].Set[c.Key] = *c.To
		}
	}
	return all
}

// toRefusals converts rejected changes to refusals.
func toRefusals(refused []change, final bool) []brokerconfig.Refusal {
	var refusals []brokerconfig.Refusal
	for _, c := range refused {
		r := brokerconfig.Refusal{Key: c.Key, To: c.To, Node: c.node, Why: c.refused.Error(), Final: final || forbids(c.refused)}
		if c.elsewhere() {
			r.Waits = 1
		}
		refusals = append(refusals, r)
	}
	return refusals
}

// keyNamed matches a key and its value in an error of Kafka.
var keyNamed = regexp.MustCompile(`\b([a-z][a-z0-9.]*\.[a-z0-9.]+)=`)

// elsewhere reports whether the error names another key than that of the change: a broker that can't apply a stored value applies no change
// until it is restarted.
func (c change) elsewhere() bool {
	named := keyNamed.FindAllStringSubmatch(c.refused.Error(), -1)
	return len(named) > 0 && !slices.ContainsFunc(named, func(m []string) bool { return m[1] == c.Key })
}

// refuses reports whether an error is Kafka's answer about the configuration itself. Any other error is about the roller or the connection,
// such as a missing permission: the change is worth a retry once that is fixed.
func refuses(err error) bool {
	switch kafka.ClassOf(err) {
	case kafka.ClassInvalid, kafka.ClassUnsupported, kafka.ClassDisabled:
		return true
	default:
		return false
	}
}

// forbids reports whether a refusal comes from a policy, and not from the value or the running node.
func forbids(err error) bool {
	var e *kafka.Error
	return errors.As(err, &e) && (e.Class != kafka.ClassInvalid || e.Code == kafka.CodePolicyViolation)
}
