package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhoseNodesAreElsewhere(t *testing.T) {
	for _, c := range []struct {
		name   string
		traces traces
		owner  nodeOwner
		in     []string
	}{
		{name: "nothing is anywhere", owner: nobodys},
		{name: "the record tells of nodes", traces: traces{recorded: []string{"west", "east"}, recordedBy: "now"}, owner: itsOwn,
			in: []string{"east", "west"}},
		{name: "the record is lost, and an anchor tells", traces: traces{anchors: map[string]types.UID{"east": "now"}}, owner: itsOwn,
			in: []string{"east"}},
		{name: "a cluster that is away does not hide what others tell",
			traces: traces{anchors: map[string]types.UID{"east": "now"}, unread: []string{"west"}}, owner: itsOwn, in: []string{"east"}},
		{name: "the record is that of an earlier object", traces: traces{recorded: []string{"east"}, recordedBy: "before"}, owner: anEarlier,
			in: []string{"east"}},
		{name: "nobody knows whose record it is", traces: traces{recorded: []string{"east"}}, owner: anEarlier, in: []string{"east"}},
		{name: "an anchor is that of an earlier object", traces: traces{anchors: map[string]types.UID{"west": "before"}},
			owner: anEarlier, in: []string{"west"}},
		{name: "the same, and the Kafka runs", traces: traces{anchors: map[string]types.UID{"west": "before"}, accepted: true},
			owner: besideIt, in: []string{"west"}},
		{name: "the Kafka runs, and the record is that of an earlier object",
			traces: traces{recorded: []string{"east"}, recordedBy: "before", accepted: true}, owner: anEarlier, in: []string{"east"}},
		{name: "the Kafka runs, and has an anchor beside that of an earlier object",
			traces: traces{anchors: map[string]types.UID{"west": "before", "east": "now"}, accepted: true}, owner: itsOwn, in: []string{"east"}},
		{name: "one anchor is taken over, another is not",
			traces: traces{anchors: map[string]types.UID{"west": "before", "east": "now"}, recorded: []string{"east"}, recordedBy: "now"},
			owner:  anEarlier, in: []string{"west"}},
		{name: "a new object, and a cluster is away", traces: traces{unread: []string{"west"}}, owner: notKnown, in: []string{"west"}},
		{name: "an object that is known, and a cluster is away", traces: traces{unread: []string{"west"}, accepted: true}, owner: nobodys},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.traces.kafka = "now"
			owner, in := c.traces.judge()
			NewWithT(t).Expect(owner).To(Equal(c.owner))
			NewWithT(t).Expect(in).To(Equal(c.in))
		})
	}
}
