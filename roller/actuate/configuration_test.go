package actuate_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// scribe is a kafka.ConfigWriter that records its calls.
type scribe struct {
	asked    []request
	validate error                          // the error of requests that only validate
	alter    error                          // the error of all others
	answers  map[kafka.ConfigResource]error // the error for each resource when it is validated
}

type request struct {
	changes      []kafka.ConfigChange
	validateOnly bool
}

func (s *scribe) AlterConfigs(_ context.Context, changes []kafka.ConfigChange, validateOnly bool) (map[kafka.ConfigResource]error, error) {
	s.asked = append(s.asked, request{changes, validateOnly})
	if validateOnly {
		return s.answers, s.validate
	}
	return nil, s.alter
}

func reconfigure(roles roller.Roles) (roller.Action, *roller.Node) {
	eight, yes := "8", "true"
	return roller.Action{Kind: roller.ActionReconfigure, Node: 3, Changes: brokerconfig.Diff{
		Node:   []brokerconfig.Change{{Key: "num.io.threads", From: &eight}, {Key: "ssl.keystore.location", To: &eight}},
		Global: []brokerconfig.Change{{Key: "num.io.threads", To: &eight}, {Key: "log.cleaner.enable", To: &yes}},
	}}, &roller.Node{ID: 3, Name: "my-cluster-kafka-3", Roles: roles}
}

// testDynamicUpdateConfigsByScope and testDynamicUpdateClusterWideConfigSetPerBroker: the node's own keys are set for the node, all others
// for all brokers, and the same request deletes an override.
func TestChangesGoToTheNodeAndToAllBrokers(t *testing.T) {
	g := NewWithT(t)
	s := &scribe{}
	action, node := reconfigure(roller.Roles{Broker: true})
	g.Expect((&actuate.Actuator{Brokers: s}).Do(t.Context(), action, node).Result).To(Equal(actuate.Done))
	changes := []kafka.ConfigChange{
		{Resource: kafka.BrokerResource(3), Set: map[string]string{"ssl.keystore.location": "8"}, Delete: []string{"num.io.threads"}},
		{Resource: kafka.ClusterResource(), Set: map[string]string{"num.io.threads": "8", "log.cleaner.enable": "true"}},
	}
	g.Expect(s.asked).To(Equal([]request{{changes, true}, {changes, false}}), "all is validated before anything is changed")
}

func TestWhatBecomesOfAReconfiguration(t *testing.T) {
	invalid := kafka.NewError(kafka.CodeInvalidRequest, "no")
	for _, c := range []struct {
		name   string
		scribe scribe
		result actuate.Result
		asked  int
	}{
		{"refused", scribe{validate: invalid}, actuate.Refused, 1 + 4},
		{"refused for all brokers", scribe{answers: map[kafka.ConfigResource]error{kafka.ClusterResource(): invalid}}, actuate.Refused, 2 + 2},
		{"refused by a policy", scribe{validate: kafka.NewError(kafka.CodePolicyViolation, "no")}, actuate.Refused, 1 + 4},
		{"refused when it is made", scribe{alter: invalid}, actuate.Refused, 2 + 2*4},
		{"no broker answers", scribe{validate: kafka.NewTransportError("no broker answered", nil)}, actuate.NotDone, 1},
		{"no answer when it is made", scribe{alter: context.DeadlineExceeded}, actuate.Unclear, 2},
		{"not allowed, yet", scribe{validate: kafka.NewError(31, "")}, actuate.NotDone, 1},
		{"not logged in", scribe{validate: kafka.NewError(kafka.CodeSASLAuthenticationFailed, "")}, actuate.NotDone, 1},
		{"another cluster answers", scribe{validate: kafka.NewWrongClusterError("a", "b")}, actuate.NotDone, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			action, node := reconfigure(roller.Roles{Broker: true, Controller: true})
			o := (&actuate.Actuator{Brokers: &c.scribe}).Do(t.Context(), action, node)
			g.Expect(o.Result).To(Equal(c.result))
			g.Expect(o.Err).To(HaveOccurred())
			g.Expect(c.scribe.asked).To(HaveLen(c.asked))
		})
	}
}

func TestControllersAreReconfiguredByThemselves(t *testing.T) {
	g := NewWithT(t)
	brokers, controllers := &scribe{}, &scribe{}
	action, node := reconfigure(roller.Roles{Controller: true})
	a := &actuate.Actuator{Brokers: brokers}
	o := a.Do(t.Context(), action, node)
	g.Expect(o.Result).To(Equal(actuate.NotDone))
	g.Expect(o.Err).To(MatchError("change the configuration of node 3: the controllers can't be reached"))
	a.Controllers = controllers
	g.Expect(a.Do(t.Context(), action, node).Result).To(Equal(actuate.Done))
	g.Expect(controllers.asked).To(HaveLen(2))
	g.Expect(brokers.asked).To(BeEmpty())
}

// picky is a Kafka that rejects some changes, given as key=value or key, and accepts others only after another one was made.
type picky struct {
	refuses map[string]error
	after   map[string]string
	made    []string
}

func (p *picky) AlterConfigs(_ context.Context, changes []kafka.ConfigChange, validateOnly bool) (map[kafka.ConfigResource]error, error) {
	answers := map[kafka.ConfigResource]error{}
	for _, c := range changes {
		var all []string
		for key, value := range c.Set {
			all = append(all, key+"="+value)
		}
		all = append(all, c.Delete...)
		for _, one := range all {
			first, waits := p.after[one]
			switch {
			case p.refuses[one] != nil:
				answers[c.Resource] = p.refuses[one]
			case waits && !slices.Contains(p.made, first):
				answers[c.Resource] = kafka.NewError(kafka.CodeInvalidRequest, first+" comes first")
			}
		}
		if answers[c.Resource] == nil && !validateOnly {
			p.made = append(p.made, all...)
		}
	}
	return answers, nil
}

// A key that Kafka rejects does not prevent the other changes, of the node or of all brokers. Each rejected key is reported.
func TestARefusedKeyKeepsOnlyItself(t *testing.T) {
	g := NewWithT(t)
	p := &picky{
		refuses: map[string]error{
			"log.cleaner.enable=true": kafka.NewError(kafka.CodeInvalidRequest, "not while it runs"),
			"num.io.threads":          kafka.NewError(kafka.CodePolicyViolation, "no"),
		},
		after: map[string]string{"num.io.threads=8": "background.threads=9"},
	}
	action, node := reconfigure(roller.Roles{Broker: true})
	nine := "9"
	action.Changes.Global = append(action.Changes.Global, brokerconfig.Change{Key: "background.threads", To: &nine})
	o := (&actuate.Actuator{Brokers: p}).Do(t.Context(), action, node)
	g.Expect(o.Result).To(Equal(actuate.Refused))
	g.Expect(p.made).To(ConsistOf("ssl.keystore.location=8", "background.threads=9", "num.io.threads=8"))
	yes := "true"
	g.Expect(o.Refusals).To(ConsistOf(
		brokerconfig.Refusal{Key: "log.cleaner.enable", To: &yes, Node: brokerconfig.EveryBroker,
			Why: "InvalidRequestException: not while it runs"},
		brokerconfig.Refusal{Key: "num.io.threads", Node: 3, Why: "PolicyViolationException: no", Final: true},
	))
	g.Expect(o.Err).To(MatchError(And(
		ContainSubstring("log.cleaner.enable=true: InvalidRequestException: not while it runs"),
		ContainSubstring("num.io.threads without a value: "),
	)))
}

// A broker that can't apply one stored value rejects each change and names that key. The requested key is retried, and the retries are
// counted.
func TestARefusalThatIsAboutAnotherKey(t *testing.T) {
	g := NewWithT(t)
	const why = "Dynamic thread count update validation failed for num.io.threads=100, value should not be greater than double the current " +
		"value 4"
	p := &picky{refuses: map[string]error{"log.cleaner.enable=true": kafka.NewError(kafka.CodeInvalidRequest, why),
		"num.io.threads=100": kafka.NewError(kafka.CodeInvalidRequest, why)}}
	yes, hundred := "true", "100"
	action := roller.Action{Kind: roller.ActionReconfigure, Node: 3}
	action.Changes.Global = []brokerconfig.Change{{Key: "log.cleaner.enable", To: &yes}, {Key: "num.io.threads", To: &hundred}}
	o := (&actuate.Actuator{Brokers: p}).Do(t.Context(), action, &roller.Node{ID: 3, Roles: roller.Roles{Broker: true}})
	g.Expect(o.Result).To(Equal(actuate.NotDone))
	g.Expect(o.Err).To(MatchError(HavePrefix("log.cleaner.enable has to wait for another key: ")))
	g.Expect(o.Refusals).To(ConsistOf(
		And(HaveField("Key", "num.io.threads"), HaveField("Waits", 0)),
		And(HaveField("Key", "log.cleaner.enable"), HaveField("Waits", 1)),
	))
}

// Values to store are sent to the controllers, whatever the node's roles are. A key that they reject counts as rejected for good.
func TestWhatIsStoredGoesToTheControllers(t *testing.T) {
	g := NewWithT(t)
	brokers, controllers := &scribe{}, &scribe{}
	hundred := "100"
	action := roller.Action{Kind: roller.ActionReconfigure, Node: 3}
	action.Changes.StoredGlobal = []brokerconfig.Change{{Key: "num.io.threads", To: &hundred}}
	node := &roller.Node{ID: 3, Roles: roller.Roles{Broker: true}}
	g.Expect((&actuate.Actuator{Brokers: brokers}).Do(t.Context(), action, node).Result).To(Equal(actuate.NotDone))
	g.Expect((&actuate.Actuator{Brokers: brokers, Controllers: controllers}).Do(t.Context(), action, node).Result).To(Equal(actuate.Done))
	g.Expect(brokers.asked).To(BeEmpty())
	g.Expect(controllers.asked).To(HaveLen(2))
	change := kafka.ConfigChange{Resource: kafka.ClusterResource(), Set: map[string]string{"num.io.threads": "100"}}
	g.Expect(controllers.asked[1].changes).To(Equal([]kafka.ConfigChange{change}))
	controllers.validate = kafka.NewError(kafka.CodeInvalidRequest, "no")
	o := (&actuate.Actuator{Brokers: brokers, Controllers: controllers}).Do(t.Context(), action, node)
	g.Expect(o.Refusals).To(ConsistOf(HaveField("Final", true)))
}

// Kafka takes long for each of many changes: the Lease is checked before each write, and not only before the first request.
func TestTheLeaseIsCheckedBeforeEachWrite(t *testing.T) {
	lost := errors.New("another roller has the Lease")
	invalid := kafka.NewError(kafka.CodeInvalidRequest, "no")
	for name, c := range map[string]struct {
		scribe scribe
		writes int // before the Lease is lost
		asked  int
		result actuate.Result
	}{
		"before the first write":             {scribe{}, 0, 1, actuate.TooLate},
		"before those that go one by one":    {scribe{alter: invalid}, 1, 3, actuate.Unclear},
		"not while Kafka only validates any": {scribe{validate: invalid}, 0, 1 + 4, actuate.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			action, node := reconfigure(roller.Roles{Broker: true})
			writes := 0
			a := &actuate.Actuator{Brokers: &c.scribe, Held: func(context.Context) error {
				if writes++; writes > c.writes {
					return lost
				}
				return nil
			}}
			o := a.Do(t.Context(), action, node)
			g.Expect(o.Result).To(Equal(c.result))
			g.Expect(c.scribe.asked).To(HaveLen(c.asked))
		})
	}
}
